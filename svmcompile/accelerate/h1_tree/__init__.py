"""Lists of half-spaces, after Zapien Arreola, Fehr and Burkhardt.

"Fast Support Vector Machine Classification of very large Datasets": half-spaces that hold rows of one
class only are cut off one after the other, so that a row is classified by a few dot products; a
kernel SVM may stand at the end for rows that none of them answers.
"""

from __future__ import annotations

from svmcompile.accelerate.h1_tree.method import h1_tree, train
from svmcompile.accelerate.h1_tree.options import H1TrainOptions, H1TreeOptions
from svmcompile.accelerate.registry import Method
from svmcompile.ir.program import Claim

METHOD = Method(
    h1_tree, H1TreeOptions, Claim.APPROXIMATE, needs_data=True, train=train, train_options=H1TrainOptions
)

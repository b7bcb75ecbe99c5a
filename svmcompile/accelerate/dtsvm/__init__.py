"""DTSVM, after Chang, Guo, Lin and Lu: an axis-parallel tree with an SVM in every mixed leaf.

"Tree Decomposition for Large-Scale SVM Problems": few large leaves, so that training takes a fraction of
the time and a row meets only the vectors of its own leaf.
"""

from __future__ import annotations

from svmcompile.accelerate.dtsvm.method import train
from svmcompile.accelerate.dtsvm.options import ReuseOptions, TrainOptions
from svmcompile.accelerate.dtsvm.reuse_method import in_front_of
from svmcompile.accelerate.registry import Method
from svmcompile.ir.program import Claim

METHOD = Method(
    in_front_of, ReuseOptions, Claim.APPROXIMATE, needs_data=True, train=train, train_options=TrainOptions
)

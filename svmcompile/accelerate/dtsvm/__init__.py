"""DTSVM, after Chang, Guo, Lin and Lu: an axis-parallel tree with an SVM in every mixed leaf.

"Tree Decomposition for Large-Scale SVM Problems": few large leaves, so that training takes a fraction of
the time and a row meets only the vectors of its own leaf.
"""

from __future__ import annotations

from svmcompile.accelerate import Method
from svmcompile.accelerate.dtsvm.method import train
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.data import Data
from svmcompile.errors import UnsupportedError
from svmcompile.ir.program import Claim, Program
from svmcompile.svm import SVM


def _from_svm(svm: SVM, data: Data | None, options: TrainOptions) -> Program:
    raise UnsupportedError("dtsvm trains on labelled data; run `svmcompile train`, or sc.train in Python")


METHOD = Method(
    _from_svm, TrainOptions, Claim.APPROXIMATE, needs_data=True, train=train, train_options=TrainOptions
)

"""The row as bounded sums see it: preprocessed and, for distances, about the vectors' mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.accelerate.bounds.sums import reach_of
from svmcompile.ir.kernel import Array
from svmcompile.ir.shift import nearest_float32
from svmcompile.model.front import Steps
from svmcompile.model.svm import SVM, ScaleStep

WORTH = 0.5  # vectors must get so much shorter


def centred(svm: SVM) -> SVM:
    """The same RBF machine about the mean of its vectors, where that makes them much shorter.

    Float32 rounds a vector by a share of its length, and a shift by a float32 number is free of that.
    """
    if svm.kernel.kind != "rbf" or not svm.n_vectors:
        return svm
    centre = nearest_float32(svm.vectors.mean(axis=0))
    last = svm.steps[-1] if svm.steps else None
    if isinstance(last, ScaleStep):
        centre = np.where(last.factor != 0, centre, 0.0)
    vectors = svm.vectors - centre
    if reach_of(vectors) > WORTH * reach_of(svm.vectors):
        return svm
    return replace(svm, vectors=vectors, steps=_shifted(svm, last, centre))


def _shifted(svm: SVM, last: object, centre: Array) -> Steps:
    if not isinstance(last, ScaleStep):
        return (*svm.steps, ScaleStep(centre, np.ones(len(centre))))
    moved = last.shift + centre / np.where(last.factor != 0, last.factor, 1.0)
    return (*svm.steps[:-1], ScaleStep(moved, last.factor))

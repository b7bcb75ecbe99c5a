"""The row as bounded sums see it: preprocessed and, for distances, about the vectors' mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.accelerate.bounds.sums import reach_of
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.kernel import Array
from svmcompile.model.front import Front, scale
from svmcompile.model.svm import SVM

WORTH = 0.5  # vectors must get so much shorter


def centred(svm: SVM) -> SVM:
    """The same RBF machine about the mean of its vectors, where that makes them much shorter.

    Float32 rounds a vector by a share of its length, and a shift by a float32 number is free of that.
    """
    if svm.kernel.kind != "rbf" or not svm.n_vectors:
        return svm
    centre = nearest_float32(svm.vectors.mean(axis=0))
    last = next((node for node in svm.front.of_kind(ir.Scale) if node.out == svm.front.out), None)
    if last:
        centre = np.where(svm.front.tables[last.factor] != 0, centre, 0.0)
    vectors = svm.vectors - centre
    if reach_of(vectors) > WORTH * reach_of(svm.vectors):
        return svm
    return replace(svm, vectors=vectors, front=_shifted(svm.front, last, centre))


def _shifted(front: Front, last: ir.Scale | None, centre: Array) -> Front:
    if last is None:
        return front.then(scale(centre, np.ones(len(centre))))
    shift, factor = front.tables[last.shift], front.tables[last.factor]
    moved = shift + centre / np.where(factor != 0, factor, 1.0)
    return replace(front, tables=front.tables | {last.shift: moved})

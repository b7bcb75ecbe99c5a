"""What a numpy user would write: float32, one matrix product for the kernel, one for the sums.

For RBF the rows are centred and carry their norm and a one as two more
features, so that the product is the exponent itself. Batches go in blocks, so
that the matrix of kernel values stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.peers import LeftOut, PythonPeer, Subject
from svmcompile.bench.result import LocalRunner
from svmcompile.ir.differences import is_by_differences
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import favour
from svmcompile.model.svm import SVM, LabelRule

Matrix = NDArray[np.float32]
BLOCK_VALUES = 1 << 20  # kernel values per block: 4 MB


def start(subject: Subject) -> PythonPeer:
    """Labels, or a regressor's values."""
    svm = subject.original()
    decide = _decision(svm)
    scores = _scores(svm)
    step = max(1, BLOCK_VALUES // max(1, svm.n_vectors))

    def predict(rows: Matrix) -> NDArray[Any]:
        if len(rows) <= step:
            return decide(scores(rows))
        return decide(np.concatenate([scores(rows[at : at + step]) for at in range(0, len(rows), step)]))

    rows = subject.prepared().astype(np.float32)
    tables = 4 * (svm.vectors.size + svm.weights_by_sum.size + svm.intercepts.size)  # as it holds them
    runner = LocalRunner(predict, rows, subject.batch)
    return PythonPeer("numpy float32", runner, np.__version__, tables)


def _scores(svm: SVM) -> Callable[[Matrix], Matrix]:
    """All kernel sums of some rows."""
    weights = np.ascontiguousarray(svm.weights_by_sum.T, np.float32)
    bias = svm.intercepts.astype(np.float32)
    if is_by_differences(svm.kernel):
        raise LeftOut(f"makes kernel values of dot products, which a {svm.kernel.kind} kernel is not")
    kernel = _rbf(svm) if svm.kernel.kind == "rbf" else _dots(svm)
    return lambda rows: kernel(rows) @ weights + bias


def _rbf(svm: SVM) -> Callable[[Matrix], Matrix]:
    gamma = svm.kernel.gamma
    centre = svm.vectors.mean(axis=0).astype(np.float32)
    moved = (svm.vectors - centre).astype(np.float32).astype(np.float64)
    norms = -gamma * (moved**2).sum(axis=1, keepdims=True)
    table = np.ascontiguousarray(
        np.hstack([2 * gamma * moved, np.ones_like(norms), norms]).T.astype(np.float32)
    )
    width = svm.kernel_width

    def values(rows: Matrix) -> Matrix:
        wide = np.empty((len(rows), width + 2), dtype=np.float32)
        np.subtract(rows, centre, out=wide[:, :width])
        wide[:, width] = np.einsum("ij,ij->i", wide[:, :width], wide[:, :width]) * np.float32(-gamma)
        wide[:, width + 1] = 1
        exponents: Matrix = wide @ table
        np.exp(exponents, out=exponents)
        return exponents

    return values


def _dots(svm: SVM) -> Callable[[Matrix], Matrix]:
    kernel: Kernel = svm.kernel
    scale = 1.0 if kernel.kind == "linear" else kernel.gamma
    table = np.ascontiguousarray((scale * svm.vectors).T.astype(np.float32))
    shift = np.float32(kernel.coef0)

    def values(rows: Matrix) -> Matrix:
        dots: Matrix = rows @ table
        if kernel.kind == "linear":
            return dots
        dots += shift
        return np.tanh(dots, out=dots) if kernel.kind == "sigmoid" else dots**kernel.degree

    return values


def _decision(svm: SVM) -> Callable[[Matrix], NDArray[Any]]:
    """From sums to answers, by the original's rule."""
    rule = svm.label_rule
    if rule is LabelRule.NONE or svm.labels is None:
        return lambda scores: scores[:, 0]
    names = svm.labels.array()
    if svm.head:
        raise LeftOut("does not support wrappers that post-process their sums")
    if svm.counts and rule is not LabelRule.VOTE:
        raise LeftOut("does not support break_ties")
    if rule is LabelRule.VOTE:
        votes = favour(len(svm.counts)).T.astype(np.float32)
        losses = -np.minimum(votes, 0).sum(axis=0)  # every pair that does not vote for i votes for j
        return lambda scores: names[np.argmax((scores > 0).astype(np.float32) @ votes + losses, axis=1)]
    if rule is LabelRule.ARGMAX:
        return lambda scores: names[np.argmax(scores, axis=1)]
    first = rule is LabelRule.POSITIVE_FIRST
    return lambda scores: names[((scores[:, 0] > 0) != first).astype(np.intp)]

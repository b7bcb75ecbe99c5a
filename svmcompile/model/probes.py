"""Probe rows: a few rows in input space to test generated code with, some near the boundary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.data import Data
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Array
from svmcompile.ir.program import Program
from svmcompile.ir.shift import nearest_float32
from svmcompile.model.svm import SVM

FEW, MANY = 4, 8  # rows, with more than WIDE features or with fewer
WIDE = 128
CANDIDATES = 64
BISECTIONS = 10  # a boundary point is known to a thousandth of the way between two rows


def probe_rows(program: Program, svm: SVM | None, data: Data | None) -> Array:
    """Rows of the data, or the SVM's vectors themselves; half are moved to a boundary.

    Values are float32 numbers, so that both precisions see the same row.
    """
    wanted = FEW if program.n_features > WIDE else MANY
    pool = _spread(_candidates(svm, data), CANDIDATES)
    pool = pool[np.isfinite(pool).all(axis=1)]
    if not len(pool):
        return np.zeros((0, program.n_features))
    near = _near_boundary(program, pool, wanted // 2)
    return nearest_float32(np.concatenate([near, _spread(pool, wanted - len(near))]))


def _candidates(svm: SVM | None, data: Data | None) -> Array:
    if data is not None and (len(data.X) or svm is None):
        return np.asarray(data.X, dtype=np.float64)
    assert svm is not None, "rows come from data where there is no SVM"
    if svm.parts:
        return np.concatenate([_candidates(part, None) for part in svm.parts])
    if svm.kernel.kind == "precomputed":  # any row of kernel values will do
        return np.random.default_rng(0).random((CANDIDATES, svm.n_features))
    with np.errstate(all="ignore"):
        return svm.front.source(svm.vectors)


def _spread(rows: Array, count: int) -> Array:
    """Up to `count` rows, evenly spread."""
    picks = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)
    return np.asarray(rows[np.unique(picks)])


def _near_boundary(program: Program, pool: Array, count: int) -> Array:
    """Points between rows of different labels, close to where the label changes."""
    if program.labels is None:
        return pool[:0]
    labels = _labels(program, pool)
    pairs = [(i, j) for i in range(len(pool)) for j in range(i + 1, len(pool)) if labels[i] != labels[j]]
    chosen = (
        [pairs[at] for at in np.unique(np.linspace(0, len(pairs) - 1, count).astype(int))] if pairs else []
    )
    if not chosen:
        return pool[:0]
    start, end = (pool[[pair[side] for pair in chosen]] for side in (0, 1))
    own = labels[[pair[0] for pair in chosen]]
    low: Array = np.zeros(len(chosen))
    high: Array = np.ones(len(chosen))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        same = _labels(program, start + middle[:, None] * (end - start)) == own
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    near = np.where(np.arange(len(chosen)) % 2, low, high)  # either side in turn
    return start + near[:, None] * (end - start)


def _labels(program: Program, rows: Array) -> NDArray[np.int64]:
    return interpret(program, rows)["label"]

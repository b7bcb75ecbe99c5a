"""Fitting rows: what a method that approximates an SVM fits to.

An SVM and data rows enter; rows in the kernel's space leave, with the SVM's own sums on them as
targets. No labels are needed, so points made up between neighbouring rows serve as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.decide import labels_of
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array
from svmcompile.model.svm import SVM, LabelRule

NEIGHBOURS = 8  # a made-up row steps along the difference of two of these
STEP = 0.7  # standard deviation of that step
HELD_SHARE = 4  # one row in so many is held out
BLOCK_VALUES = 1 << 22  # kernel values computed at a time


@dataclass(frozen=True, eq=False)
class FittingRows:
    """Rows the kernel sees, the SVM's sums there, and which rows are held out."""

    z: Array  # [n, d]
    sums: Array  # [n, sums], intercepts included
    held: NDArray[np.bool_]  # [n]
    made_up: NDArray[np.bool_]  # [n]


def fitting_rows(svm: SVM, data: Data, synthetic: int, limit: int, seed: int) -> FittingRows:
    """At most `limit` data rows and `synthetic` rows made up between them."""
    random = np.random.default_rng(seed)
    z = svm.prepared(np.asarray(data.X, dtype=np.float64))
    z = z[np.isfinite(z).all(axis=1)]
    if not len(z):
        raise OptionError("the data has no row whose values are all finite; give rows to fit to")
    z = z[random.permutation(len(z))[:limit]]
    count = len(z)
    z = np.concatenate([z, made_up_rows(z, synthetic, random)])
    at = np.arange(len(z))
    return FittingRows(z, kernel_sums(svm, z), at % HELD_SHARE == HELD_SHARE - 1, at >= count)


def made_up_rows(rows: Array, count: int, random: np.random.Generator) -> Array:
    """Rows x_i + step (x_j - x_l), with j and l among the nearest neighbours of i."""
    rows = np.unique(rows, axis=0)  # rows that occur twice have no step between them
    if len(rows) < 2 or count < 1:
        return rows[:0]
    return rows_near(rows[random.integers(len(rows), size=count)], rows, random)


def rows_near(starts: Array, rows: Array, random: np.random.Generator) -> Array:
    """A made-up row for each start, which is one of the rows; those are two at least, and differ."""
    from scipy.spatial import cKDTree

    near = min(NEIGHBOURS, len(rows) - 1)
    nearest = np.asarray(cKDTree(rows).query(starts, near + 1)[1])
    pairs = random.integers(1, near + 1, size=(2, len(starts)))
    ends = rows[nearest[np.arange(len(starts)), pairs]]
    steps: Array = STEP * random.normal(size=(len(starts), 1))
    return np.asarray(starts + steps * (ends[0] - ends[1]))


def sum_weights(svm: SVM) -> Array:
    """The coefficients as one row per sum over all vectors, [sums, vectors]."""
    return svm.weights_by_sum


def kernel_sums(svm: SVM, z: Array) -> Array:
    """The SVM's sums for rows in the kernel's space, in blocks that bound memory."""
    weights = sum_weights(svm).T
    step = max(1, BLOCK_VALUES // max(1, svm.n_vectors))
    blocks = [svm.kernel.values(z[at : at + step], svm.vectors) @ weights for at in range(0, len(z), step)]
    return np.concatenate(blocks) + svm.intercepts


def likeness(svm: SVM, wanted: Array, found: Array) -> float:
    """Share of equal labels; for a regressor the share of variance explained."""
    if svm.label_rule is not LabelRule.NONE:
        return float(np.mean(labels_of(svm, wanted) == labels_of(svm, found)))
    spread = float(np.square(wanted - wanted.mean(axis=0)).sum())
    return 1.0 - float(np.square(wanted - found).sum()) / spread if spread else 1.0

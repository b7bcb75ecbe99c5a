"""A sum as bounds see it: vectors merged and about their mean, and sample rows in the kernel's space.

Sample rows: what the cost of a form is predicted on, and what orderings may look at.
Rows of the data where there are some. A row that is itself a support vector lies in the span
of the basis and stops early; one made up near it stands for it, so that training rows do
not flatter the method. Without data all rows are made up between support vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmcompile.accelerate.fitting.rows import made_up_rows, rows_near
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.copies import merge_by_class
from svmcompile.ir.kernel import SPARSE_ZEROS, Kernel
from svmcompile.model.front import Front, scale
from svmcompile.model.svm import SVM

BLOCK_VALUES = 1 << 22  # kernel values computed at a time
MANY_PRODUCTS = 3e9  # of features, between all vectors
SHORTER = 0.5  # vectors must get so much shorter
GUESS_ROWS = 4000
MOST_ROWS = 20_000  # rows looked at for support vectors and neighbours


@dataclass(frozen=True, eq=False)
class Sum:
    """f(x) = weights . kernel(x, vectors) + bias."""

    kernel: Kernel
    vectors: Array  # [n, d]
    weights: Array  # [n]
    bias: float

    @classmethod
    def of(cls, svm: SVM) -> Sum:
        """That of a machine with one decision value."""
        return cls(svm.kernel, svm.vectors, svm.coefficients[0], float(svm.intercepts[0]))

    def products(self, points: Array) -> Array:
        """<Phi(point), W> for every point: the sum without its bias."""
        step = max(1, BLOCK_VALUES // max(1, len(self.weights)))
        parts = [
            self.kernel.values(points[at : at + step], self.vectors) @ self.weights
            for at in range(0, len(points), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def squared_norm(self) -> float:
        """|W|^2 of an RBF sum; of many vectors by products, where those are as good as differences."""
        (m, d), gamma = self.vectors.shape, self.kernel.gamma
        norms, sizes = gamma * np.square(self.vectors).sum(axis=1), np.abs(self.weights)
        if m * m * d < MANY_PRODUCTS or (d + 16) * (sizes @ norms) > (m + 8 * d) * sizes.sum():
            return float(self.weights @ self.products(self.vectors))
        total, step = 0.0, BLOCK_VALUES // m + 1
        for at in range(0, m, step):
            rows, later = slice(at, at + step), slice(at, m)
            squares = norms[rows, None] + norms[later]
            squares -= 2 * gamma * (self.vectors[rows] @ self.vectors[later].T)
            values = np.exp(-np.maximum(squares, 0.0))
            values[:, step:] *= 2  # each two vectors once
            total += float(self.weights[rows] @ values @ self.weights[later])
        return total


def reach_of(vectors: Array) -> float:
    """The length of the longest vector."""
    return float(np.sqrt(np.square(vectors).sum(axis=1).max(initial=0.0)))


def merge_vectors(svm: SVM) -> SVM:
    """The SVM with vectors that occur twice (in one class, where there are several) evaluated once."""
    vectors, coefficients, counts = merge_by_class(svm.vectors, svm.coefficients, svm.counts)
    if vectors is svm.vectors:
        return svm
    return replace(svm, vectors=vectors, coefficients=coefficients, counts=counts)


def mostly_zeros(svm: SVM) -> bool:
    """Whether rows come as they are and vectors are mostly zeros, which the exact sum then passes over."""
    return not svm.front.nodes and not svm.parts and float((svm.vectors == 0).mean()) >= SPARSE_ZEROS


def centre_vectors(svm: SVM) -> SVM:
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
    if reach_of(vectors) > SHORTER * reach_of(svm.vectors):
        return svm
    return replace(svm, vectors=vectors, front=_shift(svm.front, last, centre))


def _shift(front: Front, last: ir.Scale | None, centre: Array) -> Front:
    if last is None:
        return front.then(scale(centre, np.ones(len(centre))))
    shift, factor = front.tables[last.shift], front.tables[last.factor]
    moved = shift + centre / np.where(factor != 0, factor, 1.0)
    return replace(front, tables=front.tables | {last.shift: moved})


def prepare_rows(svm: SVM, data: Data | None) -> Array:
    """The data's finite rows as the kernel sees them."""
    if data is None:
        return np.zeros((0, svm.kernel_width))
    rows = svm.prepared(np.asarray(data.X, dtype=np.float64))
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        raise OptionError(
            "anytime: the data has no row whose values are all finite; give representative rows"
        )
    return rows


def sample_rows(svm: SVM, rows: Array, count: int, seed: int) -> Array:
    """So many rows in the kernel's space, fewer where the data has fewer."""
    random = np.random.default_rng(seed)
    if not len(rows):
        between = made_up_rows(svm.vectors, count, random)
        return between if len(between) else svm.vectors[:1]
    picks = random.permutation(len(rows))[:MOST_ROWS]
    chosen = rows[np.sort(picks[:count])]
    own = {row.tobytes() for row in svm.vectors}
    known = np.array([row.tobytes() in own for row in chosen])
    others = np.unique(rows[np.sort(picks)], axis=0)
    if not known.any() or len(others) < 2:
        return np.asarray(chosen)
    return np.concatenate([chosen[~known], rows_near(chosen[known], others, random)])


def prepare(svm: SVM, data: Data | None, sample: int, seed: int) -> tuple[SVM, Array, Array]:
    """The SVM as its sums see it, merged and centred; rows of the data as those see them; sample rows."""
    own = centre_vectors(merge_vectors(svm))
    rows = prepare_rows(own, data)
    return own, rows, sample_rows(own, rows, sample, seed)


def guess_rows(svm: SVM, rows: Array, sample: Array, seed: int) -> Array:
    """Rows that a guess of the class is fitted to: as many as are cheap, and the support vectors."""
    picks = np.random.default_rng(seed).permutation(len(rows))[:GUESS_ROWS]
    return np.concatenate([sample, rows[np.sort(picks)], svm.vectors])


def join_parts(svm: SVM) -> SVM:
    """Machines that share kernel and preprocessing as one, each vector with a weight in its own sum."""
    if not svm.parts:
        return svm
    coefficients = np.zeros((svm.n_sums, svm.n_vectors))
    row = column = 0
    for part in svm.parts:
        sums, vectors = part.coefficients.shape
        coefficients[row : row + sums, column : column + vectors] = part.coefficients
        row, column = row + sums, column + vectors
    vectors_of_all = np.concatenate([part.vectors for part in svm.parts])
    return replace(svm, vectors=vectors_of_all, coefficients=coefficients, parts=())

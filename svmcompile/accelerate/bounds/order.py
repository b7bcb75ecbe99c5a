"""From a sum to its ordered basis: candidates, ordering, embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.basis import Basis, embedded
from svmcompile.accelerate.bounds.greedy import Candidates, Factor
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.orderings import NEARLY, MeanLhn, MinWz, Ordering, Original, Sgma, ordered
from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array
from svmcompile.ir.stages import self_kernel

MOST_POINTS = 1024  # of a basis: coordinates cost the square of it
MOST_SQUARE = 6000  # candidates of sgma, which needs all their kernel values at once
MOST_OTHERS = 2000  # data rows among the candidates
QUERIES = 400  # of mean-lhn and hybrid


@dataclass(frozen=True, eq=False)
class Ordered:
    """A basis, and which of the sum's vectors its points are (-1: a row of the data)."""

    basis: Basis
    picks: NDArray[np.int64]


def ordered_basis(own: Sum, rows: Array, options: AnytimeOptions) -> Ordered:
    """The basis of a sum; `rows` are data rows in the kernel's space."""
    points = np.concatenate([own.vectors, _others(own, rows, options)])
    products = own.products(points)
    square = max(0.0, float(own.weights @ products[: len(own.weights)]))
    candidates = Candidates(own.kernel, points, products, self_kernel(own.kernel, points), square)
    limit = min(options.k_max or MOST_POINTS, MOST_POINTS, len(points))
    factor = Factor(candidates, limit, options.pivot_tol)
    order = np.array(ordered(factor, _ordering(own, points, products, rows, options)), dtype=np.int64)
    picks = np.where(order < len(own.vectors), order, -1)
    return Ordered(embedded(own, points[order]), picks)


def _others(own: Sum, rows: Array, options: AnytimeOptions) -> Array:
    """Data rows that may be points of the basis: none of them a vector."""
    if not options.needs_data:
        return rows[:0]
    known = {row.tobytes() for row in own.vectors}
    fresh = np.array([row.tobytes() not in known for row in rows], dtype=bool)
    others = np.unique(rows[fresh], axis=0)
    picks = np.random.default_rng(options.seed).permutation(len(others))[:MOST_OTHERS]
    return np.asarray(others[np.sort(picks)])


def _ordering(own: Sum, points: Array, products: Array, rows: Array, options: AnytimeOptions) -> Ordering:
    if options.ordering == "original":
        return Original()
    if options.ordering in ("min-wz", "min-wzn"):
        return MinWz(len(points) - len(own.vectors), options.seed)
    if options.ordering == "sgma":
        if len(points) > MOST_SQUARE:
            raise OptionError(
                f"anytime: ordering sgma is for at most {MOST_SQUARE} vectors, here are {len(points)}; "
                "use min-wz"
            )
        return Sgma(own.kernel.values(points, points))
    queries = rows[np.sort(np.random.default_rng(options.seed).permutation(len(rows))[:QUERIES])]
    return MeanLhn(
        own.kernel.values(points, queries),
        self_kernel(own.kernel, queries),
        own.products(queries) + own.bias,
        own.bias,
        NEARLY if options.ordering == "hybrid" else np.inf,
    )

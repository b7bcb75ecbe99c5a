"""Nodes of sums that are known no better than a decision needs, and of double arithmetic.

Both bounded nodes hold kernel values to the first few vectors (the basis) as
coordinates of the row in the kernel's own space: what the basis leaves of the
row, times what it leaves of the weights, bounds what the estimate misses.

`slacks`, `margins` and `rounding` cover the rounding of float32 code, so that
an estimate that is sure stays sure in every backend and number type.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kernel import Kernel, chunks
from svmcompile.ir.kinds import IndexTable, Kind, Lazy, Level, Table, Type, Value
from svmcompile.ir.layout import by_rows, rows_of, triangle_size
from svmcompile.ir.node import At, Node, Result, Work, dims, kernel_sum_flops, need, operands
from svmcompile.ir.stages import CHECK_FLOPS, Spent, Stages, stages


@dataclass(frozen=True, slots=True)
class Widen(Node):
    """out = x in double, whatever the program's number type; so is all that is computed from it."""

    widens: ClassVar = True
    out: Value
    x: Value

    def result(self, at: At) -> Type:
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        return at.x.astype(np.float64)

    def error(self, at: At, a: Arithmetic) -> Result:
        return at.x.value, at.x.error, False


class Adaptive(Node):
    """A node that meets vectors until it is sure."""

    __slots__ = ()
    is_adaptive: ClassVar = True
    kernel: Kernel

    def plain(self, at: At) -> At:
        """The same, not in blocks."""
        return at

    def values_per_row(self, rows: At) -> int:
        """Numbers that must be held for each row at a time."""
        return len(rows.vectors)

    @abstractmethod
    def spent(self, rows: At) -> Spent:
        """What each row costs."""

    @abstractmethod
    def most_spent(self, at: At) -> tuple[int, int]:
        """Kernel values and flops of a row that meets everything."""

    def work(self, at: At, rows: At | None) -> Work:
        at, cost = self.plain(at), spent(self.plain(rows)) if rows else None
        parts = self.most_spent(at) if cost is None else (cost.values.mean(), cost.flops.mean())
        met, others = map(float, parts)
        return Work(met, met * kernel_sum_flops(at.kernel, 1, at.x.width, 0) + others)

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        return spent(self.plain(rows)).unsure

    @property
    def shape(self) -> str:
        return self.kernel.shape


@dataclass(frozen=True, slots=True)
class BoundedSum(Adaptive):
    """One kernel sum, known no better than needed: an estimate, as soon as the bound on its error allows.

    k_i = kernel(x, vectors[i]), in order. After the first c = ends[s] of them, with q = T k over the
    first r = min(c, len(projection)) rows of the lower triangle T that `coordinates` holds row by row,

        score = bias + projection . q  while r = c,  else bias + estimates . k  (the stage's own estimates)
        error = residuals[s] sqrt(max(kernel(x, x) - |q|^2, 0) + slacks[s] size^2) + margins[s] size

    and with all vectors score = bias + weights . k, error = rounding[0] sum_i |weights_i k_i| +
    rounding[1] size. A sign is sure where |score| > error, a value (tolerance not below zero) where
    error <= tolerance. The first score that is sure is given; without one, the value after all vectors,
    but for a sign the exact sum. size = 1 for an RBF kernel, else
    max(1, (gamma |x| max(|x|, reach) + |coef0|)^degree). A row that is not finite is never sure.

    Of a precomputed kernel kernel(x, x) = reach + coef0 or, where reach is 0, what the caller says + coef0:
    a row of values does not tell, so that nothing is sure before all vectors. With gamma
    at least kernel(z, z) of every vector z and 1, size = max(gamma, kernel(x, x)), but 1 with all vectors.
    Nor is a stage sure where kernel(x, x) - |q|^2 + slacks[s] size^2 < 0, which no positive semidefinite
    kernel gives, or a value met so far is not finite.

    Machine programs hold it in blocks of lanes, residuals squared; a sum that gives values has the
    program's input for `exact` there.
    """

    has_stages: ClassVar = True
    small_tables: ClassVar = {"vectors": ("int32",)}
    flat_tables: ClassVar = ("coordinates", "estimates")
    out: Value
    x: Value
    exact: Lazy
    vectors: Table = field(metadata=dims("n d"))  # the basis first; in blocks [blocks, d, lanes]
    weights: Table = field(metadata=dims("n"))
    bias: Table = field(metadata=dims("1"))
    ends: IndexTable = field(metadata=dims("stages"))  # rising; in blocks whole ones
    # r (r + 1) / 2; in blocks lanes^2 b (b + 1) / 2 for b of them; a zero for none
    coordinates: Table = field(metadata=dims("triangle"))
    projection: Table = field(metadata=dims("r"))  # in blocks [b * lanes], a zero for none
    estimates: Table = field(metadata=dims("beyond"))  # as many as the ends beyond r say; a zero for none
    residuals: Table = field(metadata=dims("stages", "bound"))
    slacks: Table = field(metadata=dims("stages", "bound"))
    margins: Table = field(metadata=dims("stages", "bound"))
    rounding: Table = field(metadata=dims("2", "bound"))
    reach: float
    tolerance: float
    kernel: Kernel
    rank: int = 0  # in blocks: coordinates, without what fills up the last one

    def stands_on(self, at: At) -> Level:
        return Level.MACHINE if at.vectors.ndim == 3 else Level.MATH

    def result(self, at: At) -> Type:
        blocks, exact = at.vectors.ndim == 3, at.exact
        if blocks:
            self._check_blocks(at)
            at = self.plain(at)
        sound_bounds(at)
        fit = exact == Type(Kind.SCORES, 1) or (blocks and self.tolerance >= 0)
        need(fit, f"%{self.exact} is not one score")
        n = len(at.vectors)
        ends, r = at.ends.astype(np.int64), len(at.projection)
        need(n > 0 and len(ends) > 0, "vectors or stages are missing")
        at.fit(
            d=at.vector_width, triangle=max(1, r * (r + 1) // 2), beyond=max(1, int(ends[ends > r].sum()))
        )
        rises = ends[-1] <= n and (np.diff(ends, prepend=0) > 0).all()
        need(bool(rises), "the ends of stages do not rise")
        need(r <= ends[-1], "more coordinates than values")
        need(not math.isnan(self.tolerance), "the tolerance makes no sense")
        return Type(Kind.SCORES, 1)

    def _check_blocks(self, at: At) -> None:
        lanes = at.vectors.shape[2]
        need(self.rank >= 0 and lanes > 0, "the rank makes no sense, or blocks are empty")
        size = self.rank + -self.rank % lanes
        need(all(int(end) % lanes == 0 for end in at.ends), "a stage does not end with a block")
        need(len(at.coordinates) == max(1, triangle_size(size, lanes)), "coordinates do not fit")
        need(len(at.projection) == max(1, size), "the projection does not fit")

    def plain(self, at: At) -> At:
        if at.vectors.ndim < 3:
            return at
        rank, lanes = self.rank, at.vectors.shape[2]
        packed = by_rows(at.coordinates, rank + -rank % lanes, lanes)
        plain = {**at.tables, self.residuals: np.sqrt(at.residuals.astype(np.float64))}
        plain[self.vectors] = rows_of(at.vectors)
        plain[self.coordinates] = packed[: max(1, rank * (rank + 1) // 2)]
        plain[self.projection] = at.projection[:rank]
        return At(self, plain, at.read)

    def run(self, at: At) -> NDArray[Any]:
        x, at = at.x, self.plain(at)
        found = stages(at, x)
        first = found.first_sure(self.tolerance)
        score = found.scores[np.arange(len(x)), first]  # of all vectors where none is sure
        if self.tolerance < 0:
            score = np.where(first < 0, at.exact[:, 0], score)
        return score[:, None].astype(x.dtype)

    def stages(self, at: At, x: NDArray[Any], pair: int = 0) -> Stages:
        """How score and error of rows develop."""
        return stages(self.plain(at), x)

    def spent(self, rows: At) -> Spent:
        stage = stages(rows, rows.x)
        first = stage.first_sure(self.tolerance)
        unsure = (first < 0) & (self.tolerance < 0)
        return Spent(stage.ends[first].astype(np.float64), self._flops(rows)[first], unsure)

    def most_spent(self, at: At) -> tuple[int, int]:
        return len(at.vectors), int(self._flops(at).max())

    def _flops(self, at: At) -> Array:
        """Flops beside kernel values up to each stage, and after all vectors."""
        ends, r = at.ends.astype(np.int64), len(at.projection)
        has = np.minimum(ends, r)
        coordinates = has * (has + 1) + 2 * has  # products, and the squares that leave the norm
        estimates = np.where(ends > r, 2 * ends, 2 * np.diff(np.minimum(ends, r), prepend=0))
        upto = coordinates + np.cumsum(estimates + CHECK_FLOPS)
        return np.append(upto, upto[-1] + 4 * len(at.weights)).astype(np.float64)

    def gives_sign(self, types: Mapping[str, Type]) -> bool:
        return self.tolerance < 0

    def error(self, at: At, a: Arithmetic) -> Result:
        value, found = self.value(at), self.stages(at, at.x.value)
        sure = found.first_sure(self.tolerance) >= 0
        if self.tolerance < 0:
            return value, np.where(sure[:, None], 0.0, at.exact.error), False
        # Two estimates within the tolerance of the sum are within twice as much of each other.
        last = found.errors[:, -1:] + a.u * np.abs(value)
        return value, 2 * self.tolerance + last, False


def sound_bounds(at: At) -> None:
    """The kernel has bounds."""
    kernel, reach = at.kernel, at.reach
    need(kernel.kind in ("rbf", "poly", "precomputed"), f"a {kernel.kind} kernel has no bounded sum")
    need(kernel.gamma >= 0 and kernel.coef0 >= 0, "the kernel is not positive definite")
    need(math.isfinite(reach) and reach >= 0, "the reach makes no sense")


def spent(rows: At) -> Spent:
    """What each row costs in a node that stops when it is sure, part by part."""
    read = {name: rows.read[name] for name in operands(rows.node) if name in rows.read}
    parts = [
        rows.node.spent(At(rows.node, rows.tables, {name: value[part] for name, value in read.items()}))
        for part in chunks(len(rows.x), rows.node.values_per_row(rows))
    ]
    return Spent(*map(np.concatenate, zip(*parts, strict=True)))

"""Nodes of Taylor polynomials about centres, and of programs whose rows all fall into one leaf."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import layout
from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import chunks
from svmcompile.ir.kinds import IndexTable, Kind, Lazy, Level, Table, Type, Value
from svmcompile.ir.node import At, LaidOut, Node, Result, Work, dims, need, standing_for, value_at
from svmcompile.ir.nodes.features import Scale
from svmcompile.ir.nodes.trees import OneLeaf, PlaneRoute
from svmcompile.ir.polynomials import taylor_flops, taylor_orders


@dataclass(frozen=True, slots=True)
class TaylorSum(Node):
    """A kernel sum by its Taylor polynomial about the row's centre, where that is sure of the sign.

    With h = x - centres[leaf], u = gamma |h|^2, the cell floor(u steps[leaf]) of the row, its r coordinates
    y = axes[leaf] h, or h itself without axes, and what they leave, z^2 = (1 + slack) |h|^2 - |y|^2,

        score_1 = bias + exp(-u) (constants[leaf] + slopes[leaf] . h)
        score_2 = score_1 + exp(-u) (sum_{a <= b} squares[leaf, ba] y_a y_b + middles[leaf] z^2)
        score_3 = score_2 + exp(-u) sum_{a <= b <= c} cubes[leaf, cba] y_a y_b y_c

    Order p is sure of its sign where |score_p| is above

        margins[p, leaf] + u gaps[p, leaf, cell, side]
            + exp(-u) loose[p, leaf] . (|y|^2, z^2, |y|^2 z^2, z^4)

    with side 0 for scores above zero and 1 below. The last part is there with axes alone, from order 2 on.
    Order p + 1 is tried where |score_p| > gates[p] (margins + u gaps of order p + 1). The first score that
    is sure is given, else (and for rows beyond the last cell, or not finite) the exact one. Gaps bound
    what the polynomial leaves out, margins the rounding of float32 code. That is for RBF kernels; a sum of
    polynomial kernels does not fade, and has 1 wherever exp(-u) stands.

    With `sparse`, code may look at features that are not zero alone, and take |x|^2 - 2 x . c + |c|^2 for
    |h|^2 and products of x less those of c for products of h; gaps and margins are wide enough for that.
    """

    certificate: ClassVar = "polynomials"
    is_sign: ClassVar = True
    is_adaptive: ClassVar = True
    has_orders: ClassVar = True
    out: Value
    x: Value
    leaf: Value
    exact: Lazy
    centres: Table = field(metadata=dims("leaves d", "float32"))
    constants: Table = field(metadata=dims("leaves"))
    slopes: Table = field(metadata=dims("leaves d"))
    axes: Table = field(metadata=dims("leaves r d"))  # orthonormal rows; a zero where y is h
    squares: Table = field(metadata=dims("leaves triangle"))  # row by row, lower; below order 2 a zero
    cubes: Table = field(metadata=dims("leaves pyramid"))  # a larger triangle for each c; or a zero
    middles: Table = field(metadata=dims("leaves"))  # without axes a zero
    loose: Table = field(metadata=dims("orders-1 leaves 4", "bound"))  # without axes a zero
    steps: Table = field(metadata=dims("leaves"))  # cells per unit of u
    gaps: Table = field(metadata=dims("orders leaves cells 2", "bound"))
    margins: Table = field(metadata=dims("orders leaves", "bound"))
    bias: Table = field(metadata=dims("1"))
    gates: tuple[float, ...]  # one fewer than orders
    gamma: float
    slack: float = 0.0  # keeps z from being too small by rounding
    sparse: bool = False  # with one leaf only
    fades: bool = True  # whether there is a factor exp(-u)

    def result(self, at: At) -> Type:
        need(at.exact == Type(Kind.SCORES, 1), f"%{self.exact} is not one score")
        need(math.isfinite(self.gamma) and self.gamma >= 0, "gamma makes no sense")
        need(0 <= self.slack < 1, "slack makes no sense")
        need(at.gaps.ndim == 4 and at.gaps.size > 0, "gaps are missing")
        orders = len(at.gaps)
        need(orders in (1, 2, 3), f"order {orders} is none of 1, 2 and 3")
        need(len(self.gates) == orders - 1, f"{len(self.gates)} gates between {orders} orders")
        need(all(math.isfinite(gate) and gate >= 0 for gate in self.gates), "gates make no sense")
        own = at.axes.ndim > 1 and orders > 1
        fit = not self.sparse or (at.leaves == 1 and (own or orders == 1))
        need(fit, "sparse rows need one centre, and axes")
        need(self.fades or not self.sparse, "sparse rows are for sums that fade")
        r = at.axes.shape[1] if own else at.d
        absent = [] if own else ["axes", "middles", "loose"]
        absent += ["squares", "cubes"][orders - 1 :]
        pyramid = r * (r + 1) * (r + 2) // 6
        at.fit(orders=orders, triangle=r * (r + 1) // 2, pyramid=pyramid, **dict.fromkeys(absent, (1,)))
        need(bool((at.steps > 0).all()), "steps are not above zero")
        return Type(Kind.SCORES, 1)

    def run(self, at: At) -> NDArray[Any]:
        found = taylor_orders(at, at.x, at.leaf)
        score = found.scores[np.arange(len(at.x)), found.sure.argmax(axis=1)]
        out = np.where(found.sure.any(axis=1), score, at.exact[:, 0])
        return out[:, None].astype(at.x.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        upto = taylor_flops(at)
        return Work(0, float(upto[-1] if rows is None else upto[_settled_last(rows)[1]].mean()))

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        return np.asarray(_settled_last(rows)[0] == len(rows.margins))

    def error(self, at: At, a: Arithmetic) -> Result:
        decided = taylor_orders(at, at.x.value, at.leaf.value).sure.any(axis=1, keepdims=True)
        return self.value(at), np.where(decided, 0.0, at.exact.error), False


@dataclass(frozen=True, slots=True)
class TiledTaylor(LaidOut):
    """`Scale`, a route of planes (or none) and `TaylorSum` in one, for processors with vector instructions.

    Rows of features are filled up with zeros to P numbers, whole vectors, and so are coordinates to R:
    h itself, or r axes filled up to whole groups. `planes` lie side by side, [groups, d, lanes], and
    `sides` tells for each four of them and each outcome which leaves it leaves; or they are filled up,
    [planes, P], and the tree is walked; with one leaf they are a zero. Planes see x before it is scaled.

    `squares` lie in fours of rows, each filled up to whole vectors that hold the last of the four. `cubes`
    holds, for each such four and each c not below its first, the four rows that y_c goes with.
    """

    level: ClassVar = Level.MACHINE
    is_sign: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    exact: Lazy
    shift: Table = field(metadata=dims("P"))
    factor: Table = field(metadata=dims("P"))
    offset: Table = field(metadata=dims("P"))
    planes: Table
    thresholds: Table  # one per plane and what fills up
    children: IndexTable  # [planes, 2]
    sides: IndexTable  # [fours of planes, 16], sets of leaves as bits; a zero where there are none
    centres: Table = field(metadata=dims("leaves P"))
    constants: Table
    slopes: Table = field(metadata=dims("leaves P"))
    axes: Table  # [leaves, rows of axes, P]; a zero where y is h
    squares: Table = field(metadata=dims("leaves numbers"))
    cubes: Table = field(metadata=dims("leaves numbers"))
    middles: Table
    loose: Table
    steps: Table
    gaps: Table
    margins: Table
    bias: Table
    gates: tuple[float, ...]
    gamma: float
    slack: float
    rank: int  # axes, without what fills up; 0 where y is h
    lanes: int  # of the vectors that tables are filled up for
    fades: bool = True  # as in `TaylorSum`

    def result(self, at: At) -> Type:
        d, lanes, leaves = at.d, self.lanes, len(at.centres)
        need(lanes > 0 and 0 <= self.rank <= d, "lanes or axes make no sense")
        full, width = layout.filled_up(d, lanes), self.rank or d
        squares = (leaves, layout.square_size(width, lanes)) if self.gates else (1,)
        cubes = (leaves, layout.cube_size(width, lanes)) if len(self.gates) > 1 else (1,)
        at.fit(P=full, leaves=leaves, squares=squares, cubes=cubes)
        axes = at.axes.shape
        need(not self.rank or (axes[0], axes[2:]) == (leaves, (full,)), "axes are not filled up")
        plain = self.unpack(at)
        need(plain.leaf == Type(Kind.INDEX, leaves), "leaves and planes do not fit")
        if at.planes.ndim == 3:
            need(np.array_equal(at.sides, layout.sides_of(at.children)), "sides do not fit")
        return TaylorSum.result(plain.node, plain)

    def unpack(self, at: At) -> At:
        return self._parts(at)[-1]

    def work(self, at: At, rows: At | None) -> Work:
        parts = self._parts(at)
        seen: list[At] | list[None] = [None] * len(parts) if rows is None else self._parts(rows)
        return sum((part.node.work(part, row) for part, row in zip(parts, seen, strict=True)), Work(0, 0))

    def _parts(self, at: At) -> list[At]:
        """The scaling, the route and the polynomials it stands for, with the values that each reads."""
        d = at.x.width if isinstance(at.x, Type) else at.x.shape[1]
        made, scaled, leaf = self._tables(at, d), f"{self.out} z", f"{self.out} leaf"
        made[centre := f"{self.out} centre"] = np.zeros(d, dtype=at.centres.dtype)
        scale = Scale(scaled, self.x, self.shift, self.factor, self.offset)
        route = PlaneRoute(leaf, scaled, self.planes, self.thresholds, self.children, centre)
        walk, values = OneLeaf(leaf, scaled) if len(at.centres) == 1 else route, dict(at.read)
        for item in (scale, walk):
            values[item.out] = value_at(At(item, made, values))
        taylor = standing_for(TaylorSum, self, x=scaled, leaf=leaf, sparse=False)
        return [At(item, made, values) for item in (scale, walk, taylor)]

    def _tables(self, at: At, d: int) -> dict[str, NDArray[Any]]:
        """The tables as the nodes it stands for have them."""
        width, made = self.rank or d, dict(at.tables)
        for name in (self.shift, self.factor, self.offset):
            made[name] = at.tables[name][:d]
        for name in (self.centres, self.slopes):
            made[name] = at.tables[name][:, :d]
        if self.rank:
            made[self.axes] = at.axes[:, : self.rank, :d]
        if len(self.gates) > 0:
            made[self.squares] = layout.pack(at.squares, layout.square_rows(width, self.lanes))
        if len(self.gates) > 1:
            made[self.cubes] = layout.pack(at.cubes, layout.cube_rows(width, self.lanes))
        made[self.planes] = self._planes(at, d)
        made[self.thresholds] = at.thresholds[: len(at.children)]
        return made

    def _planes(self, at: At, d: int) -> NDArray[Any]:
        planes = at.planes
        if planes.ndim == 3:
            return layout.rows_of(planes)[: len(at.children)]
        return np.asarray(planes[:, :d] if planes.ndim == 2 else planes)


@dataclass(frozen=True, slots=True)
class PickedTaylor(LaidOut):
    """A sparse `TaylorSum`: what the features that are not zero bring is added up, all products at once.

    columns[j] holds what feature j brings: the axes' j-th numbers, centre_j, slope_j, zeros up to whole
    groups of `lanes`; `starts` is what the centre itself would bring. Rows of
    `squares`, and of each triangle of `cubes`, are filled up to whole groups.
    """

    level: ClassVar = Level.MACHINE
    is_sign: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    exact: Lazy
    columns: Table = field(metadata=dims("d L"))
    starts: Table = field(metadata=dims("L"))
    constants: Table = field(metadata=dims("1"))
    squares: Table
    cubes: Table
    middles: Table
    loose: Table
    steps: Table
    gaps: Table
    margins: Table
    bias: Table
    gates: tuple[float, ...]
    gamma: float
    slack: float
    rank: int
    lanes: int

    def result(self, at: At) -> Type:
        need(self.lanes > 0 and 0 <= self.rank <= at.d, "lanes or axes make no sense")
        need(bool(self.rank) == bool(self.gates), "axes are for orders from 2 on")
        full = layout.filled_up(self.rank + layout.LAST, layout.column_lanes(self.lanes))
        squares = (1, layout.grouped_size(self.rank, self.lanes)) if self.gates else (1,)
        cubes = (1, layout.pyramid_size(self.rank, self.lanes)) if len(self.gates) > 1 else (1,)
        at.fit(L=full, squares=squares, cubes=cubes)
        plain = self.unpack(at)
        return TaylorSum.result(plain.node, plain)

    def unpack(self, at: At) -> At:
        columns, made = at.columns, dict(at.tables)
        leaf, centres, slopes, axes = (f"{self.out} {end}" for end in ("leaf", "centres", "slopes", "axes"))
        made[axes] = columns[:, : self.rank].T[None] if self.rank else np.zeros(1)
        made[centres], made[slopes] = columns[:, self.rank][None], columns[:, self.rank + 1][None]
        if len(self.gates) > 0:
            made[self.squares] = layout.pack(at.squares, layout.triangle_rows(self.rank, self.lanes))
        if len(self.gates) > 1:
            made[self.cubes] = layout.pack(at.cubes, layout.pyramid_rows(self.rank, self.lanes))
        names = {"leaf": leaf, "centres": centres, "slopes": slopes, "axes": axes}
        taylor, one = standing_for(TaylorSum, self, **names, sparse=True, fades=True), OneLeaf(leaf, self.x)
        return At(taylor, made, {**at.read, leaf: value_at(At(one, made, at.read))})


def _settled_last(rows: At) -> NDArray[np.intp]:
    """The order that settles each row and the last that it comes to, [2, rows]."""
    x, leaf = rows.x, rows.leaf
    width = rows.axes.shape[1] if rows.axes.ndim > 1 else x.shape[1]
    values = x.shape[1] + width * (width + 1)
    parts = [taylor_orders(rows, x[part], leaf[part]) for part in chunks(len(x), values)]
    return np.concatenate([(part.settled, part.last) for part in parts], axis=1)

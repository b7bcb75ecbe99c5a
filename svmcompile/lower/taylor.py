"""tile_taylor: a scaling, a route and Taylor polynomials become one node, for vector instructions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import fresh, maker
from svmcompile.ir.kernel import Array
from svmcompile.ir.layout import ROWS, cube_rows, cube_size, filled_up, sides_of, square_rows, square_size
from svmcompile.ir.program import Program

Tables = dict[str, NDArray[Any]]

SIZES: dict[Number, int] = {"f32": 4, "f64": 8}
FEW_BYTES, MANY_BYTES = 32, 64  # of a vector, for rows of few and of many features
MANY_FEATURES = 48
# All planes at once cost a multiplication per plane and feature but no jump; walking costs, level by
# level, a sum across lanes and often a jump that was not foreseen.
MOST_LEAVES, MOST_PRODUCTS = 32, 1024


def tile_taylor(program: Program, node: ir.TaylorSum, number: Number) -> tuple[ir.Node, Tables] | None:
    """The node and its tables; None where the route is of another kind."""
    route = maker(program, node.leaf)
    x, scale = _scale(program, node)
    if not isinstance(route, (ir.OneLeaf, ir.PlaneRoute)) or route.x not in (node.x, x):
        return None
    tables, d = program.tables, program.tables[node.centres].shape[1]
    lanes = vector_lanes(d, number)
    full, orders = filled_up(d, lanes), len(tables[node.margins])
    rank = tables[node.axes].shape[1] if tables[node.axes].ndim > 1 and orders > 1 else 0
    width, taken = rank or d, [*tables]

    def own(end: str) -> str:
        taken.append(fresh(node.out, end, taken))
        return taken[-1]

    scaling = own("shift"), own("factor"), own("offset")
    tree = own("planes"), own("thresholds"), own("children"), own("sides")
    made: Tables = dict(zip(scaling, scale.filled_up(full), strict=True))
    planes = None if isinstance(route, ir.OneLeaf) else _planes(route, tables, scale, route.x == node.x)
    made |= dict(zip(tree, _route(planes, lanes, number), strict=True))
    kept = (node.constants, node.middles, node.loose, node.steps, node.gaps, node.margins, node.bias)
    made |= {name: tables[name] for name in kept}
    made[node.centres], made[node.slopes] = (_full(tables[t], full) for t in (node.centres, node.slopes))
    made[node.axes] = _axes(tables[node.axes], rank, full)
    made[node.squares] = _squares(tables[node.squares], width, lanes) if orders > 1 else np.zeros(1)
    made[node.cubes] = _cubes(tables[node.cubes], width, lanes) if orders > 2 else np.zeros(1)
    return ir.TiledTaylor(
        node.out, x, node.exact, *scaling, *tree, node.centres,
        node.constants, node.slopes, node.axes, node.squares, node.cubes, node.middles, node.loose,
        node.steps, node.gaps, node.margins, node.bias, node.gates, node.gamma, node.slack, rank, lanes,
        node.fades,
    ), made  # fmt: skip


def vector_lanes(d: int, number: Number) -> int:
    """Numbers that tables are filled up to: those of a vector, or of a half where that holds a row."""
    lanes = (MANY_BYTES if d >= MANY_FEATURES else FEW_BYTES) // SIZES[number]
    return lanes // 2 if d <= lanes // 2 else lanes


class _Planes(NamedTuple):
    """A tree of planes over scaled rows."""

    planes: Array
    thresholds: Array
    children: NDArray[Any]


class _Scale(NamedTuple):
    """out = (x - shift) * factor + offset."""

    shift: Array
    factor: Array
    offset: Array

    def filled_up(self, full: int) -> list[Array]:
        """With what changes nothing."""
        ones = np.ones(full - len(self.factor))
        return [_full(self.shift, full), np.concatenate([self.factor, ones]), _full(self.offset, full)]


def _scale(program: Program, node: ir.TaylorSum) -> tuple[str, _Scale]:
    """The value before it is scaled, and the scaling."""
    scale = maker(program, node.x)
    d = program.tables[node.centres].shape[1]
    if not isinstance(scale, ir.Scale):
        return node.x, _Scale(np.zeros(d), np.ones(d), np.zeros(d))
    names = (scale.shift, scale.factor, scale.offset)
    return scale.x, _Scale(*(program.tables[name].astype(np.float64) for name in names))


def _planes(route: ir.PlaneRoute, tables: Any, scale: _Scale, sees_scaled: bool) -> _Planes:
    """Planes as they lie for scaled rows; rounding may move them, for any leaf will do."""
    planes, centre = tables[route.planes].astype(np.float64), tables[route.centre]
    if sees_scaled:
        return _Planes(planes, tables[route.thresholds] + planes @ centre, tables[route.children])
    moved = tables[route.thresholds] - planes @ (scale.shift - centre)
    planes = np.divide(planes, scale.factor, out=np.zeros_like(planes), where=scale.factor != 0)
    return _Planes(planes, moved + planes @ scale.offset, tables[route.children])


def _route(found: _Planes | None, lanes: int, number: Number) -> list[NDArray[Any]]:
    """Planes, thresholds, children and sides."""
    none = np.zeros(1, dtype=np.uint8)
    if found is None:
        return [np.zeros(1), np.zeros(1), none, none]
    count, d = found.planes.shape
    beside = vector_lanes(min(count, MANY_FEATURES - 1), number)
    if count >= MOST_LEAVES or filled_up(count, beside) * d > MOST_PRODUCTS:
        return [_full(found.planes, filled_up(d, lanes)), found.thresholds, found.children, none]
    room = -count % beside
    planes = np.pad(found.planes, ((0, room), (0, 0))).reshape(-1, beside, d).transpose(0, 2, 1)
    return [planes, _full(found.thresholds, count + room), found.children, sides_of(found.children)]


def _full(table: NDArray[Any], full: int) -> Array:
    """Rows with zeros up to a length."""
    room = [(0, 0)] * (table.ndim - 1) + [(0, full - table.shape[-1])]
    return np.pad(table, room).astype(np.float64)


def _axes(axes: NDArray[Any], rank: int, full: int) -> Array:
    """Axes that fill up a group are zero."""
    return np.pad(_full(axes, full), ((0, 0), (0, -rank % ROWS), (0, 0))) if rank else np.zeros(1)


def _squares(squares: NDArray[Any], width: int, lanes: int) -> Array:
    made = np.zeros((len(squares), square_size(width, lanes)))
    for packed, lie in square_rows(width, lanes):
        made[:, lie] = squares[:, packed]
    return made


def _cubes(cubes: NDArray[Any], width: int, lanes: int) -> Array:
    made = np.zeros((len(cubes), cube_size(width, lanes)))
    for packed, lie in cube_rows(width, lanes):
        made[:, lie] = cubes[:, packed]
    return made

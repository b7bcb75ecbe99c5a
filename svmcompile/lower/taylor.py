"""tile_taylor: a scaling, a route and Taylor polynomials become one node, for vector instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.own import fresh
from svmcompile.ir.program import Number, Program
from svmcompile.ir.tiled_taylor import (
    ROWS,
    cube_rows,
    cube_size,
    filled_up,
    sides_of,
    square_rows,
    square_size,
)
from svmcompile.kernel import Array

Tables = dict[str, NDArray[Any]]

SIZES: dict[Number, int] = {"f32": 4, "f64": 8}
FEW_BYTES, MANY_BYTES = 32, 64  # of a vector, for rows of few and of many features
MANY_FEATURES = 48
# All planes at once cost a multiplication per plane and feature but no jump; walking costs, level by
# level, a sum across lanes and often a jump that was not foreseen.
MOST_LEAVES, MOST_PRODUCTS = 32, 1024


def tile_taylor(program: Program, node: ir.TaylorSum, number: Number) -> tuple[ir.Node, Tables] | None:
    """The node and its tables; None where the route is of another kind."""
    route = next((item for item in program.body if item.out == node.leaf), None)
    if not isinstance(route, (ir.OneLeaf, ir.PlaneRoute)) or route.x != node.x:
        return None
    tables, d = program.tables, program.tables[node.centres].shape[1]
    lanes = vector_lanes(d, number)
    full, orders = filled_up(d, lanes), len(tables[node.margins])
    rank = tables[node.axes].shape[1] if tables[node.axes].ndim > 1 and orders > 1 else 0
    width, taken = rank or d, [*tables]

    def own(end: str) -> str:
        taken.append(fresh(node.out, end, taken))
        return taken[-1]

    x, scale = _scale(program, node, full)
    scaling = [own(end) for end in ("shift", "factor", "offset")]
    route_names = [own(end) for end in ("planes", "thresholds", "children", "sides")]
    made: Tables = dict(zip(scaling, scale, strict=True))
    made |= dict(zip(route_names, _route(route, tables, d, lanes, number), strict=True))
    kept = (node.constants, node.middles, node.loose, node.steps, node.gaps, node.margins, node.bias)
    made |= {name: tables[name] for name in kept}
    made[node.centres], made[node.slopes] = (_full(tables[t], full) for t in (node.centres, node.slopes))
    made[node.axes] = _axes(tables[node.axes], rank, full)
    made[node.squares] = _squares(tables[node.squares], width, lanes) if orders > 1 else np.zeros(1)
    made[node.cubes] = _cubes(tables[node.cubes], width, lanes) if orders > 2 else np.zeros(1)
    fields = (
        node.centres, node.constants, node.slopes, node.axes, node.squares, node.cubes, node.middles,
        node.loose, node.steps, node.gaps, node.margins, node.bias, node.gates, node.gamma, node.slack,
    )  # fmt: skip
    return ir.TiledTaylor(node.out, x, node.exact, *scaling, *route_names, *fields, rank, lanes), made


def vector_lanes(d: int, number: Number) -> int:
    """Numbers that tables are filled up to: those of a vector, or of a half where that holds a row."""
    lanes = (MANY_BYTES if d >= MANY_FEATURES else FEW_BYTES) // SIZES[number]
    return lanes // 2 if d <= lanes // 2 else lanes


def _scale(program: Program, node: ir.TaylorSum, full: int) -> tuple[str, list[Array]]:
    """The value before it is scaled, and the scaling."""
    scale = next((item for item in program.body if item.out == node.x), None)
    if not isinstance(scale, ir.Scale):
        return node.x, [np.zeros(full), np.ones(full), np.zeros(full)]
    shift, factor, offset = (program.tables[name] for name in (scale.shift, scale.factor, scale.offset))
    return scale.x, [
        _full(shift, full),
        np.concatenate([factor, np.ones(full - len(factor))]),
        _full(offset, full),
    ]


def _route(
    route: ir.OneLeaf | ir.PlaneRoute, tables: Any, d: int, lanes: int, number: Number
) -> list[NDArray[Any]]:
    """Planes, thresholds, children and sides."""
    none = np.zeros(1, dtype=np.uint8)
    if isinstance(route, ir.OneLeaf):
        return [np.zeros(1), np.zeros(1), none, none]
    planes = tables[route.planes].astype(np.float64)
    thresholds = tables[route.thresholds] + planes @ tables[route.centre]
    children, count = tables[route.children], len(planes)
    beside = vector_lanes(min(count, MANY_FEATURES - 1), number)
    if count >= MOST_LEAVES or filled_up(count, beside) * d > MOST_PRODUCTS:
        return [_full(planes, filled_up(d, lanes)), thresholds, children, none]
    room = -count % beside
    planes = np.pad(planes, ((0, room), (0, 0))).reshape(-1, beside, d)
    return [planes.transpose(0, 2, 1), _full(thresholds, count + room), children, sides_of(children)]


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

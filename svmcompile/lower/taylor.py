"""Taylor polynomials for C: tiled, by feature for rows that are mostly zeros, votes in lanes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import layout
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.graph import Tables, fresh, maker
from svmcompile.ir.kernel import Array
from svmcompile.ir.program import Program
from svmcompile.lower.bounded import lost_of, prepare_for, upwards
from svmcompile.lower.sums import LANES, Lowered, class_order, filled, in_lanes, picked

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
    full, orders = layout.filled_up(d, lanes), len(tables[node.margins])
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
    for name in (node.centres, node.slopes):
        made[name] = filled(tables[name].astype(np.float64), full)
    made[node.axes] = made[node.squares] = made[node.cubes] = np.zeros(1)
    if rank:  # axes that fill up a group are zero
        axes = filled(tables[node.axes].astype(np.float64), full)
        made[node.axes] = np.pad(axes, ((0, 0), (0, -rank % layout.ROWS), (0, 0)))
    if orders > 1:
        rows, size = layout.square_rows(width, lanes), layout.square_size(width, lanes)
        made[node.squares] = _laid_out(tables[node.squares], rows, size)
    if orders > 2:
        rows, size = layout.cube_rows(width, lanes), layout.cube_size(width, lanes)
        made[node.cubes] = _laid_out(tables[node.cubes], rows, size)
    return ir.TiledTaylor(
        node.out, x, node.exact, *scaling, *tree, node.centres,
        node.constants, node.slopes, node.axes, node.squares, node.cubes, node.middles, node.loose,
        node.steps, node.gaps, node.margins, node.bias, node.gates, node.gamma, node.slack, rank, lanes,
        node.fades,
    ), made  # fmt: skip


def vector_lanes(d: int, number: Number) -> int:
    """Numbers that tables are filled up to: those of a vector, or of a half where that holds a row."""
    lanes = (MANY_BYTES if d >= MANY_FEATURES else FEW_BYTES) // BYTES[number]
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
        return [filled(self.shift, full), np.concatenate([self.factor, ones]), filled(self.offset, full)]


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
    if count >= MOST_LEAVES or layout.filled_up(count, beside) * d > MOST_PRODUCTS:
        return [filled(found.planes, layout.filled_up(d, lanes)), found.thresholds, found.children, none]
    thresholds = _filled_lanes(found.thresholds, beside)
    return [in_lanes(found.planes, beside), thresholds, found.children, layout.sides_of(found.children)]


def _laid_out(table: NDArray[Any], rows: Iterable[tuple[Any, Any]], size: int) -> Array:
    """Forms whose rows, given as where they are packed and where they lie, are filled up with zeros."""
    made = np.zeros((len(table), size))
    for packed, lie in rows:
        made[:, lie] = table[:, packed]
    return made


def pick_taylor(program: Program, node: ir.TaylorSum, number: Number, profile: str) -> Lowered:
    """The node and its tables."""
    tables = program.tables
    lanes, orders = LANES[number] if profile == "host" else 1, len(tables[node.margins])
    axes = tables[node.axes][0].T if orders > 1 else np.zeros((len(tables[node.centres][0]), 0))
    rank = axes.shape[1]
    names = fresh(node.out, "columns", [*tables]), fresh(node.out, "starts", [*tables])
    columns = np.column_stack([axes, tables[node.centres][0], tables[node.slopes][0]])
    columns = np.pad(columns, ((0, 0), (0, -(rank + layout.LAST) % layout.column_lanes(lanes))))
    made: Tables = {names[0]: columns, names[1]: tables[node.centres][0] @ columns}
    kept = (node.constants, node.middles, node.loose, node.steps, node.gaps, node.margins, node.bias)
    made |= {name: tables[name] for name in kept}
    made[node.squares] = made[node.cubes] = np.zeros(1)
    if orders > 1:
        rows = layout.triangle_rows(rank, lanes)
        made[node.squares] = _laid_out(tables[node.squares], rows, layout.grouped_size(rank, lanes))
    if orders > 2:
        rows = layout.pyramid_rows(rank, lanes)
        made[node.cubes] = _laid_out(tables[node.cubes], rows, layout.pyramid_size(rank, lanes))
    picked_taylor = ir.PickedTaylor(
        node.out, node.x, node.exact, *names, node.constants, node.squares, node.cubes, node.middles,
        node.loose, node.steps, node.gaps, node.margins, node.bias, node.gates, node.gamma, node.slack,
        rank, lanes,
    )  # fmt: skip
    return [picked_taylor], made


def lay_out_vote(program: Program, node: ir.TaylorVote, number: Number, profile: str) -> Lowered:
    """The machine nodes and tables of a vote; bounds are rounded upwards."""
    prepare, made, _ = prepare_for(program, node, number, moves=False)
    tables = {name: program.tables[name] for name in ir.table_names(node)}
    lost = np.array([0.0, lost_of(tables[node.bias], number)])
    for name in (node.rounding, node.closer):
        tables[name] = tables[name] + lost
    for name in (node.gaps, node.margins, node.loose, node.rounding, node.closer):
        tables[name] = upwards(tables[name], number)
    vote = replace(node, x=prepare.out)
    if profile == "host":
        vote = _in_blocks(vote, tables, LANES[number])
    return [prepare, vote], made | tables


def _in_blocks(node: ir.TaylorVote, tables: Tables, lanes: int) -> ir.TaylorVote:
    """The vote with its tables in blocks of lanes."""
    order = class_order(node.counts, lanes)
    tables[node.vectors] = in_lanes(picked(tables[node.vectors][:, :, 0], order), lanes)
    tables[node.weights] = picked(tables[node.weights].T, order).T
    if tables[node.norms].any():
        tables[node.norms] = picked(tables[node.norms][:, None], order)[:, 0]
    tables[node.guess_weights] = _filled_lanes(tables[node.guess_weights].T, lanes)
    for name in (node.guess_bias, node.offsets, node.constants, node.margins, node.gaps):
        tables[name] = _filled_lanes(tables[name], lanes)
    if tables[node.starts].ndim > 1:
        others = len(node.counts) - 1
        parts = tables[node.starts][:, :others], tables[node.starts][:, others:]
        tables[node.starts] = np.concatenate([_filled_lanes(part, lanes) for part in parts], axis=1)
    tables[node.slopes] = _filled_lanes(tables[node.slopes].swapaxes(1, 2), lanes)
    if node.rank:
        tables[node.axes] = _filled_lanes(tables[node.axes].swapaxes(1, 2), lanes)
        for name in (node.middles, node.loose):
            tables[name] = _filled_lanes(tables[name], lanes)
    if tables[node.squares].ndim > 1:
        tables[node.squares] = _filled_rows_of_vote(tables[node.squares], lanes)
    return replace(node, counts=tuple(count + -count % lanes for count in node.counts))


def _filled_lanes(table: Array, lanes: int) -> Array:
    """Zeros up to whole lanes, after the last index."""
    return filled(table, layout.filled_up(table.shape[-1], lanes))


def _filled_rows_of_vote(triangles: Array, lanes: int) -> Array:
    """Lower triangles with every row filled up to whole lanes."""
    size = (math.isqrt(8 * triangles.shape[-1] + 1) - 1) // 2
    found = np.zeros((*triangles.shape[:-1], sum(row + -row % lanes for row in range(1, size + 1))))
    found[..., layout.triangle_places(size, lanes)] = triangles
    return found

"""`TiledTaylor`, told as the nodes it stands for: type and meaning follow. Also its layouts, both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.meaning import Env, run
from svmcompile.ir.needs import features, need, shapes
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import Types, result_type

Tables = Mapping[str, NDArray[Any]]
Made = dict[str, NDArray[Any]]

BITS = 4  # planes that one entry of `sides` is about
ROWS = 4  # of squares that lie side by side in `cubes`


class Untiled(NamedTuple):
    """The nodes a `TiledTaylor` stands for, in order, and their tables."""

    scale: ir.Scale
    route: ir.PlaneRoute | ir.OneLeaf
    taylor: ir.TaylorSum
    tables: Made


def filled_up(count: int, lanes: int) -> int:
    """Numbers that whole vectors hold."""
    return count + -count % lanes


def fours(width: int, lanes: int) -> list[tuple[int, int]]:
    """The first row of each four of a triangle, and how many numbers each of its rows has."""
    return [(first, filled_up(min(first + ROWS, width), lanes)) for first in range(0, width, ROWS)]


def square_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Where row b of a lower triangle lies packed, and where in fours of rows."""
    at = 0
    for first, size in fours(width, lanes):
        for b in range(first, first + ROWS):
            if b < width:
                packed = b * (b + 1) // 2
                yield slice(packed, packed + b + 1), slice(at, at + b + 1)
            at += size


def square_size(width: int, lanes: int) -> int:
    return sum(ROWS * size for _, size in fours(width, lanes))


def cube_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Where the coefficients of y_c y_b y_a for all a lie packed, and where in fours of rows b."""
    at = 0
    for first, size in fours(width, lanes):
        for c in range(first, width):
            for b in range(first, first + ROWS):
                if b <= c:
                    packed = c * (c + 1) * (c + 2) // 6 + b * (b + 1) // 2
                    yield slice(packed, packed + b + 1), slice(at, at + b + 1)
                at += size


def cube_size(width: int, lanes: int) -> int:
    return sum((width - first) * ROWS * size for first, size in fours(width, lanes))


def untiled(node: ir.TiledTaylor, tables: Tables, d: int) -> Untiled:
    """The nodes, with the tables as they have them."""
    width, made = node.rank or d, dict(tables)
    for name in (node.shift, node.factor, node.offset):
        made[name] = tables[name][:d]
    for name in (node.centres, node.slopes):
        made[name] = tables[name][:, :d]
    if node.rank:
        made[node.axes] = tables[node.axes][:, : node.rank, :d]
    if len(node.gates) > 0:
        made[node.squares] = _packed_squares(tables[node.squares], width, node.lanes)
    if len(node.gates) > 1:
        made[node.cubes] = _packed_cubes(tables[node.cubes], width, node.lanes)
    scaled, leaf, centre = f"{node.out} z", f"{node.out} leaf", f"{node.out} centre"
    made[centre] = np.zeros(d, dtype=tables[node.centres].dtype)
    made[node.planes] = _planes(node, tables, d)
    made[node.thresholds] = tables[node.thresholds][: len(tables[node.children])]
    taylor = ir.TaylorSum(
        node.out, scaled, leaf, node.exact, node.centres, node.constants, node.slopes, node.axes,
        node.squares, node.cubes, node.middles, node.loose, node.steps, node.gaps, node.margins, node.bias,
        node.gates, node.gamma, node.slack, fades=node.fades,
    )  # fmt: skip
    route = ir.PlaneRoute(leaf, scaled, node.planes, node.thresholds, node.children, centre)
    scale = ir.Scale(scaled, node.x, node.shift, node.factor, node.offset)
    one = len(tables[node.centres]) == 1
    return Untiled(scale, ir.OneLeaf(leaf, scaled) if one else route, taylor, made)


def _packed_squares(table: NDArray[Any], width: int, lanes: int) -> NDArray[Any]:
    return np.concatenate([table[:, lie] for _, lie in square_rows(width, lanes)], axis=1)


def _packed_cubes(table: NDArray[Any], width: int, lanes: int) -> NDArray[Any]:
    packed = np.zeros((len(table), width * (width + 1) * (width + 2) // 6), dtype=table.dtype)
    for place, lie in cube_rows(width, lanes):
        packed[:, place] = table[:, lie]
    return packed


def _planes(node: ir.TiledTaylor, tables: Tables, d: int) -> NDArray[Any]:
    planes, count = tables[node.planes], len(tables[node.children])
    if planes.ndim == 3:
        return np.asarray(planes.transpose(0, 2, 1).reshape(-1, d)[:count])
    return np.asarray(planes[:, :d]) if planes.ndim == 2 else planes


def sides_of(children: NDArray[Any]) -> NDArray[np.uint32]:
    """For each four planes and each outcome of them, bit by bit, the leaves that it leaves."""
    count, leaves = len(children), len(children) + 1
    fours = -(-count // BITS)
    reached = np.zeros((count, 2), dtype=np.uint64)
    for node in range(count - 1, -1, -1):  # children come after their parents
        for side, child in enumerate(children[node].tolist()):
            below = reached[child].sum() if child >= 0 else 1 << ~child
            reached[node, side] = below
    every = np.uint64((1 << leaves) - 1)
    sides = np.full((fours, 1 << BITS), every, dtype=np.uint64)
    for node in range(count):
        above = np.arange(1 << BITS) >> node % BITS & 1
        sides[node // BITS] &= every ^ reached[node][1 - above]
    return sides.astype(np.uint32)


@result_type.register
def _(node: ir.TiledTaylor, types: Types, tables: Tables) -> Type:
    d, lanes, leaves = features(node, types), node.lanes, len(tables[node.centres])
    need(lanes > 0 and 0 <= node.rank <= d, "lanes or axes make no sense")
    full, width = filled_up(d, lanes), node.rank or d
    shapes(
        tables,
        shift=(node.shift, (full,)),
        factor=(node.factor, (full,)),
        offset=(node.offset, (full,)),
        centres=(node.centres, (leaves, full)),
        slopes=(node.slopes, (leaves, full)),
        squares=(node.squares, (leaves, square_size(width, lanes)) if node.gates else (1,)),
        cubes=(node.cubes, (leaves, cube_size(width, lanes)) if len(node.gates) > 1 else (1,)),
    )
    axes = tables[node.axes].shape
    need(not node.rank or (axes[0], axes[2:]) == (leaves, (full,)), "axes are not filled up")
    found = untiled(node, tables, d)
    known = {**types, found.scale.out: types[node.x]}
    known[found.route.out] = result_type(found.route, known, found.tables)
    need(known[found.route.out] == Type(Kind.INDEX, leaves), "leaves and planes do not fit")
    if tables[node.planes].ndim == 3:
        need(np.array_equal(tables[node.sides], sides_of(tables[node.children])), "sides do not fit")
    return result_type(found.taylor, known, found.tables)


@run.register
def _(node: ir.TiledTaylor, env: Env, tables: Tables) -> NDArray[Any]:
    found, values = around(node, env, tables)
    return run(found.taylor, values, found.tables)


def around(node: ir.TiledTaylor, env: Env, tables: Tables) -> tuple[Untiled, dict[str, NDArray[Any]]]:
    """The nodes a tiled one stands for, and the values that the last of them reads."""
    found, values = untiled(node, tables, env[node.x].shape[1]), dict(env)
    for item in (found.scale, found.route):
        values[item.out] = run(item, values, found.tables)
    return found, values

"""`PickedTaylor`, told as the nodes it stands for: type and meaning follow. Also its layouts, both ways."""

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
from svmcompile.ir.tiled_taylor import filled_up

Tables = Mapping[str, NDArray[Any]]
Made = dict[str, NDArray[Any]]

LAST = 2  # lanes behind those of the axes: centre and slope
FEW_LANES = 4  # of columns in plain code


def column_lanes(lanes: int) -> int:
    """Groups that columns are filled up to."""
    return max(lanes, FEW_LANES)


class Unpicked(NamedTuple):
    """The nodes a `PickedTaylor` stands for, in order, and their tables."""

    leaf: ir.OneLeaf
    taylor: ir.TaylorSum
    tables: Made


def triangle_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Where row b of a lower triangle lies packed, and where with rows filled up."""
    packed = at = 0
    for b in range(width):
        yield slice(packed, packed + b + 1), slice(at, at + b + 1)
        packed, at = packed + b + 1, at + filled_up(b + 1, lanes)


def triangle_size(width: int, lanes: int) -> int:
    return sum(filled_up(b + 1, lanes) for b in range(width))


def pyramid_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """The same for the triangles up to each c, one after the other."""
    packed = at = 0
    for c in range(width):
        for own, lie in triangle_rows(c + 1, lanes):
            yield _moved(own, packed), _moved(lie, at)
        packed, at = packed + (c + 1) * (c + 2) // 2, at + triangle_size(c + 1, lanes)


def pyramid_size(width: int, lanes: int) -> int:
    return sum(triangle_size(c + 1, lanes) for c in range(width))


def _moved(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def unpicked(node: ir.PickedTaylor, tables: Tables) -> Unpicked:
    """The nodes, with the tables as they have them."""
    columns, made = tables[node.columns], dict(tables)
    leaf, centres, slopes, axes = (f"{node.out} {end}" for end in ("leaf", "centres", "slopes", "axes"))
    made[axes] = columns[:, : node.rank].T[None] if node.rank else np.zeros(1)
    made[centres], made[slopes] = columns[:, node.rank][None], columns[:, node.rank + 1][None]
    if len(node.gates) > 0:
        made[node.squares] = _packed(tables[node.squares], triangle_rows(node.rank, node.lanes))
    if len(node.gates) > 1:
        made[node.cubes] = _packed(tables[node.cubes], pyramid_rows(node.rank, node.lanes))
    taylor = ir.TaylorSum(
        node.out, node.x, leaf, node.exact, centres, node.constants, slopes, axes, node.squares, node.cubes,
        node.middles, node.loose, node.steps, node.gaps, node.margins, node.bias, node.gates, node.gamma,
        node.slack, True,
    )  # fmt: skip
    return Unpicked(ir.OneLeaf(leaf, node.x), taylor, made)


def _packed(table: NDArray[Any], rows: Iterator[tuple[slice, slice]]) -> NDArray[Any]:
    return np.concatenate([table[:, lie] for _, lie in rows], axis=1)


@result_type.register
def _(node: ir.PickedTaylor, types: Types, tables: Tables) -> Type:
    d = features(node, types)
    need(node.lanes > 0 and 0 <= node.rank <= d, "lanes or axes make no sense")
    need(bool(node.rank) == bool(node.gates), "axes are for orders from 2 on")
    full = filled_up(node.rank + LAST, column_lanes(node.lanes))
    sizes = triangle_size(node.rank, node.lanes), pyramid_size(node.rank, node.lanes)
    shapes(
        tables,
        columns=(node.columns, (d, full)),
        starts=(node.starts, (full,)),
        squares=(node.squares, (1, sizes[0]) if node.gates else (1,)),
        cubes=(node.cubes, (1, sizes[1]) if len(node.gates) > 1 else (1,)),
    )
    found = unpicked(node, tables)
    known = {**types, found.leaf.out: Type(Kind.INDEX, 1)}
    return result_type(found.taylor, known, found.tables)


@run.register
def _(node: ir.PickedTaylor, env: Env, tables: Tables) -> NDArray[Any]:
    found, values = seen_by(node, env, tables)
    return run(found.taylor, values, found.tables)


def seen_by(node: ir.PickedTaylor, env: Env, tables: Tables) -> tuple[Unpicked, dict[str, NDArray[Any]]]:
    """The nodes a picked one stands for, and the values that the last of them reads."""
    found = unpicked(node, tables)
    return found, {**env, found.leaf.out: run(found.leaf, env, found.tables)}

"""pick_taylor: a Taylor polynomial of rows that are mostly zeros, laid out feature by feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import fresh
from svmcompile.ir.kernel import Array
from svmcompile.ir.layout import (
    LAST,
    column_lanes,
    pyramid_rows,
    pyramid_size,
    triangle_rows,
    triangle_size,
)
from svmcompile.ir.program import Program

Tables = dict[str, NDArray[Any]]
LANES: dict[Number, int] = {"f32": 16, "f64": 8}  # that fill the widest vectors


def pick_taylor(
    program: Program, node: ir.TaylorSum, number: Number, profile: str
) -> tuple[ir.PickedTaylor, Tables]:
    """The node and its tables."""
    tables = program.tables
    lanes, orders = LANES[number] if profile == "host" else 1, len(tables[node.margins])
    axes = tables[node.axes][0].T if orders > 1 else np.zeros((len(tables[node.centres][0]), 0))
    rank = axes.shape[1]
    names = fresh(node.out, "columns", [*tables]), fresh(node.out, "starts", [*tables])
    columns = np.column_stack([axes, tables[node.centres][0], tables[node.slopes][0]])
    columns = np.pad(columns, ((0, 0), (0, -(rank + LAST) % column_lanes(lanes))))
    made: Tables = {names[0]: columns, names[1]: tables[node.centres][0] @ columns}
    kept = (node.constants, node.middles, node.loose, node.steps, node.gaps, node.margins, node.bias)
    made |= {name: tables[name] for name in kept}
    made[node.squares] = made[node.cubes] = np.zeros(1)
    if orders > 1:
        rows = triangle_rows(rank, lanes)
        made[node.squares] = _filled(tables[node.squares], rows, triangle_size(rank, lanes))
    if orders > 2:
        rows = pyramid_rows(rank, lanes)
        made[node.cubes] = _filled(tables[node.cubes], rows, pyramid_size(rank, lanes))
    return ir.PickedTaylor(
        node.out, node.x, node.exact, *names, node.constants, node.squares, node.cubes, node.middles,
        node.loose, node.steps, node.gaps, node.margins, node.bias, node.gates, node.gamma, node.slack,
        rank, lanes,
    ), made  # fmt: skip


def _filled(table: NDArray[Any], rows: Iterator[tuple[slice, slice]], size: int) -> Array:
    made = np.zeros((1, size))
    for packed, lie in rows:
        made[:, lie] = table[:, packed]
    return made

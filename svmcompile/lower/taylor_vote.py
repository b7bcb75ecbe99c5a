"""A vote of Taylor polynomials for C: rows marked where they are not finite, tables in blocks of lanes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.kernel import Array
from svmcompile.ir.layout import triangle_places
from svmcompile.ir.nodes import Node, TaylorVote, table_names
from svmcompile.ir.program import Program
from svmcompile.lower.staged import class_order, in_lanes, lost_of, prepare_for, upwards
from svmcompile.lower.tiled import LANES, picked

Tables = dict[str, NDArray[Any]]


def lay_out_vote(
    program: Program, node: TaylorVote, number: Number, profile: str
) -> tuple[list[Node], Tables]:
    """The machine nodes and tables of a vote; bounds are rounded upwards."""
    prepare, made, _ = prepare_for(program, node, number, moves=False)
    tables = {name: program.tables[name] for name in table_names(node)}
    lost = np.array([0.0, lost_of(tables[node.bias], number)])
    for name in (node.rounding, node.closer):
        tables[name] = tables[name] + lost
    for name in (node.gaps, node.margins, node.loose, node.rounding, node.closer):
        tables[name] = upwards(tables[name], number)
    vote = replace(node, x=prepare.out)
    if profile == "host":
        vote = _in_blocks(vote, tables, LANES[number])
    return [prepare, vote], made | tables


def _in_blocks(node: TaylorVote, tables: Tables, lanes: int) -> TaylorVote:
    """The vote with its tables in blocks of lanes."""
    order = class_order(node.counts, lanes)
    tables[node.vectors] = in_lanes(picked(tables[node.vectors][:, :, 0], order), lanes)
    tables[node.weights] = picked(tables[node.weights].T, order).T
    if tables[node.norms].any():
        tables[node.norms] = picked(tables[node.norms][:, None], order)[:, 0]
    tables[node.guess_weights] = _filled(tables[node.guess_weights].T, lanes)
    for name in (node.guess_bias, node.offsets, node.constants, node.margins, node.gaps):
        tables[name] = _filled(tables[name], lanes)
    if tables[node.starts].ndim > 1:
        others = len(node.counts) - 1
        parts = tables[node.starts][:, :others], tables[node.starts][:, others:]
        tables[node.starts] = np.concatenate([_filled(part, lanes) for part in parts], axis=1)
    tables[node.slopes] = _filled(tables[node.slopes].swapaxes(1, 2), lanes)
    if node.rank:
        tables[node.axes] = _filled(tables[node.axes].swapaxes(1, 2), lanes)
        for name in (node.middles, node.loose):
            tables[name] = _filled(tables[name], lanes)
    if tables[node.squares].ndim > 1:
        tables[node.squares] = _filled_rows(tables[node.squares], lanes)
    return replace(node, counts=tuple(count + -count % lanes for count in node.counts))


def _filled(table: Array, lanes: int) -> Array:
    """Zeros up to whole lanes, after the last index."""
    after = [(0, 0)] * (table.ndim - 1) + [(0, -table.shape[-1] % lanes)]
    return np.pad(table, after)


def _filled_rows(triangles: Array, lanes: int) -> Array:
    """Lower triangles with every row filled up to whole lanes."""
    size = (math.isqrt(8 * triangles.shape[-1] + 1) - 1) // 2
    found = np.zeros((*triangles.shape[:-1], sum(row + -row % lanes for row in range(1, size + 1))))
    found[..., triangle_places(size, lanes)] = triangles
    return found

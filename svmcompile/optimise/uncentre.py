"""uncentre: nodes that centre a row read it as it is, where that costs no accuracy to speak of.

Centring asks for a copy of the row, which a small processor may have no room for. It pays where
features have a large mean; where rows about their centre are not much shorter than rows as they
come, the centre is folded into the tables instead. For the device profile; the meaning stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.graph import own_tables
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes import (
    Affine,
    KernelSum,
    LeafAffine,
    LeafSums,
    Node,
    PairSum,
    PathSum,
    PlaneLists,
    PlaneRoute,
    Scale,
    table_names,
)
from svmcompile.ir.program import Program
from svmcompile.optimise.rewrite import all_finite, own_scale, rewrite

Tables = dict[str, NDArray[Any]]
SUMS = (KernelSum, PairSum, PathSum, LeafSums)
PLANES = (Affine, PlaneRoute, LeafAffine, PlaneLists)
LONGER = 4.0  # times as long may products of an uncentred row be, which is two bits of rounding
SHORT = 8.0  # or so long, in units of an RBF kernel's exponent, whatever they were before


def uncentre(program: Program) -> Program:
    """Centres and shifts folded into the tables, node by node."""
    program = own_tables(program)
    for node in program.body:
        if isinstance(node, SUMS) and node.kernel.kind == "rbf":
            program = _without_shift(program, node)
        elif isinstance(node, PLANES) and program.tables[node.centre].any():
            program = _without_centre(program, node)
    return program


def _without_shift(program: Program, node: Any) -> Program:
    """An RBF sum behind a scaling by one factor: its vectors move instead of the row."""
    scale = own_scale(program, node.x)
    if not isinstance(scale, Scale) or program.tables[scale.offset].any():
        return program
    shift, factor = program.tables[scale.shift], program.tables[scale.factor]
    vectors = program.tables[node.vectors]
    if not shift.any() or not vectors.size or not (factor == factor[0]).all():
        return program
    moved = vectors + shift * factor
    before, after = (float(np.square(part).sum(axis=1).max()) for part in (vectors, moved))
    if after > LONGER * before and node.kernel.gamma * np.log2(np.e) * after > SHORT:
        return program
    return _replaced(program, node, {scale.shift: np.zeros_like(shift), node.vectors: moved})


def _without_centre(program: Program, node: Any) -> Program:
    """Planes about a centre: what the centre adds goes to the thresholds or the bias."""
    centre = program.tables[node.centre]
    rows = _rows_at(program, node)
    if not len(rows) or np.abs(rows).sum() > LONGER * np.abs(rows - centre).sum():
        return program
    made: Tables = {node.centre: np.zeros_like(centre)}
    if isinstance(node, (PlaneRoute, PlaneLists)):
        planes = program.tables[node.planes].astype(np.float64)
        made[node.thresholds] = program.tables[node.thresholds] + planes @ centre
    else:
        made[node.bias] = program.tables[node.bias] - _at_centre(program, node, centre)
    return _replaced(program, node, made)


def _at_centre(program: Program, node: Affine | LeafAffine, centre: Array) -> Array:
    """What the functions of a node are at its centre, in the shape of the bias."""
    values = program.tables[node.weights].astype(np.float64) @ centre
    if isinstance(node, Affine):
        return np.asarray(values)
    starts, sums = (program.tables[name].astype(np.int64) for name in (node.starts, node.sums))
    found = np.zeros_like(program.tables[node.bias], dtype=np.float64)
    leaves = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    np.add.at(found, (leaves, sums), values * program.tables[node.units])
    return found


def _rows_at(program: Program, node: Any) -> Array:
    """Rows as the node reads them: the program's probes, on their way."""
    probes = program.probes.reshape(-1, program.n_features)
    if not len(probes):
        return probes
    return np.asarray(interpret_values(program, probes, {node.x})[node.x], dtype=np.float64)


def _replaced(program: Program, node: Node, tables: Tables) -> Program:
    if not all_finite(tables):
        return program
    names = set(tables) & {name for item in program.body for name in table_names(item)}
    return rewrite(program, program.body, {name: tables[name] for name in names})

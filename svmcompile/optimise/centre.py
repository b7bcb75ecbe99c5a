"""RBF sums move to the mean of their vectors; for devices nodes read a row as it is, where that is safe.

An RBF kernel does not change when x and every vector move together. About the
mean, |x|^2 - 2 x.s + |s|^2 does not cancel, so the fast form is safe in float32.

Centring asks for a copy of the row, which a small processor may have no room for. It pays where
features have a large mean; where rows about their centre are not much shorter than rows as they
come, the centre is folded into the tables instead. For the device profile; the meaning stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, split_shift
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.graph import Tables, fresh, own_tables
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import SPARSE_ZEROS
from svmcompile.ir.program import Program
from svmcompile.optimise.fold import all_finite, own_scale, rewrite

Sum = ir.KernelSum | ir.PairSum | ir.PathSum | ir.LeafSums
SUMS = (ir.KernelSum, ir.PairSum, ir.PathSum, ir.LeafSums)
PLANES = (ir.Affine, ir.PlaneRoute, ir.LeafAffine, ir.PlaneLists)
LONGER = 4.0  # times as long may products of an uncentred row be, which is two bits of rounding
SHORT = 8.0  # or so long, in units of an RBF kernel's exponent, whatever they were before


def centre_kernels(program: Program) -> Program:
    """Each RBF sum behind a `Scale` of its own whose offset is zero.

    Those in double that settle labels are not moved: they are taken by differences.
    """
    types = infer_types(program)
    for node in program.body:
        if not isinstance(node, SUMS) or node.kernel.kind != "rbf":
            continue
        if not in_double(node, types) or _is_sparse(program.tables[node.vectors]):
            program = _centre_one(program, node)
    return program


def _centre_one(program: Program, node: Sum) -> Program:
    vectors = program.tables[node.vectors]
    scale = own_scale(program, node.x)
    old_shift, factor, offset = _scaling(program, scale, vectors.shape[1])
    with np.errstate(all="ignore"):
        mean = _mean(vectors, old_shift, offset)
        shift, moved = split_shift(old_shift, factor, offset - mean)
        # z = (x - shift) factor + moved + mean, so the vectors lose `moved + mean`.
        centred = vectors - (moved + mean)
    if scale and not offset.any() and (shift == old_shift).all():
        return program
    new = _new_scale(program, node, scale)
    tables: Tables = dict(zip(ir.table_names(new), (shift, factor, np.zeros_like(factor)), strict=True))
    tables[node.vectors] = centred
    if not all_finite(tables):
        return program
    body: list[ir.Node] = []
    for item in program.body:
        body += [new, replace(node, x=new.out)] if item is node else [item]
    return rewrite(program, body, tables)


def _mean(vectors: Array, shift: Array, offset: Array) -> Array:
    """Where to centre: at zero if most features of most vectors are, so that zeros stay zeros."""
    plain = not shift.any() and not offset.any()
    if not vectors.size or (plain and _is_sparse(vectors)):
        return np.zeros(vectors.shape[1])
    return np.asarray(vectors.mean(axis=0))


def _is_sparse(vectors: Array) -> bool:
    return bool(vectors.size and np.mean(vectors == 0) >= SPARSE_ZEROS)


def _scaling(program: Program, scale: ir.Scale | None, width: int) -> tuple[Array, Array, Array]:
    if scale is None:
        return np.zeros(width), np.ones(width), np.zeros(width)
    shift, factor, offset = (program.tables[name] for name in ir.table_names(scale))
    return shift, factor, offset


def _new_scale(program: Program, node: Sum, old: ir.Scale | None) -> ir.Scale:
    """A scaling under names of its own; those of the one it replaces are free."""
    values = {program.input.name, *(item.out for item in program.body if item is not old)}
    tables = set(program.tables) - set(ir.table_names(old) if old else ())
    names = [fresh(node.out, field, tables) for field in ("shift", "factor", "offset")]
    return ir.Scale(fresh(node.out, "x", values), old.x if old else node.x, *names)


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
    if not isinstance(scale, ir.Scale) or program.tables[scale.offset].any():
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
    if isinstance(node, (ir.PlaneRoute, ir.PlaneLists)):
        planes = program.tables[node.planes].astype(np.float64)
        made[node.thresholds] = program.tables[node.thresholds] + planes @ centre
    else:
        made[node.bias] = program.tables[node.bias] - _at_centre(program, node, centre)
    return _replaced(program, node, made)


def _at_centre(program: Program, node: ir.Affine | ir.LeafAffine, centre: Array) -> Array:
    """What the functions of a node are at its centre, in the shape of the bias."""
    values = program.tables[node.weights].astype(np.float64) @ centre
    if isinstance(node, ir.Affine):
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


def _replaced(program: Program, node: ir.Node, tables: Tables) -> Program:
    if not all_finite(tables):
        return program
    names = set(tables) & {name for item in program.body for name in ir.table_names(item)}
    return rewrite(program, program.body, {name: tables[name] for name in names})

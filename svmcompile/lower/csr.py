"""Sums over vectors that are held without their zeros, as C stores them: by feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.data.csr import canonical
from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import Tables, fresh, maker, plain_source
from svmcompile.ir.layout import compressed
from svmcompile.ir.leaf_layout import running, sums_of
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import whole
from svmcompile.lower.leaves import leaf_ends, leaf_places, leaf_weights, not_empty
from svmcompile.lower.sparse import stored_by_feature
from svmcompile.lower.sums import (
    LARGEST,
    LIMITS,
    SHAPES,
    Lowered,
    check_gamma,
    check_reach,
    half_norms,
    vector_unit,
)

FEW = 32  # vectors up to which lanes would mostly be filled up


def pack_leaves_compressed(program: Program, node: ir.CsrLeaves, number: Number, profile: str) -> Lowered:
    """The machine nodes and tables of leaf sums."""
    t, kernel, x = program.tables, node.kernel, node.x
    taken = {*t, *(item.out for item in program.body)}
    entries = t[node.values] * vector_unit(kernel)
    stored = compressed(t[node.vector_starts], t[node.columns], entries, infer_types(program)[x].width)
    folded = [node.starts, node.members, node.firsts, node.vector_starts, node.columns]
    made: Tables = {name: t[name] for name in folded} | {node.values: entries}
    names = {end: fresh(node.out, end, taken) for end in ("offsets", "ends", "places", "bias_firsts")}
    made[names["offsets"]] = np.array([0.0 if kernel.kind == "linear" else kernel.coef0])
    nodes: list[ir.Node] = []
    if kernel.kind == "rbf":
        check_gamma(kernel)
        check_reach(entries, number)
        made[names["offsets"]] = half_norms(stored, number)
        nodes, x = _prepared(program, node, number, made)
    order, starts = np.arange(len(stored)), whole(t[node.starts])
    made |= {
        names["ends"]: leaf_ends(node, program),
        names["places"]: starts if node.rule == "sum" else leaf_places(node, program),
        names["bias_firsts"]: running(sums_of(node.rule, np.diff(whole(t[node.firsts])))),
        node.weights: leaf_weights(node, program, order, 1),
        node.bias: not_empty(t[node.bias]),
    }
    vectors = (node.vector_starts, node.columns, node.values, names["offsets"])
    leaves = (node.starts, node.members, node.firsts, names["ends"], node.weights, names["places"])
    rest = (node.bias, names["bias_firsts"], node.rule, node.classes)
    shape = SHAPES.get(kernel.kind, "exp2")
    return [
        *nodes,
        ir.SparseLeaves(node.out, x, node.leaf, *vectors, *leaves, *rest, shape, kernel.degree),
    ], made


def _prepared(
    program: Program, node: ir.CsrLeaves, number: Number, made: Tables
) -> tuple[list[ir.Node], str]:
    """The row in units of an RBF kernel; a scaling before it goes into that."""
    unit, scale, width = (
        vector_unit(node.kernel),
        maker(program, node.x),
        infer_types(program)[node.x].width,
    )
    x, shift, factor = node.x, np.zeros(width), np.ones(width)
    if isinstance(scale, ir.Scale) and not program.tables[scale.offset].any():
        x, shift, factor = scale.x, program.tables[scale.shift], program.tables[scale.factor]
    taken = {*program.tables, *(item.out for item in program.body)}
    names = [fresh(node.out, end, taken) for end in ("z", "unit_shift", "unit_factor")]
    made |= {names[1]: shift, names[2]: factor * unit}
    return [ir.Prepare(names[0], x, names[1], names[2], LIMITS[number])], names[0]


def pack_compressed(program: Program, node: ir.CsrSum, number: Number, profile: str) -> Lowered:
    """The machine node and tables of one sum."""
    if profile == "device":
        raise EmitError(
            f"vectors of the sum %{node.out} are stored without zeros, with scratch memory; make them "
            "dense first"
        )
    # Rows whose zeros preprocessing has moved are read as it leaves them.
    x, factor = plain_source(program, node.x) or (node.x, np.ones(1))
    kernel, limit = node.kernel, LARGEST[number]
    t, unit, width = program.tables, vector_unit(kernel), infer_types(program)[node.x].width
    scaled = compressed(t[node.starts], t[node.columns], t[node.values] * unit, width)
    vectors: Any = canonical(scaled)  # what the unit made zero goes
    offsets = fresh(node.out, "offsets", t)
    tables: Tables = {node.weights: t[node.weights].T, node.bias: t[node.bias], node.values: vectors}
    tables[offsets] = np.array([0.0 if kernel.kind == "linear" else kernel.coef0])
    shape = SHAPES.get(kernel.kind, "exp2")
    if kernel.kind == "rbf":
        check_gamma(kernel)
        check_reach(vectors.data, number)
        tables[offsets], factor, limit = half_norms(vectors, number), factor * unit, LIMITS[number]
    named = (node.values, offsets, node.weights, node.bias)
    packed = ir.PackedSum(node.out, x, *named, node.counts, shape, kernel.degree)
    layout = "portable" if len(vectors) <= FEW else profile
    nodes, made = stored_by_feature(program, packed, tables, (x, factor, limit), number, layout)
    with np.errstate(over="ignore"):  # told where all tables are cast
        # How many lanes a block has is read off the number type.
        made[node.weights] = made[node.weights].astype(np.float32 if number == "f32" else np.float64)
    return nodes, made

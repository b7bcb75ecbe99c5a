"""Sums over vectors that are held without their zeros, as C stores them: by feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.data.csr import canonical
from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables, fresh, plain_source
from svmcompile.ir.layout import compressed
from svmcompile.ir.program import Program
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


def pack_compressed(program: Program, node: ir.CsrSum, number: Number, profile: str) -> Lowered:
    """The machine node and tables of one sum."""
    source = plain_source(program, node.x)
    if source is None or profile == "device":
        raise EmitError(
            f"vectors of the sum %{node.out} are stored without zeros, for rows as they come and with "
            "scratch memory; make them dense first"
        )
    kernel, (x, factor), limit = node.kernel, source, LARGEST[number]
    t, unit = program.tables, vector_unit(node.kernel)
    scaled = compressed(t[node.starts], t[node.columns], t[node.values] * unit, program.input.width)
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

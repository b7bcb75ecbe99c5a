"""Tables in half precision: the support vectors are rounded, everything else stays as it is.

Half the memory, for tables beyond the cache. The program that results means
exactly what the emitted code computes; how far its decision values are from the
original's is measured on the probe rows and stated in its notes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.errors import EmitError
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes import KernelSum, PairSum
from svmcompile.ir.program import Claim, Program
from svmcompile.ir.wide import settled_in_double
from svmcompile.lower.packed import vector_unit


def round_vectors(program: Program) -> Program:
    """The math program with support vectors that float16 holds, in the unit the C code keeps them in."""
    types = infer_types(program)
    kept = settled_in_double(program, types)
    sums = [
        node
        for node in program.body
        if isinstance(node, (KernelSum, PairSum)) and not in_double(node, types) and node.out not in kept
    ]
    if not sums:
        raise EmitError("this program has no support vectors left to keep in f16; leave out --tables")
    tables = dict(program.tables)
    for node in sums:
        unit = vector_unit(node.kernel) or 1.0
        tables[node.vectors] = _rounded(tables[node.vectors] * unit) / unit
    rounded = program.replace(tables=tables)
    notes = (*program.origin.notes, _stated_error(program, rounded))
    return rounded.replace(origin=replace(program.origin, claim=Claim.APPROXIMATE, notes=notes))


def _rounded(vectors: Array) -> Array:
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16)
    if not np.isfinite(halves).all():
        raise EmitError("support vectors reach beyond float16; scale the features, or leave out --tables")
    return halves.astype(np.float64)


def _stated_error(program: Program, rounded: Program) -> str:
    if not program.probes.size:
        return "support vectors are in f16"
    before, after = (next(iter(interpret(p, program.probes).values())) for p in (program, rounded))
    worst = float(np.abs(before - after).max())
    return f"support vectors in f16 move decision values of the probe rows by up to {worst:.2g}"

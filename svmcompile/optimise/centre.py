"""centre_kernels: RBF sums are moved to the mean of their vectors.

An RBF kernel does not change when x and every vector move together. About the
mean, |x|^2 - 2 x.s + |s|^2 does not cancel, so the fast form is safe in float32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.graph import fresh
from svmcompile.ir.kernel import SPARSE_ZEROS, Array
from svmcompile.ir.nodes import KernelSum, LeafSums, Node, PairSum, PathSum, Scale, table_names
from svmcompile.ir.program import Program
from svmcompile.ir.shift import split_shift
from svmcompile.optimise.rewrite import all_finite, own_scale, rewrite

Tables = dict[str, NDArray[Any]]
Sum = KernelSum | PairSum | PathSum | LeafSums


def centre_kernels(program: Program) -> Program:
    """Each RBF sum behind a `Scale` of its own whose offset is zero."""
    for node in program.body:
        if isinstance(node, (KernelSum, PairSum, PathSum, LeafSums)) and node.kernel.kind == "rbf":
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
    tables: Tables = dict(zip(table_names(new), (shift, factor, np.zeros_like(factor)), strict=True))
    tables[node.vectors] = centred
    if not all_finite(tables):
        return program
    body: list[Node] = []
    for item in program.body:
        body += [new, replace(node, x=new.out)] if item is node else [item]
    return rewrite(program, body, tables)


def _mean(vectors: Array, shift: Array, offset: Array) -> Array:
    """Where to centre: at zero if most features of most vectors are, so that zeros stay zeros."""
    plain = not shift.any() and not offset.any()
    if not vectors.size or (plain and np.mean(vectors == 0) >= SPARSE_ZEROS):
        return np.zeros(vectors.shape[1])
    return np.asarray(vectors.mean(axis=0))


def _scaling(program: Program, scale: Scale | None, width: int) -> tuple[Array, Array, Array]:
    """Shift, factor and offset so far."""
    if scale is None:
        return np.zeros(width), np.ones(width), np.zeros(width)
    shift, factor, offset = (program.tables[name] for name in table_names(scale))
    return shift, factor, offset


def _new_scale(program: Program, node: Sum, old: Scale | None) -> Scale:
    """A scaling under names of its own; those of the one it replaces are free."""
    values = {program.input.name, *(item.out for item in program.body if item is not old)}
    tables = set(program.tables) - set(table_names(old) if old else ())
    names = [fresh(node.out, field, tables) for field in ("shift", "factor", "offset")]
    return Scale(fresh(node.out, "x", values), old.x if old else node.x, *names)

"""Kernel sums as `PackedSum`: kernel parameters folded into the tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import fresh, maker
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.kinds import Shape
from svmcompile.ir.nodes import (
    KernelSum,
    Node,
    PackedPath,
    PackedSum,
    PairSum,
    PathSum,
    Prepare,
    Scale,
    operands,
    table_names,
)
from svmcompile.ir.program import Program

Tables = dict[str, NDArray[Any]]
Sum = KernelSum | PairSum | PathSum

# Prepared features are held within these limits, so that squares stay finite;
# a row that far from every vector has kernel values of zero all the same.
LIMITS: dict[Number, float] = {"f32": 1e15, "f64": 1e120}
SHAPES: dict[str, Shape] = {"poly": "power", "sigmoid": "tanh", "linear": "identity"}


def vector_unit(kernel: Kernel) -> float:
    """What support vectors are multiplied by in packed tables."""
    if kernel.kind == "rbf":
        return math.sqrt(2 * kernel.gamma * math.log2(math.e))
    return 1.0 if kernel.kind == "linear" else kernel.gamma


def pack(program: Program, node: Sum, number: Number) -> tuple[list[Node], Tables]:
    """The machine nodes and tables of one kernel sum."""
    tables: Tables = {name: program.tables[name] for name in table_names(node)}
    if not isinstance(node, PathSum):
        tables[node.weights] = tables[node.weights].T
    if node.kernel.kind == "rbf":
        return _pack_rbf(program, node, number, tables)
    kernel = node.kernel
    if kernel.kind == "precomputed":
        return _pack_given(program, node, tables)
    constant = 0.0 if kernel.kind == "linear" else kernel.coef0
    offsets = fresh(node.out, "offset", program.tables)
    tables |= {
        node.vectors: program.tables[node.vectors] * vector_unit(kernel),
        offsets: np.array([constant]),
    }
    shape = SHAPES[kernel.kind]
    return [_packed(node, node.x, offsets, shape, kernel.degree)], tables


def _pack_given(program: Program, node: Sum, tables: Tables) -> tuple[list[Node], Tables]:
    """Kernel values that the caller computes; vectors are the numbers of its points."""
    offsets = fresh(node.out, "offset", program.tables)
    tables |= {node.vectors: program.tables[node.vectors].astype(np.int32), offsets: np.zeros(1)}
    return [_packed(node, node.x, offsets, "given", 1)], tables


def _packed(node: Sum, x: str, offsets: str, shape: Shape, degree: int) -> Node:
    if isinstance(node, PathSum):
        tree = (node.picks, node.thresholds, node.children, node.starts)
        leaves = (node.weights, node.bias, shape, degree)
        return PackedPath(node.out, x, node.vectors, offsets, *tree, *leaves)
    counts = node.counts if isinstance(node, PairSum) else ()
    return PackedSum(node.out, x, node.vectors, offsets, node.weights, node.bias, counts, shape, degree)


def _pack_rbf(program: Program, node: Sum, number: Number, tables: Tables) -> tuple[list[Node], Tables]:
    """exp(-g |x - s|^2) = 2^(x'.s' - |x'|^2/2 - |s'|^2/2), with x' = x sqrt(2 g log2 e)."""
    scale = maker(program, node.x)
    if not isinstance(scale, Scale) or program.tables[scale.offset].any():
        raise EmitError(
            f"the RBF sum %{node.out} does not read a scaling without offset; optimise the program first"
        )
    if node.kernel.gamma < 0:
        raise EmitError(f"an RBF kernel with negative gamma ({node.kernel.gamma}) cannot be emitted")
    unit = vector_unit(node.kernel)
    vectors = program.tables[node.vectors] * unit
    limit = LIMITS[number]
    if vectors.size and np.abs(vectors).max() > limit / 10:
        raise EmitError(f"support vectors lie too far apart for {number}; scale the features, or use f64")
    prepared = fresh(node.out, "z", [program.input.name, *(item.out for item in program.body)])
    shift, factor, offsets = (
        fresh(node.out, end, _taken(program, scale)) for end in ("shift", "factor", "norms")
    )
    tables |= {
        shift: program.tables[scale.shift],
        factor: program.tables[scale.factor] * unit,
        node.vectors: vectors,
        offsets: _half_norms(vectors, number),
    }
    prepare = Prepare(prepared, scale.x, shift, factor, limit)
    return [prepare, _packed(node, prepared, offsets, "exp2", 1)], tables


def _taken(program: Program, scale: Scale) -> set[str]:
    """Names of tables that stay; a scaling read by one sum alone goes, and its tables with it."""
    readers = sum(operands(item).count(scale.out) for item in program.body)
    return set(program.tables) - (set(table_names(scale)) if readers == 1 else set())


def _half_norms(vectors: Array, number: Number) -> Array:
    """-|s|^2/2 of the vectors as the machine holds them, so that k(s, s) is 1."""
    held = vectors.astype(np.float32).astype(np.float64) if number == "f32" else vectors
    return np.asarray(-0.5 * np.square(held).sum(axis=1))

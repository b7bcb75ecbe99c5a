"""Kernel sums for C: kernels folded into the tables, vectors in blocks of lanes, or in half precision.

Half the memory, for tables beyond the cache. The program that results means
exactly what the emitted code computes; how far its decision values are from the
original's is measured on the probe rows and stated in its notes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.graph import Tables, fresh, maker, settled_in_double
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Array, Kernel, squared_norms
from svmcompile.ir.kinds import OWN_OFFSETS, Shape
from svmcompile.ir.program import Claim, Program

Lowered = tuple[list[ir.Node], Tables]  # machine nodes and their tables
Sum = ir.KernelSum | ir.PairSum | ir.PathSum
# Prepared features are held within these limits, so that squares stay finite;
# a row that far from every vector has kernel values of zero all the same.
LIMITS: dict[Number, float] = {"f32": 1e15, "f64": 1e120}
SHAPES: dict[str, Shape] = {"poly": "power", "sigmoid": "tanh", "linear": "identity"}
LANES: dict[Number, int] = {"f32": 16, "f64": 8}  # vectors that fill 64 bytes, feature by feature
# Up to so many weights per vector a lane keeps its own sums, which are added up at the end of
# each class; with more of them it is cheaper to take the vectors one by one.
MAX_LANE_COLUMNS = 4
FAR = -1e4  # exponent of the vectors that fill up a block: their kernel value is zero
LARGEST: dict[Number, float] = {
    "f32": float(np.finfo(np.float32).max),
    "f64": float(np.finfo(np.float64).max),
}


def vector_unit(kernel: Kernel) -> float:
    """What support vectors are multiplied by in packed tables."""
    if kernel.kind == "rbf":
        return math.sqrt(2 * kernel.gamma * math.log2(math.e))
    return 1.0 if kernel.kind == "linear" else kernel.gamma


def pack_distances(program: Program, node: ir.KernelSum | ir.PairSum) -> Lowered:
    """An RBF sum by differences of the features as they are, for the double sum that settles labels.

    About a centre, or expanded to |x|^2 - 2 x.s + |s|^2, it would lose digits that the original's own has.
    """
    check_gamma(node.kernel)
    vectors, unit = program.tables[node.vectors], vector_unit(node.kernel)
    check_reach(vectors * unit, "f64")
    offsets = fresh(node.out, "unit", program.tables)
    tables: Tables = {name: program.tables[name] for name in ir.table_names(node)}
    tables |= {node.weights: tables[node.weights].T, offsets: np.array([-0.5 * unit**2])}
    return [_packed(node, node.x, offsets, "distance", 1)], tables


def pack(program: Program, node: Sum, number: Number) -> Lowered:
    """The machine nodes and tables of one kernel sum."""
    tables: Tables = {name: program.tables[name] for name in ir.table_names(node)}
    if not isinstance(node, ir.PathSum):
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


def _pack_given(program: Program, node: Sum, tables: Tables) -> Lowered:
    """Kernel values that the caller computes; vectors are the numbers of its points."""
    offsets = fresh(node.out, "offset", program.tables)
    tables |= {node.vectors: program.tables[node.vectors].astype(np.int32), offsets: np.zeros(1)}
    return [_packed(node, node.x, offsets, "given", 1)], tables


def _packed(node: Sum, x: str, offsets: str, shape: Shape, degree: int) -> ir.Node:
    if isinstance(node, ir.PathSum):
        tree = (node.picks, node.thresholds, node.children, node.starts)
        leaves = (node.weights, node.bias, shape, degree)
        return ir.PackedPath(node.out, x, node.vectors, offsets, *tree, *leaves)
    counts = node.counts if isinstance(node, ir.PairSum) else ()
    return ir.PackedSum(node.out, x, node.vectors, offsets, node.weights, node.bias, counts, shape, degree)


def _pack_rbf(program: Program, node: Sum, number: Number, tables: Tables) -> Lowered:
    """exp(-g |x - s|^2) = 2^(x'.s' - |x'|^2/2 - |s'|^2/2), with x' = x sqrt(2 g log2 e)."""
    scale = maker(program, node.x)
    if not isinstance(scale, ir.Scale) or program.tables[scale.offset].any():
        raise EmitError(
            f"the RBF sum %{node.out} does not read a scaling without offset; optimise the program first"
        )
    check_gamma(node.kernel)
    unit = vector_unit(node.kernel)
    vectors = program.tables[node.vectors] * unit
    check_reach(vectors, number)
    prepared = fresh(node.out, "z", [program.input.name, *(item.out for item in program.body)])
    shift, factor, offsets = (
        fresh(node.out, end, _kept_tables(program, scale)) for end in ("shift", "factor", "norms")
    )
    tables |= {
        shift: program.tables[scale.shift],
        factor: program.tables[scale.factor] * unit,
        node.vectors: vectors,
        offsets: half_norms(vectors, number),
    }
    prepare = ir.Prepare(prepared, scale.x, shift, factor, LIMITS[number])
    return [prepare, _packed(node, prepared, offsets, "exp2", 1)], tables


def check_gamma(kernel: Kernel) -> None:
    if kernel.gamma < 0:
        raise EmitError(f"an RBF kernel with negative gamma ({kernel.gamma}) cannot be emitted")


def check_reach(vectors: Array, number: Number) -> None:
    """Refuse vectors of an RBF kernel whose squares might not stay finite."""
    if np.abs(vectors).max(initial=0.0) > LIMITS[number] / 10:
        raise EmitError(f"support vectors lie too far apart for {number}; scale the features, or use f64")


def _kept_tables(program: Program, scale: ir.Scale) -> set[str]:
    """Names of tables that stay; a scaling read by one sum alone goes, and its tables with it."""
    readers = sum(ir.operands(item).count(scale.out) for item in program.body)
    return set(program.tables) - (set(ir.table_names(scale)) if readers == 1 else set())


def half_norms(vectors: Any, number: Number) -> Array:
    """-|s|^2/2 of the vectors as the machine holds them, so that k(s, s) is 1."""
    held = vectors.astype(np.float32).astype(np.float64) if number == "f32" else vectors
    return -0.5 * squared_norms(held)


def tile(nodes: list[ir.Node], tables: Tables, number: Number, width: int) -> Lowered:
    """The nodes of one packed sum in tiled form; kernels but RBF get a `Prepare` that marks bad rows."""
    node = nodes[-1]
    assert isinstance(node, ir.PackedSum)
    lanes, x = LANES[number], node.x
    body, made = nodes[:-1], dict(tables)
    if node.shape != "exp2":
        x = f"{node.out}_z"
        names = (f"{node.out}_shift", f"{node.out}_factor")
        made |= {names[0]: np.zeros(width), names[1]: np.ones(width)}
        body.append(ir.Prepare(x, node.x, *names, LARGEST[number]))
    order, by_lane = block_order(node, tables, lanes)
    made |= block_weights(node, tables, order, lanes, by_lane)
    made[node.vectors] = in_lanes(picked(tables[node.vectors], order), lanes)
    counts = node.counts or (len(tables[node.vectors]),)
    tables_of = (node.vectors, node.offsets, node.weights, node.bias)
    body.append(ir.TiledSum(node.out, x, *tables_of, counts, node.shape, node.degree))
    return body, made


def block_order(node: ir.PackedSum, tables: Tables, lanes: int) -> tuple[NDArray[np.intp], bool]:
    """The vectors in the order of the blocks, -1 for what fills up, and whether weights go by lane."""
    by_lane = tables[node.weights].shape[1] <= MAX_LANE_COLUMNS
    order = (
        class_order(node.counts, lanes) if by_lane and node.counts else np.arange(len(tables[node.vectors]))
    )
    return _in_blocks(order, 2 * lanes), by_lane


def class_order(counts: tuple[int, ...], lanes: int) -> NDArray[np.intp]:
    """Vector numbers with each class filled up to whole blocks by -1."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.concatenate([_in_blocks(np.arange(a, b), lanes) for a, b in pairwise(starts)])


def _in_blocks(order: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    return np.concatenate([order, np.full(-len(order) % size, -1, dtype=np.intp)])


def filled(table: NDArray[Any], length: int) -> NDArray[Any]:
    """Rows with zeros up to a length."""
    return np.pad(table, [(0, 0)] * (table.ndim - 1) + [(0, length - table.shape[-1])])


def in_lanes(vectors: NDArray[Any], lanes: int) -> NDArray[Any]:
    """Vectors [n, d] in blocks [blocks, d, lanes]; zeros fill up the last."""
    full = np.pad(vectors, ((0, -len(vectors) % lanes), (0, 0)))
    return np.asarray(full.reshape(-1, lanes, vectors.shape[1]).transpose(0, 2, 1))


def block_weights(
    node: ir.PackedSum, tables: Tables, order: NDArray[np.intp], lanes: int, by_lane: bool
) -> Tables:
    """Weights, offsets and bias in blocks; number -1 stands for a vector that adds nothing."""
    weights = picked(tables[node.weights], order)
    blocks, columns = len(order) // lanes, weights.shape[1]
    if by_lane:
        weights = weights.reshape(blocks, lanes, columns).transpose(0, 2, 1)
    else:
        weights = np.pad(weights, ((0, 0), (0, -columns % lanes)))
    offsets = tables[node.offsets]
    if node.shape in OWN_OFFSETS:
        offsets = np.where(order < 0, FAR if node.shape == "exp2" else 0.0, offsets[order])
    return {node.weights: weights, node.offsets: offsets, node.bias: tables[node.bias]}


def picked(table: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """Rows of a table in an order; number -1 stands for a row of zeros."""
    return np.asarray(np.where(order[:, None] < 0, 0.0, table[order]))


def round_vectors(program: Program) -> Program:
    """The math program with support vectors that float16 holds, in the unit the C code keeps them in."""
    types = infer_types(program)
    kept = settled_in_double(program, types)
    if any(isinstance(node, ir.Certain) for node in program.body):
        raise EmitError(
            "vectors in f16 move decision values farther than labels that are certain allow: leave out "
            "--tables f16, or use method exact without labels=certain"
        )
    sums = [
        node
        for node in program.body
        if isinstance(node, (ir.KernelSum, ir.PairSum))
        and not in_double(node, types)
        and node.out not in kept
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

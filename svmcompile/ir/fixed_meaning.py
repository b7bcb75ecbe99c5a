"""run: what nodes in whole numbers mean, in int64, which never overflows where the type rules hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.champions import pair_indices
from svmcompile.ir.meaning import Env, Tables, run

Wholes = NDArray[np.int64]
UNIT_BITS = 15  # of the numbers that powers are made of


def whole_table(tables: Tables, name: str) -> Wholes:
    """A table of whole numbers, wide enough to compute with."""
    return np.asarray(tables[name], dtype=np.int64)


def rounded_shift(values: Wholes, bits: int) -> Wholes:
    """Divided by 2^bits, to the nearest; half goes up."""
    return values if bits == 0 else (values + (1 << (bits - 1))) >> bits


@run.register
def _(node: ir.Quantise, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x].astype(np.float32)
    t = (x - tables[node.shift]) * tables[node.factor]
    high, half = np.float32(node.limit), np.float32(0.5)
    t = np.where(t > -high, np.minimum(t, high), -high)
    return np.asarray(np.trunc(np.where(t < 0, t - half, t + half)), dtype=np.int64)


@run.register
def _(node: ir.Requantise, env: Env, tables: Tables) -> NDArray[Any]:
    t = (env[node.x] - whole_table(tables, node.shift)) * whole_table(tables, node.factor)
    return np.clip(rounded_shift(t, node.scale_bits), -node.limit, node.limit)


@run.register
def _(node: ir.FixedSum, env: Env, tables: Tables) -> NDArray[Any]:
    values = fixed_kernel(node, env[node.x].astype(np.int64), tables)
    sums = weighted(values, whole_table(tables, node.weights), node.counts)
    return rounded_shift(sums, node.shift) + whole_table(tables, node.bias)


def fixed_kernel(node: Any, x: Wholes, tables: Tables) -> Wholes:
    """Kernel values [rows, n] of a node with vectors, offsets and a curve."""
    dots = whole_dots(x, whole_table(tables, node.vectors))
    offsets, curve = whole_table(tables, node.offsets), whole_table(tables, node.curve)
    if node.shape == "exp2":
        norms = np.square(x).sum(axis=1, keepdims=True)
        t = np.maximum(norms + (offsets << node.offset_shift) - 2 * dots, 0)
        return on_curve(t, curve, node.cell_bits)
    t = dots + offsets
    if node.shape == "tanh":
        return on_curve(np.maximum(t, 0), curve, node.cell_bits)
    return t if node.shape == "identity" else powers(rounded_shift(t, node.cell_bits), node.degree)


def whole_dots(x: Wholes, vectors: Wholes) -> Wholes:
    """x . v for all rows and vectors: exact, and through float64, which is faster, where that is exact."""
    size = int(np.abs(x).max(initial=0)) * int(np.abs(vectors).max(initial=0)) * max(1, x.shape[1])
    if size < 1 << 52:
        return np.asarray(x.astype(np.float64) @ vectors.T.astype(np.float64)).astype(np.int64)
    return np.asarray(x @ vectors.T)


def on_curve(t: Wholes, curve: Wholes, bits: int) -> Wholes:
    """The curve at t, which is not negative; steps within a cell are counted in at most 15 bits."""
    cell = np.minimum(t >> bits, len(curve) - 1)
    after = np.minimum(cell + 1, len(curve) - 1)
    coarse = max(0, bits - UNIT_BITS)
    step = (t & ((1 << bits) - 1)) >> coarse
    return np.asarray(curve[cell] - (((curve[cell] - curve[after]) * step) >> (bits - coarse)))


def powers(u: Wholes, degree: int) -> Wholes:
    """u^degree for |u| < 2^15, in units of 2^(15 degree - 30)."""
    if degree == 0:
        return np.full_like(u, 1 << 2 * UNIT_BITS)
    result = u << UNIT_BITS
    for _ in range(degree - 1):
        result = (result * u) >> UNIT_BITS
    return result


def weighted(values: Wholes, weights: Wholes, counts: tuple[int, ...]) -> Wholes:
    """Weighted sums of kernel values, one per column of the weights or per pair of classes."""
    if not counts:
        return values @ weights
    ends = np.cumsum(counts)
    groups = [slice(int(end) - count, int(end)) for count, end in zip(counts, ends, strict=True)]
    partial = [values[:, group] @ weights[group] for group in groups]
    return np.stack([partial[i][:, j - 1] + partial[j][:, i] for i, j in pair_indices(len(counts))], axis=1)


@run.register
def _(node: ir.FixedAffine, env: Env, tables: Tables) -> NDArray[Any]:
    dots = whole_dots(env[node.x].astype(np.int64), whole_table(tables, node.weights))
    return rounded_shift(dots, node.shift) + whole_table(tables, node.bias)


@run.register
def _(node: ir.FixedQuadratic, env: Env, tables: Tables) -> NDArray[Any]:
    x, squares = env[node.x].astype(np.int64), whole_table(tables, node.squares)
    sums = x @ whole_table(tables, node.weights).T
    at = 0
    for a in range(x.shape[1]):  # row a of the upper triangle
        width = x.shape[1] - a
        sums += x[:, a : a + 1] * (x[:, a:] @ squares[:, at : at + width].T)
        at += width
    return rounded_shift(sums, node.shift) + whole_table(tables, node.bias)


@run.register
def _(node: ir.Dequantise, env: Env, tables: Tables) -> NDArray[Any]:
    return np.asarray(env[node.x].astype(np.float32) * np.float32(node.unit))

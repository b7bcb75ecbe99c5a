"""Scalings and linear maps go into what reads them; kernels of degree 1 or 2 need no vectors.

Scalings and affine functions take the scaling in if they alone read it. Trees take it in
anyway, for then the way to a leaf does without it; another reader keeps it.

An affine function or a scaling of projected features (PCA) is a projection, and one of kernel
features (Nystroem) is a kernel sum. Each fold acts only where it costs fewer flops.

Kernels are collapsed only where the result costs fewer flops; a sum without vectors is a
constant and always collapses. Subtracting the centre is not counted: it buys
accuracy, and a scaling in front of it folds into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32, split_shift
from svmcompile.ir.cost import flops
from svmcompile.ir.graph import Tables, fresh, leading_to, maker, only_maker
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import pair_weights
from svmcompile.ir.program import Program
from svmcompile.optimise.accurate import pair, product

Folded = tuple[ir.Node, Tables]
TREES = (ir.AxisRoute, ir.PlaneRoute, ir.PlaneLists, ir.LeafAffine)
MOST_MOVED = 1e-6  # a folded threshold may move by this share of its size, in scaled units
Map = ir.Affine | ir.KernelSum
Sum = ir.KernelSum | ir.PairSum


def rewrite(program: Program, body: Sequence[ir.Node], tables: Mapping[str, NDArray[Any]]) -> Program:
    """The program with another body; new tables are added, nodes and tables nobody needs are dropped."""
    kept = leading_to(body, (output.value for output in program.outputs))
    names = {name for node in kept for name in ir.table_names(node)}
    merged = {**program.tables, **tables}
    return program.replace(body=kept, tables={name: merged[name] for name in merged if name in names})


def put(program: Program, index: int, nodes: Sequence[ir.Node], tables: Tables) -> Program:
    """The program with nodes in the place of one; as it was if a new table holds no finite number."""
    if not all_finite(tables):
        return program
    return rewrite(program, [*program.body[:index], *nodes, *program.body[index + 1 :]], tables)


def all_finite(tables: Mapping[str, NDArray[Any]]) -> bool:
    """Whether new tables can stand in a program; products of extreme numbers may not."""
    return all(bool(np.isfinite(table).all()) for table in tables.values())


def own_scale(program: Program, value: str) -> ir.Scale | None:
    """The `Scale` that makes a value, if nothing else reads that value."""
    node = only_maker(program, value)
    return node if isinstance(node, ir.Scale) else None


def repeat(fold: Callable[[Program], Program], program: Program) -> Program:
    """Fold until nothing folds."""
    while (folded := fold(program)) is not program:
        program = folded
    return program


def fold_scales(program: Program) -> Program:
    """Fold until nothing folds; the meaning is kept up to float64 rounding, barring overflow."""
    return repeat(_fold_one_scale, program)


def _fold_one_scale(program: Program) -> Program:
    for index, node in enumerate(program.body):
        fold = FOLDS.get(type(node))
        inner = _scale_of(program, node) if fold else None
        if fold and inner:
            with np.errstate(all="ignore"):
                folded = fold(program, inner, node)
            if folded and (candidate := put(program, index, folded[:1], folded[1])) is not program:
                return candidate
    return program


def into_scale(program: Program, inner: ir.Scale, outer: ir.Scale) -> Folded:
    """((x - a) f + o - b) g + p = (x - a) f g + (o - b) g + p."""
    t = program.tables
    factor = t[inner.factor] * t[outer.factor]
    offset = (t[inner.offset] - t[outer.shift]) * t[outer.factor] + t[outer.offset]
    shift, offset = split_shift(t[inner.shift], factor, offset)
    return replace(outer, x=inner.x), {outer.shift: shift, outer.factor: factor, outer.offset: offset}


def _into_affine(program: Program, inner: ir.Scale, outer: ir.Affine) -> Folded:
    """W ((x - a) f + o - c) + b = (W f) (x - a') + b', a' in float32."""
    t, (centre, rest) = program.tables, _moved_centre(program, inner, outer.centre)
    bias = t[outer.bias] + t[outer.weights] @ rest
    tables = {outer.weights: t[outer.weights] * t[inner.factor], outer.bias: bias, outer.centre: centre}
    return replace(outer, x=inner.x), tables


def _moved_centre(program: Program, inner: ir.Scale, centre: str) -> tuple[Array, Array]:
    """(a', rest) with (x - a) f + o - c = (x - a') f + rest, a' in float32."""
    t = program.tables
    return split_shift(t[inner.shift], t[inner.factor], t[inner.offset] - t[centre])


def _scale_of(program: Program, node: Any) -> ir.Scale | None:
    if not isinstance(node, TREES):
        return own_scale(program, node.x)
    made = maker(program, node.x)
    return made if isinstance(made, ir.Scale) else None


def _into_axis_route(program: Program, inner: ir.Scale, outer: ir.AxisRoute) -> Folded | None:
    """(x - a) f + o > t becomes x > a + (t - o) / f, where f is above zero and float32 can tell."""
    t = program.tables
    features, thresholds = t[outer.features], t[outer.thresholds]
    shift, factor, offset = (t[name][features] for name in (inner.shift, inner.factor, inner.offset))
    exact = shift + (thresholds - offset) / factor
    moved = nearest_float32(exact)
    if not ((factor > 0) & (np.abs(moved - exact) * factor <= MOST_MOVED * (1 + np.abs(thresholds)))).all():
        return None
    return replace(outer, x=inner.x), {outer.thresholds: moved}


def _into_planes(program: Program, inner: ir.Scale, outer: ir.PlaneRoute | ir.PlaneLists) -> Folded | None:
    """w ((x - a) f + o - c) > t becomes (w f) (x - a') > t', as for affine functions."""
    t = program.tables
    if t[outer.planes].dtype != np.float64:
        return None  # rounded for scaled features
    centre, rest = _moved_centre(program, inner, outer.centre)
    tables = {
        outer.planes: t[outer.planes] * t[inner.factor],
        outer.thresholds: t[outer.thresholds] - t[outer.planes] @ rest,
        outer.centre: centre,
    }
    return replace(outer, x=inner.x), tables


def _into_leaves(program: Program, inner: ir.Scale, outer: ir.LeafAffine) -> Folded | None:
    """As for affine functions, each with the constant of its leaf."""
    t = program.tables
    if t[outer.weights].dtype != np.float64:
        return None  # rounded for scaled features
    centre, rest = _moved_centre(program, inner, outer.centre)
    bias = t[outer.bias].copy()
    leaf = np.repeat(np.arange(len(bias)), np.diff(t[outer.starts]))
    moved = t[outer.units] * (t[outer.weights] @ rest)
    np.add.at(bias, (leaf, t[outer.sums]), moved)
    weights = t[outer.weights] * t[inner.factor]
    return replace(outer, x=inner.x), {outer.weights: weights, outer.bias: bias, outer.centre: centre}


def fold_maps(program: Program) -> Program:
    """Fold until nothing folds; the meaning is kept up to float64 rounding, barring overflow."""
    return repeat(_fold_one_map, program)


def _fold_one_map(program: Program) -> Program:
    for index, node in enumerate(program.body):
        if not isinstance(node, (ir.Affine, ir.Scale)):
            continue
        features = only_maker(program, node.x)
        made = only_maker(program, features.scores) if isinstance(features, ir.AsFeatures) else None
        if not isinstance(features, ir.AsFeatures) or not isinstance(made, (ir.Affine, ir.KernelSum)):
            continue
        with np.errstate(all="ignore"):
            candidate = put(program, index, *_folded(program, made, features, node))
        if flops(candidate) < flops(program):
            return candidate
    return program


def _folded(
    program: Program, made: Map, features: ir.AsFeatures, node: ir.Affine | ir.Scale
) -> tuple[list[ir.Node], Tables]:
    """A (W f(x) + b - c) + d = (A W) f(x) + A (b - c) + d; a scaling is a diagonal A."""
    t = program.tables
    weights, bias = t[made.weights], t[made.bias]
    if isinstance(node, ir.Affine):
        slopes = t[node.weights]
        moved = slopes @ (bias - t[node.centre]) + t[node.bias]
        return [replace(made, out=node.out)], {made.weights: slopes @ weights, made.bias: moved}
    factor = t[node.factor]
    moved = (bias - t[node.shift]) * factor + t[node.offset]
    tables = {made.weights: factor[:, None] * weights, made.bias: moved}
    return [made, replace(features, out=node.out)], tables


def collapse_linear(program: Program) -> Program:
    """A linear kernel, or a polynomial one of degree 0 or 1, becomes one vector per sum."""
    return _collapse(program, _affine)


def collapse_quadratic(program: Program) -> Program:
    """A polynomial kernel of degree 2 becomes a quadratic form."""
    return _collapse(program, _quadratic)


def _collapse(program: Program, form: Callable[[Program, Sum], tuple[ir.Node, Tables] | None]) -> Program:
    for index, node in enumerate(program.body):
        if not isinstance(node, (ir.KernelSum, ir.PairSum)):
            continue
        with np.errstate(all="ignore"):
            collapsed = form(program, node)
        if collapsed:
            candidate = put(program, index, collapsed[:1], collapsed[1])
            n, centring = program.tables[node.vectors].shape
            if not n or flops(candidate) - centring < flops(program):
                program = candidate
    return program


def dense_weights(program: Program, node: Sum) -> Array:
    """One row of weights per sum over all vectors."""
    weights: Array = program.tables[node.weights]
    return weights if isinstance(node, ir.KernelSum) else pair_weights(weights, node.counts)


def _centre(vectors: Array, weights: Array) -> Array:
    """Where the rows are: near the mean of the vectors, as a float32 number.

    Under an identity matrix of weights the vectors are the slopes of a linear
    machine, which say nothing of the rows.
    """
    if not len(vectors) or np.array_equal(weights, np.eye(len(vectors))):
        return np.zeros(vectors.shape[1])
    return nearest_float32(vectors.mean(axis=0))


def _affine(program: Program, node: Sum) -> tuple[ir.Node, Tables] | None:
    """sum_i w_i (g x.s_i + r)^p for p <= 1, written about a centre."""
    kernel = node.kernel
    if kernel.kind == "linear" or not len(program.tables[node.vectors]):
        kernel = Kernel("poly", 1.0, 0.0, 1)
    if kernel.kind != "poly" or kernel.degree > 1:
        return None
    vectors, weights = program.tables[node.vectors], dense_weights(program, node)
    centre = _centre(vectors, weights)
    gamma, constant = (kernel.gamma, kernel.coef0) if kernel.degree else (0.0, 1.0)
    slopes = product(weights, vectors) * gamma
    bias = product(slopes, centre).plus(product(weights, np.full(len(vectors), constant)))
    bias = bias.plus(pair(program.tables[node.bias]))
    tables = _named(program, node, slopes=slopes.rounded(), bias=bias.rounded(), centre=centre)
    return ir.Affine(node.out, node.x, *tables), tables


def _quadratic(program: Program, node: Sum) -> tuple[ir.Node, Tables] | None:
    """With q_i = g c.s_i + r: sum_i w_i (g h.s_i + q_i)^2, multiplied out."""
    kernel = node.kernel
    if kernel.kind != "poly" or kernel.degree != 2:
        return None
    vectors, weights = program.tables[node.vectors], dense_weights(program, node)
    centre = _centre(vectors, weights)
    at_centre = (product(vectors, centre) * kernel.gamma).plus(pair(kernel.coef0))
    rows, columns = np.triu_indices(vectors.shape[1])
    squares = np.stack([_upper(_squares(vectors, weight, kernel), rows, columns) for weight in weights])
    slopes = (product(at_centre * weights, vectors) * (2 * kernel.gamma)).rounded()
    bias = product(weights, at_centre * at_centre).plus(pair(program.tables[node.bias])).rounded()
    tables = _named(program, node, squares=squares, slopes=slopes, bias=bias, centre=centre)
    return ir.Quadratic(node.out, node.x, *tables), tables


def _squares(vectors: Array, weight: Array, kernel: Kernel) -> Array:
    """g^2 sum_i w_i s_i s_i^T."""
    return (product(pair(vectors.T) * weight, vectors) * kernel.gamma * kernel.gamma).rounded()


def _named(program: Program, node: Sum, **arrays: Array) -> Tables:
    """The tables under names of their own; those of the node they replace are free."""
    taken = set(program.tables) - set(ir.table_names(node))
    return {fresh(node.out, end, taken): array for end, array in arrays.items()}


def _upper(matrix: Array, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
    """The upper triangle, off-diagonal entries doubled for the half that is left out."""
    entries: Array = matrix[rows, columns] * np.where(rows == columns, 1.0, 2.0)
    return entries


FOLDS: dict[type[Any], Callable[[Program, ir.Scale, Any], Folded | None]] = {
    ir.Scale: into_scale,
    ir.Affine: _into_affine,
    ir.AxisRoute: _into_axis_route,
    ir.PlaneRoute: _into_planes,
    ir.PlaneLists: _into_planes,
    ir.LeafAffine: _into_leaves,
}

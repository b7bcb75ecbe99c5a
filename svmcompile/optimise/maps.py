"""fold_maps: a linear function of features goes into the map that makes them.

An affine function or a scaling of projected features (PCA) is a projection, and one of kernel
features (Nystroem) is a kernel sum. Each fold acts only where it costs fewer flops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.cost import flops
from svmcompile.ir.graph import only_maker
from svmcompile.ir.nodes import Affine, AsFeatures, KernelSum, Node, Scale
from svmcompile.ir.program import Program
from svmcompile.optimise.rewrite import all_finite, rewrite

Tables = dict[str, NDArray[Any]]
Map = Affine | KernelSum


def fold_maps(program: Program) -> Program:
    """Fold until nothing folds; the meaning is kept up to float64 rounding, barring overflow."""
    while True:
        folded = _fold_one(program)
        if folded is program:
            return program
        program = folded


def _fold_one(program: Program) -> Program:
    for index, node in enumerate(program.body):
        if not isinstance(node, (Affine, Scale)):
            continue
        features = only_maker(program, node.x)
        made = only_maker(program, features.scores) if isinstance(features, AsFeatures) else None
        if not isinstance(features, AsFeatures) or not isinstance(made, (Affine, KernelSum)):
            continue
        with np.errstate(all="ignore"):
            nodes, tables = _folded(program, made, features, node)
        if not all_finite(tables):
            continue
        body = [*program.body[:index], *nodes, *program.body[index + 1 :]]
        candidate = rewrite(program, body, tables)
        if flops(candidate) < flops(program):
            return candidate
    return program


def _folded(
    program: Program, made: Map, features: AsFeatures, node: Affine | Scale
) -> tuple[list[Node], Tables]:
    """A (W f(x) + b - c) + d = (A W) f(x) + A (b - c) + d; a scaling is a diagonal A."""
    t = program.tables
    weights, bias = t[made.weights], t[made.bias]
    if isinstance(node, Affine):
        slopes = t[node.weights]
        tables = {
            made.weights: slopes @ weights,
            made.bias: slopes @ (bias - t[node.centre]) + t[node.bias],
        }
        return [replace(made, out=node.out)], tables
    factor = t[node.factor]
    moved = (bias - t[node.shift]) * factor + t[node.offset]
    tables = {made.weights: factor[:, None] * weights, made.bias: moved}
    return [made, replace(features, out=node.out)], tables

"""Weights fitted again once features, vectors and the curve are rounded.

What rounding does to kernel values is in part the same for all rows, and other weights make up for it. The
scores of the math program are the targets; rows that were held out tell whether it helps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import fixed_kernel
from svmcompile.lower.fixed.projections import mixed_sums
from svmcompile.lower.fixed.sums import TOP

RIDGES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of the mean square of a kernel value
ROWS_PER_WEIGHT = 4  # at least
HELD = 4  # one row in so many is held out
GAIN = 0.8  # what squared errors must fall to


def refitted(program: Program, fixed: Program, rows: NDArray[np.floating]) -> tuple[Program, float]:
    """The math program with weights that suit the fixed one better, and how far that moves a score.

    The program stays as it is, and the number is 0, where there is more than one sum or nothing is won.
    """
    sums = [node for node in program.body if isinstance(node, ir.KernelSum)]
    made = [node for node in fixed.body if isinstance(node, ir.FixedSum)]
    alone = len(sums) == len(made) == 1 and not any(node.guards for node in program.body)
    if not alone or made[0].shape != "exp2" or made[0].out != sums[0].out:
        return program, 0.0
    node, tables = sums[0], program.tables
    weights, bias = tables[node.weights].astype(np.float64), tables[node.bias].astype(np.float64)
    if len(rows) < ROWS_PER_WEIGHT * weights.shape[1]:
        return program, 0.0
    at = At(made[0], fixed.tables, interpret_values(fixed, rows, {made[0].x}))
    values = fixed_kernel(at, at.x.astype(np.int64)) / TOP
    missed = interpret_values(program, rows, {node.out})[node.out] - (values @ weights.T + bias)
    change = _change(values, missed)
    if change is None:
        return program, 0.0
    more, level = change
    changed = {**tables, node.weights: weights + more, node.bias: bias + level}
    moved = np.abs(more).sum(axis=1) + np.abs(level)
    for affine in program.body:
        if isinstance(affine, ir.Affine) and mixed_sums(program, affine) is node:
            moved = np.abs(tables[affine.weights]) @ moved
    return program.replace(tables=changed), float(moved.max())


def _change(values: Array, missed: Array) -> tuple[Array, Array] | None:
    """Weights [outputs, vectors] and biases to add, None where held-out rows gain too little by any."""
    held = np.arange(len(values)) % HELD == HELD - 1
    off = []
    for ridge in RIDGES:
        weights, bias = _ridge(values[~held], missed[~held], ridge)
        off.append(float(np.square(values[held] @ weights.T + bias - missed[held]).mean()))
    best = int(np.argmin(off))
    if off[best] > GAIN * float(np.square(missed[held]).mean()):
        return None
    return _ridge(values, missed, RIDGES[best])


def _ridge(values: Array, missed: Array, ridge: float) -> tuple[Array, Array]:
    centre, level = values.mean(axis=0), missed.mean(axis=0)
    left = values - centre
    gram = left.T @ left
    gram[np.diag_indices_from(gram)] += ridge * float(np.trace(gram)) / len(gram) + 1e-30
    weights = np.linalg.solve(gram, left.T @ (missed - level)).T
    return weights, level - weights @ centre

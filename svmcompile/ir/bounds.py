"""error_bounds: how far a backend's rounding can move scores, row by row.

A forward error analysis of the math program, for any backend that evaluates
it in one number type, in any order of summation, with kernel values summed up
in double after blocks of at most 32 and quadratic forms row by row. Next to
the value of each node stands a bound on its error; u is the unit roundoff.
Kernel values follow

    |dK| <= K (exp_error + u + ln2 dt),
    dt = u ((d + 4) sum_j |x'_j s'_j| + 5 (|x'|^2 + |s'|^2) / 2) + sum_j (|x'_j| + |s'_j| + e_j) e_j

for an RBF kernel in base 2, where e_j is the error x' already has. Numbers too
small for full precision add `a.tiny` each. Overflow is not rounding: where a
backend leaves its number type, the bounds do not hold and a comparison shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import svmcompile.ir.bounded_errors  # registers its nodes, as do the next
import svmcompile.ir.chances_errors
import svmcompile.ir.features_errors
import svmcompile.ir.leaf_bounds
import svmcompile.ir.tree_bounds  # noqa: F401
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.flat import flat_tables
from svmcompile.ir.interpret import CHUNK_VALUES, pair_indices, pair_sums, run
from svmcompile.ir.kernel import Array
from svmcompile.ir.kernel_errors import kernel_errors, summing_error
from svmcompile.ir.program import Number, Program
from svmcompile.ir.propagate import (
    ARITHMETIC,
    Arithmetic,
    Bounded,
    Env,
    Result,
    Tables,
    propagate,
    value_of,
)  # fmt: skip

SECOND_ORDER = 1.01  # makes up for products of errors, which the analysis leaves out


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the errors of scores (or values) and probabilities, and which rows may get another label.

    A bound is infinite where rounding may decide, as when it changes how often an iteration runs.
    """

    scores: Array  # [rows, scores]
    unstable: NDArray[np.bool_]  # [rows]
    probabilities: Array  # [rows, classes]; without columns where there are none


def error_bounds(program: Program, rows: NDArray[Any], number: Number) -> Bounds:
    """Bounds for rows that are exact in the number type."""
    flat = flat_tables(program)
    sizes = [max(table.shape) for name, table in program.tables.items() if name not in flat]
    step = max(1, CHUNK_VALUES // max([*sizes, program.n_features]))
    starts = range(0, len(rows), step) or range(1)  # no rows still have a shape
    parts = [_chunk(program, rows[at : at + step], number) for at in starts]
    fields = [(part.scores, part.unstable, part.probabilities) for part in parts]
    return Bounds(*(np.concatenate(arrays) for arrays in zip(*fields, strict=True)))


def _chunk(program: Program, rows: NDArray[Any], number: Number) -> Bounds:
    x = rows.astype(np.float64)
    env = {program.input.name: Bounded(x, np.zeros_like(x), np.zeros(len(x), dtype=bool))}
    types = infer_types(program)
    with np.errstate(all="ignore"):
        for node in program.body:
            arithmetic = ARITHMETIC["f64" if in_double(node, types) else number]
            value, error, unstable = propagate(node, env, program.tables, arithmetic)
            for name in ir.operands(node):
                unstable = unstable | env[name].unstable
            env[node.out] = Bounded(value, SECOND_ORDER * error, unstable)
    ends = [env[output.value] for output in program.outputs]
    errors = {output.name: env[output.value].error for output in program.outputs}
    none = np.zeros((len(x), 0))
    scores = errors.get("scores", errors.get("value", none))
    unstable = np.logical_or.reduce([end.unstable for end in ends])
    return Bounds(scores, unstable, errors.get("probabilities", none))


@propagate.register
def _(node: ir.Scale, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x, factor = env[node.x], np.abs(tables[node.factor])
    product = np.abs(x.value - tables[node.shift]) * factor
    offset = np.abs(tables[node.offset])
    error = factor * x.error + a.u * (3 * product + (offset != 0) * (np.abs(value) + offset))
    return value, error + a.tiny * (np.abs(x.value - tables[node.shift]) + 3), False


@propagate.register
def _(node: ir.Clip, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    return value, env[node.x].error + a.u * np.abs(value) + a.tiny, False


@propagate.register(ir.KernelSum)
@propagate.register(ir.PairSum)
def _(node: ir.KernelSum | ir.PairSum, env: Env, tables: Tables, a: Arithmetic) -> Result:
    kernel, error = kernel_errors(node.kernel, env[node.x], tables[node.vectors], a)
    value = _sum_over(node, kernel, tables[node.weights]) + tables[node.bias]

    def over(sizes: Array) -> Array:
        return _sum_over(node, sizes, np.abs(tables[node.weights]))

    return value, summing_error(kernel, error, over, value, tables[node.bias], a), False


def _sum_over(node: ir.KernelSum | ir.PairSum, kernel: Array, weights: Array) -> Array:
    """The node's weighted sums of given kernel values, without bias."""
    if isinstance(node, ir.PairSum):
        return pair_sums(kernel, weights.T, node.counts).astype(np.float64)
    return np.asarray(kernel @ weights.T)


@propagate.register
def _(node: ir.Affine, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x, weights = env[node.x], np.abs(tables[node.weights]).T
    h = np.abs(x.value - tables[node.centre])
    d = h.shape[1]
    sums = x.error @ weights + a.u * (d + 4) * (h @ weights)
    sums += a.tiny * (h.sum(axis=1, keepdims=True) + d + 2)
    return value, sums + 2 * a.u * (np.abs(value) + np.abs(tables[node.bias])), False


@propagate.register
def _(node: ir.Quadratic, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x = env[node.x]
    h = np.abs(x.value - tables[node.centre])
    d = h.shape[1]
    sizes = {name: np.abs(tables[name]) for name in (node.squares, node.weights, node.bias)}
    sizes[node.centre] = np.zeros(d)
    form = ir.Quadratic("size", "h", node.squares, node.weights, node.bias, node.centre)
    size = run(form, {"h": h}, sizes)
    # Moving h by e moves the form of absolute values by at most this much.
    moved = run(form, {"h": h + x.error}, sizes) - size
    # Tables of numbers too small for full precision are off by `tiny`, and so are the products.
    small = a.tiny * (np.square(h.sum(axis=1, keepdims=True) + 1) + 2 * d * d)
    return value, moved + a.u * (2 * d + 8) * size + 2 * a.u * np.abs(value) + small, False


@propagate.register
def _(node: ir.OvrScores, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    pairs = env[node.pairs]
    error = np.zeros((len(value), node.n_classes))
    size = np.zeros_like(error)
    for column, (i, j) in enumerate(pair_indices(node.n_classes)):
        for c in (i, j):
            error[:, c] += pairs.error[:, column]
            size[:, c] += np.abs(pairs.value[:, column])
    rounding = a.u * node.n_classes * (size + 2 * np.abs(value) + 4)
    return value, error / 3 + rounding, pairs.near_zero.any(axis=1)


@propagate.register
def _(node: ir.Vote, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    pairs = env[node.pairs]
    return value, np.zeros(len(value)), pairs.near_zero.any(axis=1)


@propagate.register
def _(node: ir.ArgMax, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    scores = env[node.scores]
    rows = np.arange(len(value))
    own = scores.error[rows, value]
    floor = scores.value[rows, value] - own
    rivals = scores.value + scores.error
    rivals[rows, value] = -np.inf
    rounded = scores.error + own[:, None] > 0  # else a tie is a tie everywhere, and the first index wins
    return value, np.zeros(len(value)), ((rivals >= floor[:, None]) & rounded).any(axis=1)


@propagate.register
def _(node: ir.Threshold, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    score = env[node.score]
    return value, np.zeros(len(value)), score.near_zero[:, 0]

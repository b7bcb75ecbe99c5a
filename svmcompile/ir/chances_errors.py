"""Error bounds of heads that give probabilities; cases of `propagate`.

Sigmoids and isotonic lines are monotone: a bound is how far they rise over the scores a row may have.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.chances_meaning import along_lines, sigmoid
from svmcompile.ir.coupling import coupling_errors
from svmcompile.ir.kernel import Array
from svmcompile.ir.propagate import (
    ARITHMETIC,
    Arithmetic,
    Env,
    Result,
    Tables,
    propagate,
    value_of,
)  # fmt: skip

SIGMOID_ROUNDINGS = 8  # of the exponential's factor, the sum, the quotient and the exponential itself


@propagate.register
def _(node: ir.Beside, env: Env, tables: Tables, a: Arithmetic) -> Result:
    return value_of(node, env, tables), np.hstack([env[node.left].error, env[node.right].error]), False


@propagate.register
def _(node: ir.Columns, env: Env, tables: Tables, a: Arithmetic) -> Result:
    return value_of(node, env, tables), env[node.values].error[:, tables[node.columns]], False


@propagate.register
def _(node: ir.Shifted, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    rounding = a.u * (np.abs(value) + np.abs(tables[node.by])) + a.tiny
    return value, env[node.scores].error + rounding, False


@propagate.register
def _(node: ir.Sigmoid, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value, scores = value_of(node, env, tables), env[node.scores]
    slopes, offsets = tables[node.slopes], tables[node.offsets]
    product = np.abs(slopes * scores.value)
    z = slopes * scores.value + offsets
    error = (
        np.abs(slopes) * scores.error + a.u * (3 * product + 2 * np.abs(offsets) + 3 * np.abs(z)) + a.tiny
    )
    moved = sigmoid(z - error, node.floor) - sigmoid(z + error, node.floor)
    return value, moved + (a.exp_error + SIGMOID_ROUNDINGS * a.u) * value + a.smallest, False


@propagate.register
def _(node: ir.Isotonic, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value, scores = value_of(node, env, tables), env[node.scores]
    starts, knots, levels = tables[node.starts], tables[node.knots], tables[node.levels]
    error = np.zeros_like(value)
    for column, (start, stop) in enumerate(pairwise(starts)):
        own, heights = knots[start:stop], levels[start:stop]
        x = np.clip(scores.value[:, column], own[0], own[-1])
        reach = scores.error[:, column] + 4 * a.u * (np.abs(x) + np.abs(own).max()) + a.tiny
        error[:, column] = np.abs(
            along_lines(x + reach, own, heights) - along_lines(x - reach, own, heights)
        )
    return value, error + 8 * a.u + a.tiny, False


@propagate.register
def _(node: ir.Density, env: Env, tables: Tables, a: Arithmetic) -> Result:
    """A score that rounding can move past a mark gives no bound."""
    value, score, marks = value_of(node, env, tables), env[node.score], tables[node.marks]
    reach = score.error + a.u * np.abs(marks) + a.tiny
    near = (np.abs(score.value - marks) <= reach).any(axis=1)
    return value, np.where(near[:, None], np.inf, 4 * a.u * np.ones_like(value)), False


@propagate.register
def _(node: ir.Complement, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    return value, np.repeat(env[node.chances].error, 2, axis=1) + a.u * value, False


@propagate.register
def _(node: ir.Shares, env: Env, tables: Tables, a: Arithmetic) -> Result:
    """p / s moves by (e + (p / s) sum of e) / s; where rounding can make s zero there is no bound."""
    value = value_of(node, env, tables)
    chances = env[node.chances]
    parts, errors, shares = (
        _grouped(array, node.groups) for array in (chances.value, chances.error, value)
    )
    total, slip = parts.sum(axis=2, keepdims=True), errors.sum(axis=2, keepdims=True)
    columns = parts.shape[2]
    least = total * (1 - columns * a.u) - slip
    known = np.where(least > 0, (errors + shares * slip) / least + (columns + 2) * a.u * shares, np.inf)
    exact = (total == 0) & (slip == 0)
    return value, np.where(exact, a.u * node.empty, known).reshape(value.shape) + a.tiny, False


@propagate.register
def _(node: ir.Mean, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    errors = _grouped(env[node.chances].error, node.groups).mean(axis=1)
    return value, errors + (node.groups + 2) * a.u * value + a.tiny, False


def _grouped(array: NDArray[Any], groups: int) -> NDArray[Any]:
    return array.reshape(len(array), groups, -1)


@propagate.register
def _(node: ir.Couple, env: Env, tables: Tables, a: Arithmetic) -> Result:
    """The sweeps are in double; their own rounding counts as one more error of the pairs."""
    value, pairs = value_of(node, env, tables), env[node.pairs]
    sweeping = 16 * node.n_classes * ARITHMETIC["f64"].u
    errors: Array = pairs.error + sweeping * np.minimum(pairs.value, 1 - pairs.value)
    moved = coupling_errors(pairs.value, errors, node.n_classes)
    return value, moved + sweeping + 2 * a.u * value + a.tiny, False

"""Error bounds of the nodes of preprocessing; cases of `propagate`.

Backends compute norms in double whatever the number type, or in float with sums in two
numbers, after a division by the largest feature; and cosines of turns whose whole part they take
off exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import features as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.propagate import (
    ARITHMETIC,
    Arithmetic,
    Bounded,
    Env,
    Result,
    Tables,
    propagate,
    value_of,
)
from svmcompile.ir.row_functions import missing, norms

NORM_ROUNDINGS = 5  # of a division by a norm that is in the number type itself


@propagate.register
def _(node: ir.AsFeatures, env: Env, tables: Tables, a: Arithmetic) -> Result:
    return env[node.scores].value, env[node.scores].error, False


@propagate.register
def _(node: ir.Pick, env: Env, tables: Tables, a: Arithmetic) -> Result:
    columns = tables[node.columns]
    return env[node.x].value[:, columns], env[node.x].error[:, columns], False


@propagate.register
def _(node: ir.Normalize, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x, d = env[node.x], value.shape[1]
    size, moved = norms(x.value, node.norm), norms(x.error, node.norm)
    in_double = (d + 6) * ARITHMETIC["f64"].u
    moved = moved + in_double * size
    small = size < node.least
    divisor = np.where(small, 1.0, np.maximum(size - moved, 0.0))[:, None]
    error = (x.error + np.abs(value) * np.where(small, 0.0, moved)[:, None]) / divisor
    error = np.where(small[:, None], error, np.fmin(error, 2.0))  # no feature is above its row's norm
    unstable = ~(np.abs(size - node.least) > moved) & np.isfinite(size)
    return value, error + NORM_ROUNDINGS * a.u * np.abs(value) + a.tiny, unstable


@propagate.register
def _(node: ir.Powers, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    degree = tables[node.factors].shape[1]
    sizes, errors = np.abs(env[node.x].value), env[node.x].error
    size, error = np.ones_like(value), np.zeros_like(value)
    for column in tables[node.factors].T:
        factor, e = (_with_column(part, end)[:, column] for part, end in ((sizes, 1.0), (errors, 0.0)))
        error = error * (factor + e) + size * e
        size = size * factor
    return value, error + degree * (a.u * (size + error) + a.tiny * (1 + size)), False


def _with_column(part: Array, end: float) -> Array:
    return np.hstack([part, np.full((len(part), 1), end)])


@propagate.register
def _(node: ir.Cosine, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x = env[node.x]
    # A backend may multiply by 2 pi before it takes the cosine.
    moved = 2 * np.pi * (x.error + 2 * a.u * np.abs(x.value))
    error = np.fmin(moved + a.cos_error, 2.0)
    return value, abs(node.factor) * (error + 2 * a.u) + a.tiny, False


@propagate.register
def _(node: ir.Fill, env: Env, tables: Tables, a: Arithmetic) -> Result:
    x, values = env[node.x], tables[node.values]
    gone = missing(x.value, node.nan, node.marker)
    error = np.where(gone, a.u * np.abs(values) + a.tiny, x.error)
    return value_of(node, env, tables), error, _in_doubt(node, x)


@propagate.register
def _(node: ir.Missing, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    return value, np.zeros_like(value), _in_doubt(node, env[node.x])


def _in_doubt(node: ir.Fill | ir.Missing, x: Bounded) -> NDArray[np.bool_]:
    """Rows in which rounding decides whether a number is the marker."""
    if node.nan:
        return np.zeros(len(x.value), dtype=bool)
    return np.asarray(((np.abs(x.value - node.marker) <= x.error) & (x.error > 0)).any(axis=1))


@propagate.register
def _(node: ir.Join, env: Env, tables: Tables, a: Arithmetic) -> Result:
    left, right = env[node.left], env[node.right]
    return np.hstack([left.value, right.value]), np.hstack([left.error, right.error]), False

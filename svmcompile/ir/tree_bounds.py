"""Error bounds of the nodes of trees; cases of `propagate`.

A row whose test lies within its error of the threshold may fall into another
leaf: it is marked unstable, and nothing is promised about its scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import is_given, margins, row_dots
from svmcompile.ir.kernel import Array
from svmcompile.ir.kernel_errors import kernel_errors
from svmcompile.ir.list_walk import walk_hits
from svmcompile.ir.paths import Paths, path_sums, paths
from svmcompile.ir.propagate import Arithmetic, Bounded, Env, Result, Tables, propagate, value_of
from svmcompile.ir.trees import Indices, leaf_functions, walk


@propagate.register
def _(node: ir.AxisRoute, env: Env, tables: Tables, a: Arithmetic) -> Result:
    x, features, thresholds = env[node.x], tables[node.features], tables[node.thresholds]
    unstable = np.zeros(len(x.value), dtype=bool)

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        value, error = (part[rows, features[at]] for part in (x.value, x.error))
        # The threshold is a float32 number: with no error in x the comparison is exact.
        unstable[rows] |= (np.abs(value - thresholds[at]) <= error) & (error > 0)
        return np.asarray(value > thresholds[at])

    leaf = walk(len(x.value), tables[node.children], above)
    return leaf, np.zeros(len(leaf)), unstable


@propagate.register
def _(node: ir.PlaneRoute, env: Env, tables: Tables, a: Arithmetic) -> Result:
    x, planes, thresholds = env[node.x], tables[node.planes], tables[node.thresholds]
    h = x.value - tables[node.centre]
    unstable = np.zeros(len(h), dtype=bool)

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        value = row_dots(h[rows], planes[at])
        error = _dot_error(h[rows], x.error[rows], planes[at], a) + a.u * np.abs(thresholds[at])
        unstable[rows] |= ~(np.abs(value - thresholds[at]) > error)
        return np.asarray(value > thresholds[at])

    leaf = walk(len(h), tables[node.children], above)
    return leaf, np.zeros(len(leaf)), unstable


@propagate.register
def _(node: ir.PlaneLists, env: Env, tables: Tables, a: Arithmetic) -> Result:
    x, planes, thresholds = env[node.x], tables[node.planes].astype(np.float64), tables[node.thresholds]
    h = x.value - tables[node.centre]
    values, sizes, d = h @ planes.T, np.abs(planes.T), h.shape[1]
    error = x.error @ sizes + a.u * (d + 4) * (np.abs(h) @ sizes) + a.u * np.abs(thresholds)
    error += a.tiny * (np.abs(h).sum(axis=1, keepdims=True) + d + 2)
    walk = walk_hits(node, values > thresholds, tables, np.float64)
    near = ~(np.abs(values - thresholds) > error)
    return walk.scores, np.zeros(walk.scores.shape), (walk.tested & near).any(axis=1)


def _dot_error(h: Array, e: Array, weights: NDArray[Any], a: Arithmetic) -> Array:
    """Bound on the error of dot products row by row; h = x - centre, where x is off by e."""
    sizes, d = np.abs(weights.astype(np.float64)), h.shape[1]
    error = row_dots(e, sizes) + a.u * (d + 4) * row_dots(np.abs(h), sizes)
    return np.asarray(error + a.tiny * (np.abs(h).sum(axis=1) + d + 2))


@propagate.register
def _(node: ir.LeafAffine, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x, leaf, weights = env[node.x], env[node.leaf].value, tables[node.weights]
    h = x.value - tables[node.centre]
    error = 2 * a.u * (np.abs(value) + np.abs(tables[node.bias][leaf]))
    for rows, functions in leaf_functions(leaf, tables[node.starts]):
        unit = np.abs(tables[node.units][functions])
        part = unit * _dot_error(h[rows], x.error[rows], weights[functions], a)
        part += 2 * a.u * unit * np.abs(row_dots(h[rows], weights[functions]))
        error[rows, tables[node.sums][functions]] += part
    return value, error + a.tiny, False


@propagate.register
def _(node: ir.PathSum, env: Env, tables: Tables, a: Arithmetic) -> Result:
    kernel, errors = kernel_errors(node.kernel, env[node.x], tables[node.vectors], a)
    picks, thresholds, children = (tables[name] for name in (node.picks, node.thresholds, node.children))
    path = paths(kernel, picks, thresholds, children)
    error: Array = path.along(errors, picks).astype(np.float64) + a.smallest
    unstable = _strays(path, error, thresholds, children, a)
    starts, weights, bias = (tables[name] for name in (node.starts, node.weights, node.bias))
    value = path_sums(path.leaf, path.met, starts, weights, bias)
    error = error + a.u * (path.met.shape[1] + 2) * np.abs(path.met)
    total = path_sums(path.leaf, error, starts, np.abs(weights), a.u * np.abs(bias))
    total += a.u * np.abs(value) + a.tiny * (np.abs(path.met).sum(axis=1, keepdims=True) + 2)
    read = path.met if is_given(node) else env[node.x].value
    value[~np.isfinite(read).all(axis=1)] = np.nan
    return value, total, unstable


def _strays(
    path: Paths, error: Array, thresholds: Array, children: NDArray[Any], a: Arithmetic
) -> NDArray[np.bool_]:
    """Rows that meet a value closer to its threshold than its error, at a node that tests it."""
    tested = (path.nodes >= 0) & (children[path.nodes, 0] != children[path.nodes, 1])
    threshold = thresholds[path.nodes]
    sure = np.abs(path.met - threshold) > error + a.u * np.abs(threshold)
    return np.asarray((tested & ~sure).any(axis=1))


@propagate.register
def _(node: ir.Products, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    h = np.abs(env[node.x].value - tables[node.centre])
    e = env[node.x].error + a.u * h + a.tiny
    first, second = np.triu_indices(h.shape[1])
    moved = h[:, first] * e[:, second] + h[:, second] * e[:, first] + e[:, first] * e[:, second]
    products = moved + a.u * h[:, first] * h[:, second] + a.tiny
    return value, np.hstack([e, products]), False


@propagate.register
def _(node: ir.Add, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    error = env[node.left].error + env[node.right].error
    return value, error + a.u * np.abs(value) + a.tiny, False


@propagate.register
def _(node: ir.Reach, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x, score = env[node.x], env[node.score]
    h = x.value - tables[node.centre]
    distance = np.sqrt(np.square(h).sum(axis=1))
    error = np.sqrt(np.square(x.error).sum(axis=1)) + a.u * (h.shape[1] + 4) * (distance + node.radius)
    beyond = (distance > node.radius)[:, None]
    rounded = a.u * np.abs(tables[node.far]) + a.tiny
    unstable = np.abs(distance - node.radius) <= error
    return value, np.where(beyond, rounded, score.error), unstable


@propagate.register
def _(node: ir.Guard, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    score = env[node.score]
    margin = margins(score.value, node.rule)
    near = ~(margin >= node.width)
    width = min(node.width, float(np.finfo(np.float64).max))  # an infinite one is met by no margin
    unstable = ~(np.abs(margin - width) > _margin_error(score, node.rule, a) + a.u * width)
    if node.rule == "vote":  # another winner has another margin
        unstable |= score.near_zero.any(axis=1)
    return value, np.where(near[:, None], env[node.exact].error, score.error), unstable


def _margin_error(score: Bounded, rule: str, a: Arithmetic) -> Array:
    worst = np.asarray(score.error.max(axis=1))
    if rule != "argmax":
        return worst
    return np.asarray(2 * worst + 2 * a.u * np.abs(score.value).max(axis=1))

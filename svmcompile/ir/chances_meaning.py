"""What heads that give probabilities mean; cases of `run`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.coupling import couple
from svmcompile.ir.meaning import Env, Floats, Tables, run

LEAST, MOST = 0.001, 0.999  # of an inlier, below and above all marks


@run.register
def _(node: ir.Beside, env: Env, tables: Tables) -> NDArray[Any]:
    return np.hstack([env[node.left], env[node.right]])


@run.register
def _(node: ir.Columns, env: Env, tables: Tables) -> NDArray[Any]:
    return np.asarray(env[node.values][:, tables[node.columns]])


@run.register
def _(node: ir.Shifted, env: Env, tables: Tables) -> NDArray[Any]:
    return np.asarray(env[node.scores] + tables[node.by])


@run.register
def _(node: ir.Sigmoid, env: Env, tables: Tables) -> NDArray[Any]:
    z = tables[node.slopes] * env[node.scores] + tables[node.offsets]
    return sigmoid(z, node.floor)


def sigmoid(z: Floats, floor: float) -> Floats:
    """1 / (1 + exp(z)) held within floor and 1 - floor, without an exponential above one."""
    e = np.exp(-np.abs(z))
    p = np.where(z >= 0, e, z.dtype.type(1)) / (1 + e)
    return np.asarray(np.clip(p, z.dtype.type(floor), z.dtype.type(1 - floor)))


@run.register
def _(node: ir.Isotonic, env: Env, tables: Tables) -> NDArray[Any]:
    scores, starts = env[node.scores], tables[node.starts]
    knots, levels = tables[node.knots], tables[node.levels]
    columns = []
    for column, (start, stop) in enumerate(pairwise(starts)):
        columns.append(along_lines(scores[:, column], knots[start:stop], levels[start:stop]))
    return np.stack(columns, axis=1).astype(scores.dtype)


def along_lines(x: Floats, knots: Floats, levels: Floats) -> Floats:
    """Linear interpolation between knots, as scipy computes it; two knots in one place are a step."""
    x = np.clip(x, knots[0], knots[-1])
    high = np.clip(np.searchsorted(knots, x), 1, len(knots) - 1)
    width = knots[high] - knots[high - 1]
    slope = np.where(width > 0, (levels[high] - levels[high - 1]) / width, 0)
    return np.asarray(slope * (x - knots[high - 1]) + levels[high - 1])


@run.register
def _(node: ir.Density, env: Env, tables: Tables) -> NDArray[Any]:
    score, marks = env[node.score], tables[node.marks]
    count = len(marks)
    above = np.searchsorted(marks[1:], score[:, 0], side="right") + 1  # the first mark, from 1 on, above
    inlier = np.where(above < count, above / count, 0.0)
    inlier = np.where(score[:, 0] > marks[-1], MOST, np.where(score[:, 0] < marks[0], LEAST, inlier))
    inlier = np.where(np.isnan(score[:, 0]), np.nan, inlier)
    return np.stack([1.0 - inlier, inlier], axis=1).astype(score.dtype)


@run.register
def _(node: ir.Complement, env: Env, tables: Tables) -> NDArray[Any]:
    p = env[node.chances]
    return np.stack([1 - p, p], axis=2).reshape(len(p), -1)


@run.register
def _(node: ir.Shares, env: Env, tables: Tables) -> NDArray[Any]:
    p = env[node.chances]
    parts = p.reshape(len(p), node.groups, -1)
    total = parts.sum(axis=2, keepdims=True)
    empty = parts.dtype.type(node.empty)
    return np.asarray(np.where(total != 0, parts / total, empty).reshape(p.shape))


@run.register
def _(node: ir.Mean, env: Env, tables: Tables) -> NDArray[Any]:
    p = env[node.chances]
    total, *others = np.split(p, node.groups, axis=1)
    for part in others:  # in order, so that ties stay ties
        total = total + part
    return np.asarray(total / p.dtype.type(node.groups))


@run.register
def _(node: ir.Couple, env: Env, tables: Tables) -> NDArray[Any]:
    """In double, whatever the number type: the number of sweeps hangs on it."""
    pairs = env[node.pairs]
    return couple(pairs.astype(np.float64), node.n_classes)[0].astype(pairs.dtype)

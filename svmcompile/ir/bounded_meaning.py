"""What bounded sums mean; cases of `run`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.champions import UNSURE, Match, champions, pair_indices
from svmcompile.ir.meaning import Env, Tables, run
from svmcompile.ir.stages import PairTables, pair_stages, stages


@run.register
def _(node: ir.Widen, env: Env, tables: Tables) -> NDArray[Any]:
    return env[node.x].astype(np.float64)


@run.register
def _(node: ir.BoundedSum, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x]
    found = stages(node, x, tables)
    first = found.first_sure(node.tolerance)
    score = found.scores[np.arange(len(x)), first]  # of all vectors where none is sure
    if node.tolerance < 0:
        score = np.where(first < 0, env[node.exact][:, 0], score)
    return score[:, None].astype(x.dtype)


@run.register
def _(node: ir.BoundedVote, env: Env, tables: Tables) -> NDArray[Any]:
    label = match_of(node, env[node.x], env[node.guess], tables).label
    return np.where(label == UNSURE, env[node.exact], label)


def match_of(node: ir.BoundedVote, x: NDArray[Any], guess: NDArray[Any], tables: Tables) -> Match:
    """How the vote of each row is settled."""
    known = PairTables(node, x, tables)
    n_classes = len(node.counts)
    signs = np.zeros((len(x), len(tables[node.bias])), dtype=np.int64)
    for pair, classes in enumerate(pair_indices(n_classes)):
        found = pair_stages(node, pair, classes, known)
        first = found.first_sure(-1.0)
        score = found.scores[np.arange(len(x)), first]
        signs[:, pair] = np.where(first < 0, 0, np.where(score > 0, 1, -1))
    ranked = np.where(np.isnan(guess), -np.inf, guess)
    return champions(ranked.argmax(axis=1).astype(np.int64), signs, n_classes)

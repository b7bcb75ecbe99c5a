"""What leaf sums mean; cases of `run`. Each leaf is taken once, for all rows that fall into it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.interpret import (
    packed_values,
    pair_indices,
    pair_sums,
    poisoned,
    run,
)
from svmcompile.ir.leaf_layout import Leaf, leaves, packed_layout, whole
from svmcompile.ir.leaf_sums import LeafSums, PackedLeaves
from svmcompile.ir.meaning import Env, Floats, Tables

ABSENT = -1.0  # votes of a class that is not in the leaf
LOWEST = float(np.finfo(np.float32).min)  # the score of such a class where sums are compared


def empty_scores(rule: str, classes: int, rows: int, dtype: Any) -> Floats:
    """Scores before any leaf has spoken."""
    if rule == "sum":
        return np.zeros((rows, 1), dtype=dtype)
    return np.full((rows, classes), ABSENT if rule == "vote" else LOWEST, dtype=dtype)


def leaf_scores(rule: str, sums: Floats, members: NDArray[Any]) -> Floats:
    """What the sums [rows, sums] say of the leaf's classes, [rows, classes of the leaf]."""
    if rule == "sum":
        return sums
    if len(members) == 1:
        return np.zeros((len(sums), 1), dtype=sums.dtype)
    if rule == "ovr":
        return sums
    votes = np.zeros((len(sums), len(members)), dtype=sums.dtype)
    for column, (i, j) in enumerate(pair_indices(len(members))):
        votes[:, i] += sums[:, column] > 0
        votes[:, j] += ~(sums[:, column] > 0)
    return votes


def leaf_columns(rule: str, members: NDArray[Any]) -> NDArray[Any]:
    """Where in the scores a leaf's own go."""
    return np.zeros(1, dtype=np.int64) if rule == "sum" else members


def weighted(rule: str, values: Floats, weights: Floats, counts: tuple[int, ...]) -> Floats:
    """The sums of one leaf, without bias, from kernel values [rows, n] and weights [n, columns]."""
    if len(counts) == 1:  # a constant has no vectors
        return np.zeros((len(values), 1 if rule == "sum" else 0))
    return pair_sums(values, weights, counts) if rule == "vote" else np.asarray(values @ weights)


def own_weights(leaf: Leaf, weights: NDArray[Any]) -> NDArray[Any]:
    """[vectors, columns] of a leaf."""
    return np.asarray(weights[leaf.weights].reshape(-1, max(leaf.columns, 1)))


@run.register
def _(node: LeafSums, env: Env, tables: Tables) -> NDArray[Any]:
    x, at = env[node.x], env[node.leaf]
    out = empty_scores(node.rule, node.classes, len(x), x.dtype)
    for leaf in leaves(node, tables):
        rows = np.flatnonzero(at == leaf.number)
        if len(rows):
            values = node.kernel.values(x[rows], tables[node.vectors][leaf.vectors])
            sums = weighted(node.rule, values, own_weights(leaf, tables[node.weights]), leaf.counts)
            found = leaf_scores(node.rule, sums + tables[node.bias][leaf.bias], leaf.members)
            out[np.ix_(rows, leaf_columns(node.rule, leaf.members))] = found
    return poisoned(x, out)


@run.register
def _(node: PackedLeaves, env: Env, tables: Tables) -> NDArray[Any]:
    x, at = env[node.x], env[node.leaf]
    out = empty_scores(node.rule, node.classes, len(x), x.dtype)
    firsts, members = whole(tables[node.firsts]), whole(tables[node.members])
    for leaf in range(len(firsts) - 1):
        rows = np.flatnonzero(at == leaf)
        if len(rows):
            own = members[firsts[leaf] : firsts[leaf + 1]]
            found = leaf_scores(node.rule, _packed_sums(node, x[rows], leaf, tables), own)
            out[np.ix_(rows, leaf_columns(node.rule, own))] = found.astype(x.dtype)
    return poisoned(x, out)


def _packed_sums(node: PackedLeaves, x: Floats, leaf: int, tables: Tables) -> Floats:
    """The sums of one leaf, bias included, in double."""
    layout, starts, firsts = packed_layout(node, tables), whole(tables[node.starts]), tables[node.firsts]
    _, d, lanes = tables[node.vectors].shape
    places = slice(starts[leaf] * lanes, starts[leaf + 1] * lanes)
    vectors = tables[node.vectors][starts[leaf] : starts[leaf + 1]].transpose(0, 2, 1).reshape(-1, d)
    offsets = tables[node.offsets][places] if node.shape == "exp2" else tables[node.offsets]
    values = packed_values(node, x, vectors, offsets)
    ends = whole(tables[node.ends])[firsts[leaf] : firsts[leaf + 1]]
    counts = tuple(np.diff(ends, prepend=0).tolist())
    weights = tables[node.weights].astype(np.float64)
    if node.rule == "sum":
        sums: Floats = values @ weights[places, None]
    else:
        n, columns = int(layout.vectors[leaf]), int(layout.columns[leaf])
        own = weights[layout.places[leaf] : layout.places[leaf + 1]].reshape(n, columns)
        sums = weighted(node.rule, values[:, :n], own, counts)
    return sums + tables[node.bias][layout.bias_firsts[leaf] : layout.bias_firsts[leaf + 1]]

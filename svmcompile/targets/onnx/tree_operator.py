"""The operator that walks trees of one feature per test.

`walk_tree` gives the index of the end, `walk_chains` the answers of lists of tests.

ai.onnx.ml's `TreeEnsembleRegressor`, with the index as the leaf's weight. Its
results are float, so indices stay below 2^24. Its thresholds are float too;
double rows are compared with them in double. Form "plain" does without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.targets.onnx import plain_trees
from svmcompile.targets.onnx.graph import INDEX, ML
from svmcompile.targets.onnx.plain_trees import Integers
from svmcompile.targets.onnx.values import Values

MAX_INDEX = 2**24  # beyond, float skips whole numbers


def walk_tree(
    values: Values, x: str, features: Integers, thresholds: NDArray[Any], children: Integers, ends: Integers
) -> str:
    """ends[e] for rows whose walk reaches the child ~e; above a threshold goes right, NaN left."""
    if values.options.onnx_form == "plain":
        return plain_trees.walk_tree(values, x, features, thresholds, children, ends)
    if ends.max() >= MAX_INDEX:
        raise EmitError("a tree has too many leaves for ONNX; use the C target or a smaller tree")
    targets = np.where(children < 0, len(children) + ~children, children)
    tree = _tree(0, features.tolist(), thresholds.tolist(), targets.T.tolist(), ends.tolist())
    weights = values.graph.op("TreeEnsembleRegressor", x, domain=ML, n_targets=1, **tree)
    return values.cast(values.graph.op("Squeeze", weights, values.integers(1)), INDEX)


def walk_chains(
    values: Values, above: str, starts: Integers, answers: NDArray[Any], rest: NDArray[Any]
) -> str:
    """Float scores [rows, lists]: of each list the answer of its first test above zero, else its rest.

    A chain per list: test by test, right to an answer, left to the next test. NaN goes left.
    """
    if values.options.onnx_form == "plain":
        return plain_trees.walk_chains(values, above, starts, answers, rest)
    trees = []
    for p, (first, end) in enumerate(pairwise(starts.tolist())):
        tests = end - first
        onward = [*range(1, tests), 2 * tests][:tests]  # the last test goes on to the rest
        below, weights = (onward, range(tests, 2 * tests)), [*answers[first:end].tolist(), rest[p]]
        trees.append(_tree(p, range(first, end), [0.0] * tests, below, weights))
    joined = {name: tuple(item for tree in trees for item in tree[name]) for name in trees[0]}
    return values.graph.op("TreeEnsembleRegressor", above, domain=ML, n_targets=len(trees), **joined)


def _tree(
    number: int,
    features: Sequence[int],
    thresholds: Sequence[float],
    below: Sequence[Sequence[int]],
    weights: Sequence[float],
) -> dict[str, Any]:
    """The attributes of one tree: its tests, with what is below on the left and right, then its leaves."""
    tests, leaves = len(features), len(weights)
    nodes, none = tests + leaves, (0,) * leaves
    return {
        "nodes_treeids": (number,) * nodes,
        "nodes_nodeids": tuple(range(nodes)),
        "nodes_modes": ("BRANCH_LEQ",) * tests + ("LEAF",) * leaves,
        "nodes_featureids": (*features, *none),
        "nodes_values": (*thresholds, *(0.0,) * leaves),
        "nodes_truenodeids": (*below[0], *none),
        "nodes_falsenodeids": (*below[1], *none),
        "nodes_missing_value_tracks_true": (1,) * nodes,
        "target_treeids": (number,) * leaves,
        "target_nodeids": tuple(range(tests, nodes)),
        "target_ids": (number,) * leaves,
        "target_weights": tuple(map(float, weights)),
    }

"""The operator that walks trees of one feature per test.

`walk_tree` gives the index of the end, `walk_chains` the answers of lists of tests.

ai.onnx.ml's `TreeEnsembleRegressor`, with the index as the leaf's weight. Its
results are float, so indices stay below 2^24. Its thresholds are float too;
double rows are compared with them in double.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.targets.onnx.graph import INDEX, TREES, Values

Integers = NDArray[np.integer[Any]]
Numbers = tuple[int, ...]

MAX_INDEX = 2**24  # beyond, float skips whole numbers


def walk_tree(
    values: Values, x: str, features: Integers, thresholds: NDArray[Any], children: Integers, ends: Integers
) -> str:
    """ends[e] for rows whose walk reaches the child ~e; above a threshold goes right, NaN left."""
    if ends.max() >= MAX_INDEX:
        raise EmitError("a tree has too many leaves for ONNX; use the C target or a smaller tree")
    weights = values.graph.op(
        "TreeEnsembleRegressor", x, **_attributes(features, thresholds, children, ends)
    )
    return values.cast(values.graph.op("Squeeze", weights, values.integers(1)), INDEX)


def _attributes(
    features: Integers, thresholds: NDArray[Any], children: Integers, ends: Integers
) -> dict[str, Any]:
    """Tests first, then ends; all belong to the one tree 0."""
    tests, leaves = len(children), len(ends)
    targets = np.where(children < 0, tests + ~children, children)
    below = [_numbers(targets[:, side], leaves) for side in (0, 1)]
    return {
        "domain": TREES[0],
        "n_targets": 1,
        "nodes_treeids": (0,) * (tests + leaves),
        "nodes_nodeids": tuple(range(tests + leaves)),
        "nodes_modes": ("BRANCH_LEQ",) * tests + ("LEAF",) * leaves,
        "nodes_featureids": _numbers(features, leaves),
        "nodes_values": tuple(map(float, thresholds)) + (0.0,) * leaves,
        "nodes_truenodeids": below[0],
        "nodes_falsenodeids": below[1],
        "nodes_missing_value_tracks_true": (1,) * (tests + leaves),
        "target_treeids": (0,) * leaves,
        "target_nodeids": tuple(range(tests, tests + leaves)),
        "target_ids": (0,) * leaves,
        "target_weights": tuple(map(float, ends)),
    }


def walk_chains(
    values: Values, above: str, starts: Integers, answers: NDArray[Any], rest: NDArray[Any]
) -> str:
    """Float scores [rows, lists]: of each list the answer of its first test above zero, else its rest.

    A chain per list: test by test, right to an answer, left to the next test. NaN goes left.
    """
    trees = [
        _chain(p, range(int(first), int(end)), answers, float(rest[p]))
        for p, (first, end) in enumerate(pairwise(starts))
    ]
    joined = {name: tuple(item for tree in trees for item in tree[name]) for name in trees[0]}
    return values.graph.op("TreeEnsembleRegressor", above, domain=TREES[0], n_targets=len(trees), **joined)


def _chain(p: int, planes: range, answers: NDArray[Any], rest: float) -> dict[str, Any]:
    """The attributes of tree p: its tests, an answer for each, then the rest."""
    tests = len(planes)
    nodes, leaves = 2 * tests + 1, tests + 1
    onward = [*range(1, tests), 2 * tests]  # the last test goes on to the rest
    return {
        "nodes_treeids": (p,) * nodes,
        "nodes_nodeids": tuple(range(nodes)),
        "nodes_modes": ("BRANCH_LEQ",) * tests + ("LEAF",) * leaves,
        "nodes_featureids": (*planes, *(0,) * leaves),
        "nodes_values": (0.0,) * nodes,
        "nodes_truenodeids": (*onward[:tests], *(0,) * leaves),
        "nodes_falsenodeids": (*range(tests, 2 * tests), *(0,) * leaves),
        "nodes_missing_value_tracks_true": (1,) * nodes,
        "target_treeids": (p,) * leaves,
        "target_nodeids": tuple(range(tests, nodes)),
        "target_ids": (p,) * leaves,
        "target_weights": (*(float(answers[j]) for j in planes), rest),
    }


def _numbers(of_tests: Integers, leaves: int) -> Numbers:
    """One number per test, and zeros for the leaves, which have none."""
    return tuple(map(int, of_tests)) + (0,) * leaves

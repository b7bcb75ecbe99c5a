"""Trees and lists of tests in operators of ai.onnx alone, for run times that lack ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.walks import node_depths
from svmcompile.targets.onnx.graph import INDEX
from svmcompile.targets.onnx.values import Values

Integers = NDArray[np.integer[Any]]
UNROLLED_LEVELS = 16  # from here on a loop, which ends with the last row


def walk_tree(
    values: Values, x: str, features: Integers, thresholds: NDArray[Any], children: Integers, ends: Integers
) -> str:
    """ends[e] for rows whose walk reaches the child ~e; above a threshold goes right, NaN left.

    Level by level. A place is a test, or the number of tests plus an end, where rows stay.
    """
    graph, tests = values.graph, len(features)
    idle = np.zeros(len(ends), np.int64)
    places = np.where(children < 0, tests + ~children, children)
    stay = tests + np.arange(len(ends))
    feature = graph.constant(np.concatenate([features, idle]).astype(np.int64))
    threshold = values.like(x, np.concatenate([thresholds, idle]))
    sides = [graph.constant(np.concatenate([places[:, at], stay]).astype(INDEX)) for at in (1, 0)]

    def step(inside: Values, place: str) -> str:
        """The place of every row one level below."""
        inner = inside.graph
        column = inner.op("Unsqueeze", inner.op("Gather", feature, place, axis=0), inside.integers(1))
        value = inner.op("Squeeze", inner.op("GatherElements", x, column, axis=1), inside.integers(1))
        above = inner.op("Greater", value, inner.op("Gather", threshold, place, axis=0))
        return inner.op("Where", above, *(inner.op("Gather", side, place, axis=0) for side in sides))

    levels, place = 1 + int(node_depths(children).max()), _first_places(values, x)
    if levels > UNROLLED_LEVELS:
        body = graph.nested(INDEX)
        inside = values.within(body)
        after = step(inside, body.argument)
        unfinished = inside.any(body.op("Less", after, inside.index(tests)))
        place = graph.loop(graph.constant(np.array(levels, np.int64)), place, body, unfinished, after)
    else:
        for _ in range(levels):
            place = step(values, place)
    found = graph.constant(np.concatenate([np.zeros(tests), ends]).astype(INDEX))
    return graph.op("Gather", found, place, axis=0)


def _first_places(values: Values, x: str) -> str:
    """A zero for each row."""
    graph = values.graph
    rows = graph.op("Slice", graph.op("Shape", x), *(values.integers(at) for at in (0, 1, 0)))
    return graph.op("Expand", values.index(0), rows)


def walk_chains(
    values: Values, above: str, starts: Integers, answers: NDArray[Any], rest: NDArray[Any]
) -> str:
    """Float scores [rows, lists]: of each list the answer of its first test above zero, else its rest.

    Lists are filled up to the same length with tests that always hold; the first that holds answers.
    """
    graph, lists = values.graph, len(rest)
    counts = np.diff(starts.astype(np.int64))
    place = np.arange(counts.max(initial=0) + 1)
    inside = place < counts[:, None]
    column = np.where(inside, starts[:-1, None] + place, 0)
    held = graph.op("Greater", graph.op("Gather", above, column.ravel(), axis=1), values.like(above, 0.0))
    held = graph.op("Or", held, ~inside.ravel())
    shape = values.integers(0, lists, len(place))
    numbers = values.cast(graph.op("Reshape", held, shape), INDEX)
    first = graph.op("ArgMax", numbers, axis=2, keepdims=0)
    said = np.where(
        inside, np.append(answers, 0.0)[np.where(inside, column, -1)], np.asarray(rest)[:, None]
    )
    flat = graph.op("Add", first, (np.arange(lists) * len(place)).astype(np.int64))
    return graph.op("Gather", said.astype(np.float32).ravel(), flat, axis=0)

"""Random trees and small programs around them, shared by the tests of backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.check import check
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program

Array = NDArray[Any]
Random = np.random.Generator


def random_children(random: Random, nodes: int, chain: int = 0) -> Array:
    """Links of a random tree; its first nodes make a chain to the right, so it is at least that deep."""
    children = np.zeros((nodes, 2), dtype=np.int64)
    free = [(0, 0), (0, 1)]
    for node in range(1, nodes):
        place = len(free) - 1 if node < chain else int(random.integers(len(free)))
        children[free.pop(place)] = node
        free += [(node, 0), (node, 1)]
    for leaf, slot in zip(random.permutation(nodes + 1), free, strict=True):
        children[slot] = ~leaf
    return children


def full_children(levels: int) -> Array:
    """Links of a full tree, level by level."""
    nodes = 2**levels - 1
    below = np.stack([2 * np.arange(nodes) + 1, 2 * np.arange(nodes) + 2], axis=1)
    return np.where(below < nodes, below, ~(below - nodes))


def program_of(body: Sequence[ir.Node], tables: Mapping[str, Any], d: int, classes: int = 0) -> Program:
    """A checked program whose scores are `out`, and its label `label`, or a value without classes."""
    outputs = (Output("scores", "out"), Output("label", "label")) if classes else (Output("value", "out"),)
    labels = Labels(tuple(range(classes)), "<i8") if classes else None
    arrays = {name: np.asarray(table) for name, table in tables.items()}
    origin = Origin("test", "00", 0, 0, "test", Claim.APPROXIMATE)
    return check(Program(Input(d), tuple(body), outputs, arrays, labels, origin))


def _cuts(random: Random, nodes: int, chain: int) -> Array:
    """Where tests cut a normal distribution; most rows pass a chain."""
    return np.where(np.arange(nodes) < chain, -2.2, random.normal(size=nodes) * 0.3)


def axis_route(
    random: Random, children: Array, d: int, chain: int = 0
) -> tuple[ir.AxisRoute, dict[str, Array]]:
    """A route `leaf` from x by single features; rows are normal."""
    nodes = len(children)
    cuts = _cuts(random, nodes, chain) + random.normal(size=nodes) * 0.1
    tables = {
        "features": random.integers(0, d, nodes),
        "thresholds": nearest_float32(cuts),
        "children": children,
    }
    return ir.AxisRoute("leaf", "x", "features", "thresholds", "children"), tables


def plane_route(
    random: Random, children: Array, d: int, chain: int = 0, dtype: Any = np.float64
) -> tuple[ir.PlaneRoute, dict[str, Array]]:
    """A route `leaf` from x by planes; rows are normal."""
    nodes = len(children)
    planes, centre = random.normal(size=(nodes, d)), nearest_float32(random.normal(size=d))
    if dtype == np.int8:
        planes = np.clip(np.rint(30 * planes), -127, 127)
    planes = planes.astype(dtype)
    wide = planes.astype(np.float64)
    cuts = _cuts(random, nodes, chain) * np.linalg.norm(wide, axis=1)
    tables = {
        "planes": planes,
        "thresholds": cuts - wide @ centre,
        "children": children,
        "route_centre": centre,
    }
    return ir.PlaneRoute("leaf", "x", "planes", "thresholds", "children", "route_centre"), tables


def leaf_affine(
    random: Random,
    leaves: int,
    d: int,
    m: int,
    most: int | None = None,
    dtype: Any = np.float64,
    x: str = "x",
) -> tuple[ir.LeafAffine, dict[str, Array]]:
    """Scores `out` of `leaf`: m functions per leaf in order, or up to `most`, each for any score."""
    counts = np.full(leaves, m) if most is None else random.integers(0, most + 1, leaves)
    counts[0] = max(counts[0], 1)
    functions = int(counts.sum())
    weights, units = random.normal(size=(functions, d)), np.ones(functions)
    if dtype == np.int8:
        weights, units = np.clip(np.rint(30 * weights), -127, 127), random.uniform(0.1, 1, functions)
    tables = {
        "starts": np.concatenate([[0], np.cumsum(counts)]),
        "sums": np.tile(np.arange(m), leaves) if most is None else random.integers(0, m, functions),
        "weights": weights.astype(dtype),
        "units": units,
        "leaf_bias": random.normal(size=(leaves, m)),
        "leaf_centre": nearest_float32(random.normal(size=d)),
    }
    names = ("starts", "sums", "weights", "units", "leaf_bias", "leaf_centre")
    return ir.LeafAffine("out", x, "leaf", *names), tables


def random_rows(random: Random, count: int, d: int) -> Array:
    """Rows that every number type holds."""
    return nearest_float32(random.normal(size=(count, d)))


def spoilt(random: Random, rows: Array, share: float = 0.1) -> Array:
    """The rows with NaN and infinities here and there."""
    odd = random.choice([np.nan, np.inf, -np.inf], size=rows.shape)
    return np.where(random.random(rows.shape) < share, odd, rows)

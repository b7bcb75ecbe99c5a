"""What type rules ask for; ValueError if it is not so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.node import At
from svmcompile.ir.walks import leaf_depths, node_depths

MAX_DEGREE = 1 << 16


def need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def shapes(at: At, **expected: tuple[int, ...]) -> None:
    """Tables, by field, have these shapes."""
    for field, shape in expected.items():
        table, name = getattr(at, field), getattr(at.node, field)
        need(table.shape == shape, f"{field} @{name} is {table.shape}, expected {shape}")


def features(at: At) -> int:
    """The width of the features a node reads."""
    need(at.x.kind is Kind.FEATURES, f"%{at.node.x} is not features")
    return int(at.x.width)


def leaf_count(at: At) -> int:
    """How many leaves a node's leaf may be."""
    need(at.leaf.kind is Kind.INDEX, f"%{at.node.leaf} is not an index")
    return int(at.leaf.width)


def sound_kernel(kernel: Kernel) -> None:
    need(math.isfinite(kernel.gamma) and math.isfinite(kernel.coef0), "the kernel is not finite")
    sound_degree(kernel.degree)


def sound_degree(degree: int) -> None:
    need(0 <= degree <= MAX_DEGREE, f"degree {degree} is not within 0 and {MAX_DEGREE}")


def rising(starts: NDArray[Any], end: int, what: str = "functions") -> None:
    """Starts of parts that follow each other, and the end of the last."""
    rises = starts[0] == 0 and starts[-1] == end and (np.diff(starts.astype(np.int64)) >= 0).all()
    need(bool(rises), f"starts do not rise from zero to the number of {what}")


def within(indices: NDArray[Any], end: int, what: str) -> None:
    need(bool(((indices >= 0) & (indices < end)).all()), f"{what} is not within 0 and {end - 1}")


def float32_only(at: At, *fields: str) -> None:
    """Shifts and thresholds mean the same in every number type only if float32 holds them."""
    for field in fields:
        _float32(getattr(at.node, field), getattr(at, field))


def _float32(name: str, table: NDArray[Any]) -> None:
    with np.errstate(over="ignore"):
        same = table.astype(np.float32).astype(table.dtype) == table
    need(bool(same.all()), f"@{name} holds numbers that are not float32")


def not_below_zero(at: At, *fields: str) -> None:
    """Bounds are bounds."""
    for field in fields:
        need(bool((getattr(at, field) >= 0).all()), f"@{getattr(at.node, field)} holds a number below zero")


def class_counts(counts: tuple[int, ...]) -> None:
    """Vectors of two classes or more."""
    need(len(counts) >= 2 and min(counts) >= 0, "two or more classes needed")


def pair_count(n_classes: int) -> int:
    """How many pairs so many classes have."""
    need(n_classes >= 2, "two or more classes needed")
    return n_classes * (n_classes - 1) // 2


def sum_count(at: At) -> int:
    """How many sums there are: one per bias."""
    sums = int(at.bias.shape[0])
    need(sums > 0, f"bias @{at.node.bias} is empty")
    return sums


def vector_width(at: At) -> int:
    """How wide the vectors must be."""
    width = features(at)
    if at.kernel.kind != "precomputed":
        return width
    within(at.vectors, width, "a training point")
    return 1


def tree_type(at: At) -> Type:
    """The type of a route: every walk ends, and every leaf stands at the end of one."""
    links = links_of(at)
    leaves = len(links) + 1
    need(np.array_equal(np.sort(~links[links < 0]), np.arange(leaves)), "a leaf has not one parent")
    return Type(Kind.INDEX, leaves)


def links_of(at: At) -> NDArray[Any]:
    """The children of a tree whose every walk ends."""
    links: NDArray[Any] = at.children
    nodes = len(links)
    need(nodes > 0, "a tree without a node")
    shapes(at, children=(nodes, 2))
    later = (links < 0) | (links > np.arange(nodes)[:, None])
    need(bool(later.all() and (links < nodes).all()), "a child does not come after its parent")
    need(np.array_equal(np.sort(links[links >= 0]), np.arange(1, nodes)), "a node has not one parent")
    return links


def sound_path(links: NDArray[Any], picks: NDArray[Any], starts: NDArray[Any], vectors: int) -> None:
    """Every leaf has one parent, and no node or leaf reads a value that has not been met."""
    leaves = len(starts) - 1
    ends = [~link for pair in links for link in dict.fromkeys(pair.tolist()) if link < 0]
    need(sorted(ends) == list(range(leaves)), "a leaf has not one parent")
    levels = node_depths(links)
    before = picks.astype(np.int64)
    need(bool(((before < vectors) & (~before < levels)).all()), "a node picks what is not there")
    met = leaf_depths(links)[:leaves]
    need(bool((np.diff(starts.astype(np.int64)) <= met).all()), "a leaf weighs values not met")

"""What type rules ask for; ValueError if it is not so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Kind, Type

Tables = Mapping[str, NDArray[Any]]
Types = dict[str, Type]

MAX_DEGREE = 1 << 16


def need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def shapes(tables: Tables, **expected: tuple[str, tuple[int, ...]]) -> None:
    """Tables, by field, have these shapes."""
    for field, (name, shape) in expected.items():
        need(tables[name].shape == shape, f"{field} @{name} is {tables[name].shape}, expected {shape}")


def features(node: Any, types: Types) -> int:
    """The width of the features a node reads."""
    need(types[node.x].kind is Kind.FEATURES, f"%{node.x} is not features")
    return types[node.x].width


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


def float32_only(tables: Tables, name: str) -> None:
    """Shifts and thresholds mean the same in every number type only if float32 holds them."""
    table = tables[name]
    with np.errstate(over="ignore"):
        same = table.astype(np.float32).astype(table.dtype) == table
    need(bool(same.all()), f"@{name} holds numbers that are not float32")


def class_counts(counts: tuple[int, ...]) -> None:
    """Vectors of two classes or more."""
    need(len(counts) >= 2 and min(counts) >= 0, "two or more classes needed")


def pair_count(n_classes: int) -> int:
    """How many pairs so many classes have."""
    need(n_classes >= 2, "two or more classes needed")
    return n_classes * (n_classes - 1) // 2

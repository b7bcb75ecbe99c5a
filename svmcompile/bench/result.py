"""result: one line per contender, with its ratio to ours and how many of its answers differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.timing import Times

Via = Literal["C", "Python"]
VALUE_TOLERANCE = 1e-3  # a regressor's values count as different beyond this share of their spread


@dataclass(frozen=True, slots=True)
class Contender:
    """One line of the table. Ratios are to ours, called from the same language."""

    key: str
    name: str
    version: str
    via: Via
    ours: bool
    us_single: float
    us_batch: float
    ratio_single: float
    ratio_batch: float
    labels_differing: int


@dataclass(frozen=True, slots=True)
class Timed:
    """A contender before it is compared."""

    key: str
    name: str
    version: str
    via: Via
    times: Times
    labels_differing: int


def compare(timed: Sequence[Timed]) -> list[Contender]:
    """Ratios to the line `ours` of the same language."""
    base = {one.via: one.times for one in timed if one.key == "ours"}
    return [
        Contender(
            key=one.key,
            name=one.name,
            version=one.version,
            via=one.via,
            ours=one.key.startswith("ours"),
            us_single=one.times.single * 1e6,
            us_batch=one.times.batch * 1e6,
            ratio_single=one.times.single / base[one.via].single,
            ratio_batch=one.times.batch / base[one.via].batch,
            labels_differing=one.labels_differing,
        )
        for one in timed
    ]


def differing(
    expected: NDArray[Any], batch: NDArray[Any], single: NDArray[Any], are_values: bool = False
) -> int:
    """Rows answered otherwise than the original, in a batch or (the first rows) by themselves."""
    tolerance = VALUE_TOLERANCE * float(np.std(expected)) if are_values else None
    wrong = _unequal(expected, batch, tolerance)
    wrong[: len(single)] |= _unequal(expected[: len(single)], single, tolerance)
    return int(wrong.sum())


def _unequal(expected: NDArray[Any], answers: NDArray[Any], tolerance: float | None) -> NDArray[np.bool_]:
    if len(answers) != len(expected):
        return np.ones(len(expected), dtype=bool)
    if tolerance is not None:
        return np.asarray(~(np.abs(answers - expected) <= tolerance), dtype=bool)
    return np.asarray(answers != expected, dtype=bool)

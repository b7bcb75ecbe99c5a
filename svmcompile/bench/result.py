"""Times of contenders, one row per call and in batches, and how they compare."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Via = Literal["C", "Python"]
VALUE_TOLERANCE = 1e-3  # a regressor's values count as different beyond this share of their spread
SINGLE_SECONDS = 0.05  # a pass of single calls takes about this long at most
PASS_SECONDS = 0.005  # and any pass at least this long
LEAST_SINGLES = 10
LATENCY_SECONDS = 0.5
LEAST_CALLS, MOST_CALLS = 100, 20_000  # that are timed one by one
BUDGET_SECONDS = 2.0  # who has used this much leaves after the second turn


@dataclass(frozen=True, slots=True)
class Latency:
    """Microseconds of single calls, each timed by itself on the wall clock."""

    p50: float
    p95: float
    p99: float
    longest: float
    calls: int

    @classmethod
    def of(cls, seconds: NDArray[Any]) -> Latency:
        """Nearest-rank percentiles."""
        found = np.sort(np.asarray(seconds, dtype=np.float64)) * 1e6
        p50, p95, p99 = (float(found[math.ceil(share * len(found)) - 1]) for share in (0.5, 0.95, 0.99))
        return cls(p50, p95, p99, float(found[-1]), len(found))


@dataclass(frozen=True, slots=True)
class Threads:
    """Our C from several threads at once: a batch that they share, and single calls of each."""

    threads: int
    us_batch: float
    latency: Latency


@dataclass(frozen=True, slots=True)
class Contender:
    """One line of the table. Ratios are to ours, called from the same language same kind of rows."""

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
    agreement: float  # share of rows answered as the original answers them
    bytes: int | None  # what has to be shipped of the model, where that is known
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class Timed:
    """A contender before it is compared."""

    key: str
    name: str
    version: str
    via: Via
    times: Times
    labels_differing: int
    rows: int = 1
    bytes: int | None = None
    latency: Latency | None = None
    like: str = "ours"  # the line of ours that gets rows of the same kind


def compare(timed: Sequence[Timed]) -> list[Contender]:
    """Ratios to the line of ours of the same language that gets rows of the same kind."""
    base, found = {(one.via, one.key): one.times for one in timed if one.key.startswith("ours")}, []
    for one in timed:
        ours, single, batch = base[one.via, one.like], one.times.single, one.times.batch
        figures = single * 1e6, batch * 1e6, single / ours.single, batch / ours.batch
        who = one.key, one.name, one.version, one.via, one.key.startswith("ours")
        same = 1 - one.labels_differing / one.rows
        found.append(Contender(*who, *figures, one.labels_differing, same, one.bytes, one.latency))
    return found


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


class Runner(Protocol):
    """One contender. Times are processor seconds of the whole call."""

    def single(self, rows: int) -> float:
        """Time of one call for each of the first rows."""

    def latencies(self, calls: int) -> NDArray[Any]:
        """Seconds of so many single calls, each on the wall clock."""

    def batch(self) -> float:
        """Time of one call for a batch."""

    def answers(self) -> NDArray[Any]:
        """What it says of every row, in batches."""

    def single_answers(self, rows: int) -> NDArray[Any]:
        """What it says of the first rows, one row per call."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds per row."""

    single: float
    batch: float


class LocalRunner:
    """A `predict` function in this process. `rows` may be an array, a CSR matrix or a frame."""

    def __init__(self, predict: Callable[[Any], Any], rows: Any, batch: int) -> None:
        self._predict = predict
        self._rows = rows
        self._count = int(rows.shape[0])
        self._batch = rows[:batch]
        self._step = batch
        self._singles = [rows[i : i + 1] for i in range(self._count)]

    def single(self, rows: int) -> float:
        predict, singles = self._predict, self._singles[:rows]
        start = time.process_time()
        for row in singles:
            predict(row)
        return time.process_time() - start

    def latencies(self, calls: int) -> NDArray[Any]:
        predict, found = self._predict, np.empty(calls)
        for call in range(calls):
            row = self._singles[call % self._count]
            start = time.perf_counter()
            predict(row)
            found[call] = time.perf_counter() - start
        return found

    def batch(self) -> float:
        start = time.process_time()
        self._predict(self._batch)
        return time.process_time() - start

    def answers(self) -> NDArray[Any]:
        starts = range(0, self._count, self._step)
        return np.concatenate([np.ravel(self._predict(self._rows[at : at + self._step])) for at in starts])

    def single_answers(self, rows: int) -> NDArray[Any]:
        return np.concatenate([np.ravel(self._predict(row)) for row in self._singles[:rows]])


def latency_of(runner: Runner, times: Times) -> Latency:
    """Percentiles of single calls, as many as take half a second, some hundred at least."""
    calls = int(np.clip(LATENCY_SECONDS / max(times.single, 1e-9), LEAST_CALLS, MOST_CALLS))
    return Latency.of(np.asarray(runner.latencies(calls)))


class _Turns:
    """One contender in the race: how large its passes are, and its best so far."""

    def __init__(self, runner: Runner, rows: int, batch: int) -> None:
        self.runner = runner
        self.rows = rows
        self.batch = batch
        few = min(rows, LEAST_SINGLES)
        runner.single(few)  # the first call of many libraries sets things up
        per_row = max(runner.single(few) / few, 1e-9)
        self.singles = max(few, min(rows, int(SINGLE_SECONDS / per_row)))
        self.loops = math.ceil(PASS_SECONDS / max(runner.batch(), 1e-6))
        self.best = Times(math.inf, math.inf)
        self.spent = 0.0

    def take(self) -> None:
        single = self.runner.single(self.singles)
        batch = sum(self.runner.batch() for _ in range(self.loops))
        self.spent += single + batch
        self.best = Times(
            min(self.best.single, single / self.singles),
            min(self.best.batch, batch / (self.loops * self.batch)),
        )


def race(
    runners: Sequence[Runner], rows: int, batch: int, repeats: int, budget: float = BUDGET_SECONDS
) -> list[Times]:
    """The least times of each, all taking turns, so that a slow moment hits all of them."""
    entries = [_Turns(runner, rows, batch) for runner in runners]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(repeats):
            for entry in entries:
                if turn < 2 or entry.spent < budget:
                    entry.take()
    finally:
        if collecting:
            gc.enable()
    return [entry.best for entry in entries]

"""Preprocessing steps: what a row goes through before the kernel sees it, in float64 numpy.

Each step knows the rows it takes and gives, what it makes of them, and rows it may have been
given. Readers make steps of fitted transformers; methods turn them into nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.kinds import Norm
from svmcompile.ir.row_functions import cosines, filled, missing, monomials, normalized


class Step(ABC):
    """One function from row to row; the defaults are those of steps that keep the width."""

    @property
    def takes(self) -> int | None:
        """How wide a row must be; None if any width will do."""
        return None

    def gives(self, width: int) -> int:
        """How wide a row of the given width comes out."""
        return width

    @abstractmethod
    def apply(self, rows: Array) -> Array:
        """The rows after the step."""

    def source(self, rows: Array) -> Array:
        """Rows from which the step may have come to these, or nearly: good for probes, no inverse."""
        return rows

    def arrays(self) -> dict[str, Array]:
        """The numbers a step holds, by name; all must be finite."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


Steps = tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class ScaleStep(Step):
    """z = (x - shift) * factor, feature by feature."""

    shift: Array
    factor: Array

    @property
    def takes(self) -> int | None:
        return len(self.factor)

    def apply(self, rows: Array) -> Array:
        return (rows - self.shift) * self.factor

    def source(self, rows: Array) -> Array:
        # A factor of zero switches a feature off: any value will do for it.
        return np.asarray(rows / np.where(self.factor != 0, self.factor, 1.0) + self.shift)


@dataclass(frozen=True, eq=False)
class ClipStep(Step):
    """z = min(max(x, low), high)."""

    low: float
    high: float

    def apply(self, rows: Array) -> Array:
        return np.clip(rows, self.low, self.high)


@dataclass(frozen=True, eq=False)
class PickStep(Step):
    """Some of the columns of a row, in an order of its own."""

    columns: NDArray[np.int64]
    width: int

    @property
    def takes(self) -> int | None:
        return self.width

    def gives(self, width: int) -> int:
        return len(self.columns)

    def apply(self, rows: Array) -> Array:
        return np.asarray(rows[:, self.columns])

    def source(self, rows: Array) -> Array:
        spread = np.zeros((len(rows), self.width))
        spread[:, self.columns] = rows
        return spread


@dataclass(frozen=True, eq=False)
class ProjectStep(Step):
    """z = weights (x - centre) + bias."""

    weights: Array  # [m, d]
    centre: Array  # [d]
    bias: Array  # [m]

    @property
    def takes(self) -> int | None:
        return int(self.weights.shape[1])

    def gives(self, width: int) -> int:
        return int(self.weights.shape[0])

    def apply(self, rows: Array) -> Array:
        return np.asarray((rows - self.centre) @ self.weights.T + self.bias)

    def source(self, rows: Array) -> Array:
        return np.asarray((rows - self.bias) @ np.linalg.pinv(self.weights).T + self.centre)


@dataclass(frozen=True, eq=False)
class NormalizeStep(Step):
    """z = x / norm; rows whose norm is below `least` stay as they are."""

    norm: Norm
    least: float

    def apply(self, rows: Array) -> Array:
        return normalized(rows, self.norm, self.least)


@dataclass(frozen=True, eq=False)
class PowersStep(Step):
    """Products of features: `factors` holds their columns, `width` where a product has fewer."""

    factors: NDArray[np.int64]  # [m, degree]
    width: int

    @property
    def takes(self) -> int | None:
        return self.width

    def gives(self, width: int) -> int:
        return len(self.factors)

    def apply(self, rows: Array) -> Array:
        return monomials(rows, self.factors)

    def source(self, rows: Array) -> Array:
        found = np.ones((len(rows), self.width))
        for product, columns in enumerate(self.factors):
            (own,) = np.nonzero(columns < self.width)
            if len(own) == 1:
                found[:, columns[own[0]]] = rows[:, product]
        return found


@dataclass(frozen=True, eq=False)
class KernelMapStep(Step):
    """z = weights k(x, vectors): a feature map by kernel values with some points."""

    vectors: Array  # [n, d]
    weights: Array  # [m, n]
    kernel: Kernel

    @property
    def takes(self) -> int | None:
        return int(self.vectors.shape[1])

    def gives(self, width: int) -> int:
        return int(self.weights.shape[0])

    def apply(self, rows: Array) -> Array:
        return np.asarray(self.kernel.values(rows, self.vectors) @ self.weights.T)

    def source(self, rows: Array) -> Array:
        return self.vectors


@dataclass(frozen=True, eq=False)
class CosineStep(Step):
    """z = factor * cos(2 pi x), feature by feature."""

    factor: float

    def apply(self, rows: Array) -> Array:
        return cosines(rows, self.factor)

    def source(self, rows: Array) -> Array:
        inside = np.clip(rows / self.factor if self.factor else rows, -1.0, 1.0)
        return np.asarray(np.arccos(inside) / (2 * np.pi))


@dataclass(frozen=True, eq=False)
class FillStep(Step):
    """Missing features get values of their own; missing is NaN, or what equals the marker."""

    values: Array
    nan: bool
    marker: float

    @property
    def takes(self) -> int | None:
        return len(self.values)

    def apply(self, rows: Array) -> Array:
        return filled(rows, self.values, self.nan, self.marker)


@dataclass(frozen=True, eq=False)
class MissingStep(Step):
    """1 where a feature is missing, else 0."""

    nan: bool
    marker: float

    def apply(self, rows: Array) -> Array:
        return missing(rows, self.nan, self.marker).astype(np.float64)

    def source(self, rows: Array) -> Array:
        return np.zeros_like(rows)


@dataclass(frozen=True, eq=False)
class JoinStep(Step):
    """Several chains of steps, each over the whole row, their results side by side."""

    branches: tuple[Steps, ...]
    width: int

    @property
    def takes(self) -> int | None:
        return self.width

    def gives(self, width: int) -> int:
        return sum(width_after(branch, width) for branch in self.branches)

    def apply(self, rows: Array) -> Array:
        return np.hstack([apply_steps(branch, rows) for branch in self.branches])

    def source(self, rows: Array) -> Array:
        """The sum of what the branches say, which is right where they share no column."""
        ends = np.cumsum([width_after(branch, self.width) for branch in self.branches])
        parts = np.split(rows, ends[:-1], axis=1)
        found = [source_rows(branch, part) for branch, part in zip(self.branches, parts, strict=True)]
        count = min(len(part) for part in found)
        return np.asarray(sum(part[:count] for part in found))


def apply_steps(steps: Steps, rows: Array) -> Array:
    """Rows after all steps."""
    for step in steps:
        rows = step.apply(rows)
    return rows


def source_rows(steps: Steps, rows: Array) -> Array:
    """Rows from which the steps may have come to these."""
    for step in reversed(steps):
        rows = step.source(rows)
    return rows


def uncentred(steps: Steps) -> Steps:
    """The steps as scikit-learn computes them, which takes means off behind a product: more rounding."""
    return tuple(_uncentred(step) for step in steps)


def _uncentred(step: Step) -> Step:
    if isinstance(step, JoinStep):
        return JoinStep(tuple(uncentred(branch) for branch in step.branches), step.width)
    if isinstance(step, ProjectStep):
        return ProjectStep(step.weights, np.zeros_like(step.centre), step.bias - step.weights @ step.centre)
    return step


def width_before(steps: Steps, after: int) -> int:
    """How wide the rows are that go in; `after` if no step changes or knows it."""
    return next((step.takes for step in steps if step.takes is not None), after)


def width_after(steps: Steps, width: int) -> int:
    """How wide rows of the given width come out."""
    for step in steps:
        width = step.gives(width)
    return width


def step_problems(steps: Steps, width: int) -> Iterator[str]:
    """What does not fit, in words, in steps that are given rows of a width."""
    for number, step in enumerate(steps):
        name = f"step {number} ({type(step).__name__.removesuffix('Step').lower()})"
        if step.takes is not None and step.takes != width:
            yield f"{name} takes {step.takes} features and is given {width}"
        yield from (f"{name}: {problem}" for problem in _own_problems(step))
        width = step.gives(width)
        if width < 1:
            yield f"{name} leaves no features"


def _own_problems(step: Step) -> Iterator[str]:
    for name, array in step.arrays().items():
        if not np.isfinite(array).all():
            yield f"{name} hold a NaN or an infinity"
    if isinstance(step, ScaleStep) and step.shift.shape != step.factor.shape:
        yield f"{len(step.shift)} shifts for {len(step.factor)} factors"
    if isinstance(step, PickStep) and not _within(step.columns, step.width):
        yield f"a column is not among the {step.width} features"
    if isinstance(step, PowersStep) and not _within(step.factors, step.width + 1):
        yield f"a factor is not among the {step.width} features"
    if isinstance(step, ProjectStep) and step.weights.shape != (len(step.bias), len(step.centre)):
        yield f"weights have shape {step.weights.shape}, not {(len(step.bias), len(step.centre))}"
    if isinstance(step, KernelMapStep) and step.weights.shape[1:] != step.vectors.shape[:1]:
        yield f"weights have shape {step.weights.shape} for {len(step.vectors)} vectors"
    if isinstance(step, JoinStep):
        for branch in step.branches:
            yield from step_problems(branch, step.width)


def _within(columns: NDArray[np.int64], end: int) -> bool:
    return bool(((columns >= 0) & (columns < end)).all())


def step_parts(steps: Steps, prefix: str = "") -> dict[str, object]:
    """Everything that decides what the steps compute, by name, for a digest."""
    parts: dict[str, object] = {}
    for index, step in enumerate(steps):
        at = f"{prefix}{index}"
        if isinstance(step, ClipStep):
            parts[f"clip{at}"] = (step.low, step.high)
        elif isinstance(step, JoinStep):
            parts[f"join{at}"] = (step.width, len(step.branches))
            for number, branch in enumerate(step.branches):
                parts |= step_parts(branch, f"{at}.{number}.")
        else:
            parts |= {f"{name}{at}": array for name, array in step.arrays().items()}
            parts |= _plain_parts(step, at)
    return parts


def _plain_parts(step: Step, at: str) -> dict[str, object]:
    if isinstance(step, ScaleStep):
        return {}
    named = {field.name: getattr(step, field.name) for field in fields(step)}  # type: ignore[arg-type]
    plain = {name: value for name, value in named.items() if not isinstance(value, np.ndarray)}
    return {f"{type(step).__name__}{at}": tuple(plain.values())}

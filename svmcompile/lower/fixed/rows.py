"""Rows in whole numbers: from the range of each feature to a `Quantise` node.

Kernels of distances need one scale for all features as the kernel sees them; dot products take any, and
each feature then fills the whole range of its type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables, maker
from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes import Quantise, Requantise, Scale
from svmcompile.ir.program import Program

BITS: dict[Number, int] = {"q7": 8, "q15": 16}
FLOAT_ROUNDING = 2.0**-22  # of the three float operations of quantising, as a share of the result
STEPS_ROUNDING = 2.0**-14  # the same where steps of preprocessing come before
GRID_TOLERANCE = 1e-6
MOST_GRID_VALUES = 200_000
INT32 = (1 << 31) - 1
WIDER = 1.25  # times may a range that features share be as wide as their own are on average
# Of what whole features are multiplied by, so that 32 bits hold the product.
FACTOR_BITS = {"u8": 21, "i16": 13}


@dataclass(frozen=True, eq=False)
class Span:
    """The range of each feature, and some of its values where there are any."""

    low: Array
    high: Array
    rows: NDArray[Any] | None = None

    def and_also(self, values: Array) -> Span:
        """The range of these values as well."""
        if not len(values):
            return self
        low, high = np.minimum(self.low, values.min(axis=0)), np.maximum(self.high, values.max(axis=0))
        return Span(low, high, self.rows)

    def seen(self, view: View) -> Span:
        """The same of scaled features."""
        ends = np.stack([view.of(self.low), view.of(self.high)])
        return Span(ends.min(axis=0), ends.max(axis=0), None if self.rows is None else view.of(self.rows))


@dataclass(frozen=True, eq=False)
class View:
    """Features as a node sees them: slope * base + start, feature by feature."""

    base: str
    slope: Array
    start: Array

    def of(self, base: NDArray[Any]) -> Array:
        return np.asarray(self.slope * base + self.start)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried out on rows, as no bound can tell what does best."""

    share: float = 1.0  # of the largest scale of features, or (0) the largest on a grid
    coarser: int = 0  # curves have cells so many times twice as wide as their worst error asks for
    projects: bool = True  # projections are in whole numbers as well
    byte_weights: bool = False  # of kernel sums: a byte each, not two
    cells: int = 0  # of curves of distances, where not as many as are usual
    four_bits: bool = False  # of the weights of projections, where their method has rounded them so


@dataclass(frozen=True, eq=False)
class Row:
    """A quantised row: base = shift + q / factor within `error` of the unit 1 / factor, |q| <= limit."""

    base: str
    value: str
    shift: NDArray[np.float32]
    factor: NDArray[np.float32]
    number: Number
    limit: int
    made: bool = False  # by preprocessing in float, which rounds as well
    scale_bits: int = -1  # of rows made of whole numbers: shift is whole, and factor * 2^scale_bits
    as_it_is: bool = False  # the row is the input, without a sign
    off: float = 0.0  # by what a projection in whole numbers rounds before
    trial: Trial = Trial()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.shift.shape

    @property
    def bits(self) -> int:
        return BITS[self.number]

    @property
    def top(self) -> int:
        """The largest number of as many bits."""
        return int((1 << (self.bits - 1)) - 1)

    def whole(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Whole numbers of as many bits."""
        return numbers.astype(np.int8 if self.bits == 8 else np.int16)

    @property
    def error(self) -> float:
        """How far q can be off, in whole numbers."""
        if self.as_it_is:
            return 0.0
        return 0.5 + self.off + (STEPS_ROUNDING if self.made else FLOAT_ROUNDING) * self.limit

    def node(self) -> tuple[Quantise | Requantise, Tables]:
        names = f"{self.value}_shift", f"{self.value}_factor"
        if self.scale_bits < 0:
            plain = Quantise(self.value, self.base, *names, self.bits, self.limit)
            return plain, {names[0]: _once(self.shift), names[1]: _once(self.factor)}
        made = Requantise(self.value, self.base, *names, self.scale_bits, self.bits, self.limit)
        factor = np.round(self.factor.astype(np.float64) * 2.0**self.scale_bits).astype(np.int32)
        return made, {names[0]: self.shift.astype(np.int32), names[1]: factor}

    def seen(self, view: View) -> tuple[Array, Array]:
        """Slope and start of the features a node sees, by q."""
        factor = self.factor.astype(np.float64)
        slope = np.where(factor == 0, 0.0, view.slope / np.where(factor == 0, 1.0, factor))
        return slope, view.slope * self.shift.astype(np.float64) + view.start

    @property
    def span(self) -> Span:
        """The range within which nothing is cut off."""
        factor = np.where(self.factor == 0, np.inf, np.abs(self.factor.astype(np.float64)))
        reach = self.limit / factor
        return Span(self.shift - reach, self.shift + reach)


def _limit(span: Span, number: Number) -> int:
    """The largest number of a row, so that 32 bits hold sums of squared differences."""
    return min((1 << (BITS[number] - 1)) - 1, int((INT32 / (4 * len(span.low))) ** 0.5) - 1)


def _once(numbers: NDArray[Any]) -> NDArray[Any]:
    """A number that all features have, once."""
    return numbers[:1] if (numbers == numbers[0]).all() else numbers


def view_of(program: Program, value: str) -> View:
    """What scalings make of the features they start from."""
    scale = maker(program, value)
    if not isinstance(scale, Scale):
        return View(value, np.ones(1), np.zeros(1))
    inner, t = view_of(program, scale.x), program.tables
    factor, offset = t[scale.factor], t[scale.offset]
    return View(inner.base, inner.slope * factor, (inner.start - t[scale.shift]) * factor + offset)


def common_row(value: str, view: View, span: Span, number: Number, share: float) -> Row:
    """A row for distances: one scale, `share` of the largest, or (0) the largest on a grid."""
    d, limit = len(span.low), _limit(span, number)
    span = _alike(span, view)
    widest = float(((span.high - span.low) / 2).max())
    most = limit / widest if widest > 0 else 1.0
    scale, middle = most * share, (span.low + span.high) / 2
    if share == 0:
        scale, middle = _on_grid(span, view, most)
    slope = np.broadcast_to(view.slope, (d,))
    still = slope == 0
    shift = np.where(still, 0.0, (middle - view.start) / np.where(still, 1.0, slope))
    factor = (slope * scale).astype(np.float32)
    return Row(view.base, value, shift.astype(np.float32), factor, number, limit)


def _alike(span: Span, view: View) -> Span:
    """The range of all features for each, where that costs hardly any digits: it needs no tables."""
    low, high = float((span.low - view.start).min()), float((span.high - view.start).max())
    if high - low > WIDER * float((span.high - span.low).max()):
        return span
    start = np.broadcast_to(view.start, span.low.shape)
    return Span(low + start, high + start, span.rows)


def has_grid(span: Span, view: View) -> bool:
    """Whether all values seen are multiples of one step, from some origin on."""
    return _grid(span, view) is not None


def _grid(span: Span, view: View) -> tuple[float, Array] | None:
    """The step of a grid that holds all values seen and its origin, one for all features if that does."""
    if span.rows is None or span.rows.size > MOST_GRID_VALUES:
        return None
    start = np.broadcast_to(view.start, span.low.shape)
    for origin in (start + (span.rows - start).min(), span.rows.min(axis=0)):
        if step := _step(np.unique(span.rows - origin)):
            return step, origin
    return None


def _step(above: Array) -> float:
    """The number of which all others are multiples, zero if there is none."""
    above = above[above > 1e-9 * max(1.0, float(above.max(initial=0.0)))]
    if not len(above):
        return 0.0
    step = float(above.min())
    times = above / step
    return step if bool((np.abs(times - np.round(times)) < GRID_TOLERANCE * times).all()) else 0.0


def _on_grid(span: Span, view: View, most: float) -> tuple[float, Array]:
    """The largest scale that takes the grid to whole numbers, and middles on it."""
    found = _grid(span, view)
    assert found, "asked for a grid that is not there"
    step, origin = found
    times = np.floor(most * step * (1 + 1e-9))
    scale = (times if times >= 1 else most * step) / step
    return scale, origin + np.round(((span.low + span.high) / 2 - origin) * scale) / scale


def own_row(value: str, base: str, span: Span, number: Number) -> Row:
    """A row for dot products: each feature fills the range, or all share one that is hardly wider."""
    low, high = np.full_like(span.low, span.low.min()), np.full_like(span.high, span.high.max())
    if (high - low).mean() <= WIDER * (span.high - span.low).mean():
        span = Span(low, high, span.rows)  # which needs no tables
    limit, half = _limit(span, number), (span.high - span.low) / 2
    widest = float(half.max(initial=0.0)) or 1.0
    factor = limit / np.where(half > 0, half, widest)
    shift = (span.low + span.high) / 2
    return Row(base, value, shift.astype(np.float32), factor.astype(np.float32), number, limit)


def input_row(base: str, width: int, number: Number) -> Row:
    """Rows of bytes as they are."""
    zeros, ones = np.zeros(width, np.float32), np.ones(width, np.float32)
    return Row(base, base, zeros, ones, number, 255, as_it_is=True)


def from_whole(row: Row, given: str) -> Row:
    """The row made of whole numbers: shift and factor as near as such have them."""
    largest = float(np.abs(row.factor).max()) or 1.0
    bits = int(np.clip(FACTOR_BITS[given] - np.ceil(np.log2(largest)), 0, 30))
    factor = np.round(row.factor.astype(np.float64) * 2.0**bits) / 2.0**bits
    return replace(row, shift=np.round(row.shift), factor=factor.astype(np.float32), scale_bits=bits)

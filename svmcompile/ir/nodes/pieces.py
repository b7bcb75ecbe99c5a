"""The node of functions of one feature that are polynomials from knot to knot: quantiles, splines."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kinds import IndexTable, Kind, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, need

STEP = 1e-9  # of the largest level: what is less is no step


@dataclass(frozen=True, slots=True)
class Pieces(Node):
    """Curves of each feature in turn: polynomials between its knots, and levels at the knots themselves.

    The knots of feature j stand from starts[j] to starts[j + 1] - 1, one or more, and rise. Its pieces
    stand from starts[j] + j on, one more: before the first knot, behind each. A row of pieces has the
    coefficients of all curves for the power 0, then 1, and so on, of the distance from the knot before it;
    the first piece takes it from the first knot. NaN where the feature is not finite.
    """

    out: Value
    x: Value
    starts: IndexTable = field(metadata=dims("d+1"))
    knots: Table = field(metadata=dims("knots"))
    levels: Table = field(metadata=dims("knots curves"))
    pieces: Table = field(metadata=dims("pieces coefficients"))

    def result(self, at: At) -> Type:
        starts, knots = at.starts.astype(np.int64), at.knots
        at.fit(pieces=len(knots) + at.d)
        need(starts[0] == 0 and starts[-1] == len(knots), "starts do not cover the knots")
        need(bool((np.diff(starts) >= 1).all()), "a feature has no knots")
        # Numbers apart in double may be one in float, where they make a step.
        rises = all((np.diff(knots[start:stop]) >= 0).all() for start, stop in pairwise(starts))
        need(rises, "knots do not rise")
        curves, numbers = at.levels.shape[1], at.pieces.shape[1]
        need(numbers > 0 and curves > 0 and numbers % curves == 0, f"{numbers} do not make {curves} curves")
        return Type(Kind.FEATURES, at.d * curves)

    def run(self, at: At) -> NDArray[Any]:
        parts = [_Part(at, column).run(x) for column, x in enumerate(self.places(at, at.x).T)]
        return np.hstack(parts).astype(at.x.dtype)

    def places(self, at: At, x: NDArray[Any]) -> NDArray[Any]:
        """Where the features stand among their knots."""
        return x

    def work(self, at: At, rows: At | None) -> Work:
        tests = np.ceil(np.log2(np.diff(at.starts.astype(np.float64)) + 1)).sum()
        return Work(0, float(tests) + 2 * (len(at.starts) - 1) * at.pieces.shape[1])

    def error(self, at: At, a: Arithmetic) -> Result:
        value, errors = self.value(at), []
        unstable, moved = np.zeros(len(value), dtype=bool), at.x.error + self.place_error(at, a)
        for column, x in enumerate(self.places(at, at.x.value).T):
            error, doubt = _Part(at, column).error(x, moved[:, column], a)
            errors.append(error)
            unstable |= doubt
        return value, np.hstack(errors) + a.u * np.abs(value) + a.tiny, unstable

    def place_error(self, at: At, a: Arithmetic) -> Array:
        """How far rounding moves places among knots."""
        return np.zeros_like(at.x.error)


@dataclass(frozen=True, slots=True)
class PeriodicPieces(Pieces):
    """The same of what is left of x - origins[j] when whole periods are taken off; 0: none is.

    Knots count from the origins. The first piece is the last one a period earlier, and the last is the
    first one a period later, so that rounding may take a feature to either end.
    """

    origins: Table = field(metadata=dims("d"))
    periods: Table = field(metadata=dims("d"))

    def result(self, at: At) -> Type:
        need(bool((at.periods >= 0).all()), "a period is below zero")
        return Pieces.result(self, at)

    def places(self, at: At, x: NDArray[Any]) -> NDArray[Any]:
        away, period = x - at.origins, np.where(at.periods > 0, at.periods, 1.0)
        with np.errstate(invalid="ignore"):
            left = away - np.floor(away / period) * period
            left = np.where(left < 0, left + period, left)
            return np.asarray(np.where(at.periods > 0, np.where(left >= period, left - period, left), away))

    def place_error(self, at: At, a: Arithmetic) -> Array:
        """None where both numbers are small and whole, as hours of days are."""
        away, exact = np.abs(at.x.value - at.origins), 1 / (2 * a.u)
        whole = (at.periods == np.rint(at.periods)) & (at.origins == np.rint(at.origins))
        whole = (
            whole & (at.x.value == np.rint(at.x.value)) & (away + np.abs(at.origins) + at.periods < exact)
        )
        return np.where(whole, 0.0, 4 * a.u * (away + np.abs(at.origins) + at.periods))


class _Part:
    """The curves of one feature."""

    def __init__(self, at: At, column: int) -> None:
        start, stop = (int(one) for one in at.starts[column : column + 2])
        self.knots, self.levels = at.knots[start:stop], at.levels[start:stop]
        pieces = at.pieces[start + column : stop + column + 1]
        self.pieces = pieces.reshape(len(pieces), -1, self.levels.shape[1])  # [pieces, powers, curves]

    def before(self, piece: NDArray[Any]) -> NDArray[Any]:
        """The knot from which a piece takes distances."""
        return np.maximum(piece - 1, 0)

    def run(self, x: NDArray[Any]) -> NDArray[Any]:
        piece = np.searchsorted(self.knots, x, side="right") * np.isfinite(x)
        knot = self.before(piece)
        out = _polynomial(self.pieces[piece], x - self.knots[knot])
        at_knot = (x == self.knots[knot])[:, None]
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(at_knot, self.levels[knot], out) + x[:, None] * 0)

    def steps(self) -> Array:
        """How far levels and the ends of pieces are apart at each knot, [knots, curves]."""
        index = np.arange(len(self.knots))
        left = _polynomial(self.pieces[index], self.knots - self.knots[self.before(index)])
        ends = np.stack([left, self.pieces[index + 1][:, 0], self.levels])
        return np.asarray(ends.max(axis=0) - ends.min(axis=0))

    def error(self, x: Array, e: Array, a: Arithmetic) -> tuple[Array, NDArray[np.bool_]]:
        """How far rounding moves the curves at x, and whether it may bring x past a step, or two knots."""
        knots, last, steps = self.knots, len(self.knots) - 1, self.steps()
        moved = np.abs(knots.astype(np.float32) - knots) if a.u > 2.0**-30 else np.zeros_like(knots)
        jumps = (steps > STEP * np.abs(self.levels).max()).any(axis=1)
        piece = np.searchsorted(knots, x, side="right") * np.isfinite(x)
        error, doubt = self._within(piece, x, e, moved, a), np.zeros(len(x), dtype=bool)

        def near(knot: NDArray[np.int64]) -> NDArray[np.bool_]:
            distance = np.abs(x - knots[knot])
            return np.asarray((distance <= e + moved[knot]) & ((e > 0) | (x != knots[knot])))

        sides = ((piece - 1, piece - 2, piece - 1), (piece, piece + 1, piece + 1))
        for knot, next_knot, neighbour in sides:
            held, held_next = np.clip(knot, 0, last), np.clip(next_knot, 0, last)
            passed = near(held) & (knot == held)
            beyond = self._within(np.clip(neighbour, 0, last + 1), x, e, moved, a) + steps[held]
            error = error + np.where(passed[:, None], beyond, 0.0)
            doubt |= passed & (jumps[held] | (near(held_next) & (next_knot == held_next)))
        return error, doubt

    def _within(self, piece: NDArray[Any], x: Array, e: Array, moved: Array, a: Arithmetic) -> Array:
        """As long as x stays in a piece: its slope times the error of the distance, and the roundings."""
        knot, sizes = self.before(piece), np.abs(self.pieces[piece])
        off = e + moved[knot]
        reach = np.abs(x - self.knots[knot]) + off
        powers = np.arange(sizes.shape[1])
        slopes = _polynomial(sizes[:, 1:] * powers[1:, None], reach)
        rounding = (
            a.u * 2 * len(powers) * _polynomial(sizes, reach) + a.tiny * (1 + reach[:, None]) ** powers[-1]
        )
        return slopes * (off + 2 * a.u * reach)[:, None] + rounding


def _polynomial(coefficients: NDArray[Any], h: NDArray[Any]) -> NDArray[Any]:
    """Of coefficients [rows, powers, curves], at h [rows]."""
    out = np.zeros((len(h), coefficients.shape[2]), dtype=h.dtype)
    for power in reversed(range(coefficients.shape[1])):
        out = out * h[:, None] + coefficients[:, power]
    return out

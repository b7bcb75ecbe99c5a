"""Taylor polynomials, and sums in blocks with jets, in balls: scores, and bounds they are held against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import BLOCK, SEGMENT
from svmcompile.verification.balls import Ball, Balls, Real, Rounded
from svmcompile.verification.certificates import Certificate, JetCertificate


@dataclass(frozen=True, slots=True)
class Order:
    """The score of an order, and the bounds for scores above and below zero in every cell it may be in."""

    score: Ball
    bounds: list[tuple[Ball, Ball]]


class TaylorBalls:
    """One row about one centre."""

    def __init__(self, certificate: Certificate, row: Balls, arithmetic: Real) -> None:
        self.node, self.tables, self.leaf = certificate.node, certificate.tables, certificate.leaf
        self.apart = certificate.apart
        a = self.a = arithmetic
        centre = self.table(self.node.centres)
        self.row, self.h = row, [a.subtract(x, c) for x, c in zip(row, centre, strict=True)]
        self.length = self._apart(centre) if self.sparse else a.dot(self.h, self.h)
        self.u = a.multiply(a.number(self.node.gamma), self.length)

    @property
    def sparse(self) -> bool:
        """Whether code looks at features that are not zero alone; in real numbers that is all the same."""
        return self.node.sparse and isinstance(self.a, Rounded)

    def _apart(self, centre: Balls) -> Ball:
        """|x|^2 - 2 x . c + |c|^2."""
        a, own = self.a, self.tables[self.node.centres][self.leaf].astype(np.float64)
        crossed = a.multiply(a.number(2.0), a.dot_in_segments(self.row, centre))
        less = a.subtract(a.dot_in_segments(self.row, self.row), crossed)
        return a.add(less, a.number(float(own @ own))).max(a.number(0.0))

    def product(self, vector: NDArray[Any]) -> Ball:
        """h times a vector of a table."""
        a = self.a
        if not (self.sparse or (self.apart and isinstance(a, Rounded))):
            return a.dot(self.h, a.numbers(vector))
        start = float(self.tables[self.node.centres][self.leaf].astype(np.float64) @ vector)
        return a.subtract(a.dot_in_segments(self.row, a.numbers(vector)), a.number(start))

    def table(self, name: str, *more: int) -> Balls:
        """A leaf's entries of a table."""
        place = (*more, self.leaf)
        return self.a.numbers(self.tables[name][place])

    def cells(self) -> range:
        """The cells the row may fall into; none if it is beyond the last."""
        place = self.a.multiply(self.u, self.table(self.node.steps)[0])
        return cells_at(place, self.tables[self.node.gaps].shape[2])

    def orders(self, cells: range) -> list[Order]:
        """Every order, in the cells given."""
        a, node = self.a, self.node
        count = len(self.tables[node.margins])
        bias = a.numbers(self.tables[node.bias])[0]
        terms = [self.table(node.constants)[0], self.product(self.tables[node.slopes][self.leaf])]
        along, left = self.h, None
        found = []
        for order in range(count):
            if order == 1 and self.tables[node.axes].ndim > 1:
                along, left = self._along()
                terms.append(a.multiply(self.table(node.middles)[0], left))
            if order:
                terms += (self._quadratic if order == 1 else self._cubic)(along)
            loose = self._loose(order, along, left) if order and left is not None else None
            score = a.add(bias, self._faded(a.total(terms)))
            found.append(Order(score, [self._bounds(order, cell, loose) for cell in cells]))
        return found

    def _along(self) -> tuple[Balls, Ball]:
        """Coordinates along the axes, and what they leave of the squared length."""
        a, rows = self.a, self.tables[self.node.axes][self.leaf]
        y = [self.product(axis) for axis in rows]
        whole = a.multiply(a.number(1 + self.node.slack), self.length)
        return y, a.subtract(whole, a.dot(y, y)).max(a.number(0.0))

    def _quadratic(self, y: Balls) -> Balls:
        return rows_of_form(self.a, y, self.table(self.node.squares))

    def _cubic(self, y: Balls) -> Balls:
        """For each coordinate, its product with a quadratic form of those up to it."""
        a, entries, found = self.a, self.table(self.node.cubes), []
        for c, outer in enumerate(y):
            size = (c + 1) * (c + 2) // 2
            own, entries = entries[:size], entries[size:]
            found.append(a.multiply(outer, a.total(rows_of_form(a, y[: c + 1], own))))
        return found

    def _faded(self, value: Ball) -> Ball:
        """Times exp(-u), but for polynomial kernels."""
        return self.a.multiply(self.a.fade(self.u), value) if self.node.fades else value

    def _loose(self, order: int, y: Balls, left: Ball) -> Ball:
        a, along = self.a, self.a.dot(y, y)
        terms = [along, left, a.multiply(along, left), a.multiply(left, left)]
        return self._faded(a.dot(terms, self.table(self.node.loose, order - 1)))

    def _bounds(self, order: int, cell: int, loose: Ball | None) -> tuple[Ball, Ball]:
        a = self.a
        margin = self.table(self.node.margins, order)[0]
        above, below = a.numbers(self.tables[self.node.gaps][order, self.leaf, cell])
        bounds = [a.add(margin, a.multiply(self.u, gap)) for gap in (above, below)]
        if loose is not None:
            bounds = [a.add(bound, loose) for bound in bounds]
        return bounds[0], bounds[1]


def rows_of_form(a: Real, y: Balls, entries: Balls) -> Balls:
    """A quadratic form, row by row of its triangle."""
    found = []
    for b, factor in enumerate(y):
        at = b * (b + 1) // 2
        found.append(a.multiply(factor, a.dot(y[: b + 1], entries[at : at + b + 1])))
    return found


def cells_at(place: Ball, count: int) -> range:
    """The cells of so many that a place may be in; none if it is beyond the last."""
    low, high = float(place.lower()), float(place.upper())
    if not low < count:
        return range(0)
    return range(max(0, math.floor(low)), math.floor(min(high, count - 1)) + 1)


class JetBalls:
    """One row; what code has in double counts as real."""

    def __init__(self, certificate: JetCertificate, row: Balls, arithmetic: Real) -> None:
        self.node, self.tables, self.row = certificate.node, certificate.tables, row
        a = self.a = arithmetic
        self.h = [a.subtract(x, c) for x, c in zip(row, self.table(self.node.centre), strict=True)]
        self.u = a.multiply(a.number(self.node.kernel.gamma), a.dot(self.h, self.h))

    def table(self, name: str, *place: int) -> Balls:
        return self.a.numbers(self.tables[name][place])

    def cells(self) -> range:
        """The cells the row may fall into; none if it is beyond the last."""
        place = self.a.multiply(self.u, self.table(self.node.steps)[0])
        return cells_at(place, self.tables[self.node.gaps].shape[1])

    def orders(self, cells: range) -> list[Order]:
        """Every jet, tried or not, and at last the sum of all vectors."""
        a, node = self.a, self.node
        ends = self.tables[node.ends].astype(np.int64).tolist()
        fade, total, spread = a.fade(self.u), self.table(node.bias)[0], Real().number(0.0)
        by_sum, once = self.table(node.rounding)
        found, before = [], 0
        for jet, end in enumerate([*ends, len(self.tables[node.weights])]):
            term, size = self._met(before, end)
            total, spread, before = total + term, spread + size, end
            rounding = a.multiply(by_sum, spread)
            if jet < len(ends):
                score = a.add(a.add(total, Real().number(0.0)), a.multiply(fade, self._jet(jet)))
                found.append(Order(score, [self._bounds(jet, cell, rounding) for cell in cells]))
            else:
                bound = a.add(rounding, once)
                found.append(Order(total, [(bound, bound)]))
        return found

    def _met(self, start: int, end: int) -> tuple[Ball, Ball]:
        """The terms of some vectors, and their sizes, in blocks of the number type."""
        a, sums = self.a, [Real().number(0.0), Real().number(0.0)]
        for at in range(start, end, BLOCK):
            part = range(at, min(at + BLOCK, end))
            weights = [self.table(self.node.weights, i)[0] for i in part]
            kernels = [self._kernel(i) for i in part]
            sums[0] += a.dot(weights, kernels)
            sums[1] += a.dot([abs(weight) for weight in weights], kernels)
        return sums[0], sums[1]

    def _kernel(self, i: int) -> Ball:
        a = self.a
        steps = [a.subtract(x, v) for x, v in zip(self.row, self.table(self.node.vectors, i), strict=True)]
        parts = [steps[at : at + SEGMENT] for at in range(0, len(steps), SEGMENT)]
        return a.fade(
            a.multiply(a.number(self.node.kernel.gamma), a.total([a.dot(part, part) for part in parts]))
        )

    def _jet(self, jet: int) -> Ball:
        """The polynomial, without its exponential."""
        a, node = self.a, self.node
        terms = [self.table(node.constants, jet)[0], a.dot(self.h, self.table(node.slopes, jet))]
        return a.total(terms + rows_of_form(a, self.h, self.table(node.squares, jet)))

    def _bounds(self, jet: int, cell: int, rounding: Ball) -> tuple[Ball, Ball]:
        a, margin = self.a, self.table(self.node.margins, jet)[0]
        above, below = (
            a.add(a.add(margin, a.multiply(self.u, gap)), rounding)
            for gap in self.table(self.node.gaps, jet, cell)
        )
        return above, below

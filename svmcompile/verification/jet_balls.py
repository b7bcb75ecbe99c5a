"""A sum in blocks with jets in balls: the score after each block, and the bound it is held against."""

from __future__ import annotations

import numpy as np

from svmcompile.ir.arithmetic import BLOCK
from svmcompile.verification.balls import Ball, Balls, Real
from svmcompile.verification.certificates import JetCertificate
from svmcompile.verification.taylor_balls import Order, cells_at, rows_of_form

SEGMENT = 64  # squares that code adds up before their sum goes to that of all


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

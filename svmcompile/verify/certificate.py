"""Certificates of Taylor polynomials, checked with balls: a program and rows go in, verdicts come out.

Nothing here is shared with what made the certificates. For a row, the original sum is enclosed in many
digits; so is every result that code of the number type can have for the score of each order, and for the
bound it is held against. Where the score cannot be farther from the sum than the bound, a score that is
found above its bound has the sum's sign: the row is confirmed. It is refuted where the two are farther
apart than the bound whatever the rounding, and open where that depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Number, Program
from svmcompile.verify.balls import Ball, Real, Rounded, many_bits
from svmcompile.verify.enclosures import Enclosures
from svmcompile.verify.taylor_balls import Order, TaylorBalls

MOST_LISTED = 20  # rows that are named


class Verdict(str, Enum):
    """What is known of a row's certificates."""

    CONFIRMED = "confirmed"
    OPEN = "open"
    REFUTED = "refuted"
    NONE = "none"  # beyond the last cell, or not finite: no order is tried


@dataclass(frozen=True, slots=True)
class RowCheck:
    """The verdict on one row, and errors over bounds: in real numbers, and in the worst rounding."""

    verdict: Verdict
    real: float = 0.0
    rounded: float = 0.0


@dataclass(slots=True)
class CertificateReport:
    """Rows by verdict, the largest errors over bounds, and the rows that are not confirmed."""

    rows: int = 0
    confirmed: int = 0
    open: int = 0
    refuted: int = 0
    none: int = 0
    real: float = 0.0
    rounded: float = 0.0
    not_confirmed: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.open == self.refuted == 0

    def add(self, number: int, found: RowCheck) -> None:
        self.rows += 1
        name = found.verdict.value
        setattr(self, name, getattr(self, name) + 1)
        self.real, self.rounded = max(self.real, found.real), max(self.rounded, found.rounded)
        if found.verdict in (Verdict.OPEN, Verdict.REFUTED) and len(self.not_confirmed) < MOST_LISTED:
            self.not_confirmed.append(number)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"ok": self.ok}


def check_rows(
    program: Program,
    rows: NDArray[Any],
    number: Number = "f32",
    original: Program | None = None,
    every_leaf: bool = False,
    advance: Callable[[int], None] = lambda count: None,
) -> CertificateReport:
    """Check the certificates that rows meet in code of a number type.

    `original` is a program whose sum is the one meant; without it, it is the program's own, as code in
    double computes it. `every_leaf`: about all centres, not only the one a row is taken to.
    """
    node = certified_node(program)
    held = rows.astype(np.float32 if number == "f32" else np.float64)
    leaves = interpret_values(program, held, {node.leaf})[node.leaf]
    every = range(len(program.tables[node.steps]))
    report = CertificateReport()
    with many_bits():
        for at, (row, leaf) in enumerate(zip(held.astype(np.float64), leaves, strict=True)):
            checker = RowChecker(program, node, row, number, original)
            report.add(at, checker.check(every if every_leaf else [int(leaf)]))
            advance(1)
    return report


def certified_node(program: Program) -> ir.TaylorSum:
    """The node whose scores are certified."""
    for node in program.body:
        if isinstance(node, ir.TaylorSum):
            return node
    raise UnsupportedError(
        f"a program of method {program.origin.method} holds no Taylor certificates; "
        "methods certified and h1-tree (proven=true) make them"
    )


class RowChecker:
    """One row: its sum, and what code can find about each centre."""

    def __init__(
        self,
        program: Program,
        node: ir.TaylorSum,
        row: NDArray[Any],
        number: Number,
        original: Program | None,
    ) -> None:
        self.node, self.finite = node, bool(np.isfinite(row).all())
        if not self.finite:
            return
        real = Enclosures(program, row, Real())
        if original is None:
            self.sum = real(node.exact)[0]
        else:
            self.sum = Enclosures(original, row, Real())(sum_of(original))[0]
        self.real, self.rounded = real, Enclosures(program, row, Rounded(number))

    def check(self, leaves: Any) -> RowCheck:
        """The worst of the leaves given."""
        found = [self._about(leaf) for leaf in leaves] if self.finite else []
        found = [one for one in found if one.verdict is not Verdict.NONE]
        if not found:
            return RowCheck(Verdict.NONE)
        worst = max(found, key=lambda one: list(Verdict).index(one.verdict))
        return RowCheck(worst.verdict, max(one.real for one in found), max(one.rounded for one in found))

    def _about(self, leaf: int) -> RowCheck:
        code = TaylorBalls(self.node, self.rounded, leaf)
        cells = code.cells()
        if not cells:
            return RowCheck(Verdict.NONE)
        exact = TaylorBalls(self.node, self.real, leaf).orders(cells)
        found = code.orders(cells)
        ratios = [max(_over(order, self.sum) for order in orders) for orders in (exact, found)]
        if max(ratios) <= 1:
            return RowCheck(Verdict.CONFIRMED, *ratios)
        wrong = any(_violates(order, self.sum) for order in found)
        return RowCheck(Verdict.REFUTED if wrong else Verdict.OPEN, *ratios)


def sum_of(program: Program) -> str:
    """The value of a program's kernel sum."""
    sums = [node.out for node in program.body if isinstance(node, ir.KernelSum)]
    if not sums:
        raise UnsupportedError("the original holds no kernel sum of one decision value")
    return sums[-1]


def _over(order: Order, exact: Ball) -> float:
    """The largest error over its bound; infinite where that cannot be told."""
    most = 0.0
    for above, below in order.bounds:
        for error, bound in ((order.score - exact, above), (exact - order.score, below)):
            if not float(bound.lower()) > 0:
                return math.inf
            most = max(most, float((error.upper() / bound.lower()).upper()))
    return math.inf if math.isnan(most) else most


def _violates(order: Order, exact: Ball) -> bool:
    """Is the score farther from the sum than its bound, whatever the rounding and the cell?"""
    return all(
        float((order.score - exact - above).lower()) > 0 or float((exact - order.score - below).lower()) > 0
        for above, below in order.bounds
    )

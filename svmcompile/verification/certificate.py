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
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.kinds import Kind
from svmcompile.ir.pairs import classes_of, pair_number
from svmcompile.ir.program import Program
from svmcompile.verification.balls import Ball, Balls, Real, Rounded, many_bits
from svmcompile.verification.certificates import Certificate, Held, certified
from svmcompile.verification.enclosures import Enclosures
from svmcompile.verification.polynomial_balls import JetBalls, Order, TaylorBalls

MOST_LISTED = 20  # rows that are named


class Verdict(str, Enum):
    """What is known of a row's certificates."""

    CONFIRMED = "confirmed"
    OPEN = "open"
    REFUTED = "refuted"
    NONE = "none"  # beyond the last cell, or not finite: no order is tried


WORSE = (Verdict.NONE, Verdict.CONFIRMED, Verdict.OPEN, Verdict.REFUTED)


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
    double computes it. `every_leaf`: about all centres, not only the one a row is taken to. Of a vote, the
    polynomials of all pairs are checked, whichever class is champion.
    """
    held = rows.astype(np.float32 if number == "f32" else np.float64)
    found = certified(program)
    report = CertificateReport()
    with many_bits():
        met = found.met(held, every_leaf)
        for at, (row, certificates) in enumerate(zip(held.astype(np.float64), met, strict=True)):
            checked = RowCheck(Verdict.NONE)
            if np.isfinite(row).all():
                checked = RowChecker(program, found.x, row, number, original).check(certificates)
            report.add(at, checked)
            advance(1)
    return report


class RowChecker:
    """One finite row: its sums, and what code can find about each centre."""

    def __init__(
        self, program: Program, x: str, row: NDArray[Any], number: Number, original: Program | None
    ) -> None:
        self.arithmetic = Rounded(number)
        self.real = Enclosures(program, row, Real())(x)
        self.rounded = Enclosures(program, row, self.arithmetic)(x)
        meant = original or program
        node = sum_of(meant)
        self.sums = Enclosures(meant, row, Real())(node.out)
        self.by_pair = bool(getattr(node, "counts", ()))

    def check(self, certificates: list[Held]) -> RowCheck:
        """The worst of the certificates given."""
        found = [self._one(certificate) for certificate in certificates]
        found = [one for one in found if one.verdict is not Verdict.NONE]
        if not found:
            return RowCheck(Verdict.NONE)
        worst = max(found, key=lambda one: WORSE.index(one.verdict))
        return RowCheck(worst.verdict, max(one.real for one in found), max(one.rounded for one in found))

    def _meant(self, pair: tuple[int, int] | None) -> Ball:
        """The original's value of a pair; one-vs-rest machines have a sum for each class."""
        if pair is None:
            return self.sums[0]
        own, other = pair
        if not self.by_pair:
            return self.sums[own] - self.sums[other]
        value = self.sums[pair_number(min(pair), max(pair), classes_of(len(self.sums)))]
        return value if own < other else -value

    def _one(self, certificate: Held) -> RowCheck:
        code = _balls(certificate, self.rounded, self.arithmetic)
        cells = code.cells()
        if not cells:
            return RowCheck(Verdict.NONE)
        meant = self._meant(certificate.pair)
        exact = _balls(certificate, self.real, Real()).orders(cells)
        found = code.orders(cells)
        ratios = [max(_over(order, meant) for order in orders) for orders in (exact, found)]
        if max(ratios) <= 1:
            return RowCheck(Verdict.CONFIRMED, *ratios)
        wrong = any(_violates(order, meant) for order in found)
        return RowCheck(Verdict.REFUTED if wrong else Verdict.OPEN, *ratios)


def _balls(certificate: Held, row: Balls, arithmetic: Real) -> TaylorBalls | JetBalls:
    if isinstance(certificate, Certificate):
        return TaylorBalls(certificate, row, arithmetic)
    return JetBalls(certificate, row, arithmetic)


def sum_of(program: Program) -> ir.Node:
    """The node of a program's kernel sums as the original has them, in double where there are others."""
    types = infer_types(program)
    makers = [node for node in program.body if node.sums_kernels or node.joins]
    sums = [node for node in makers if types[node.out].kind is not Kind.FEATURES]
    if not sums:
        raise UnsupportedError(
            "the original has no kernel sums to compare with; give the model that it was compiled from"
        )
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

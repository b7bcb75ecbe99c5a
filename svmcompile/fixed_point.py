"""quantise: a program in whole numbers, from the ranges of its features."""

from __future__ import annotations

from typing import Any

from svmcompile.errors import OptionError
from svmcompile.ir.program import FIXED, Number, Program
from svmcompile.lower.fixed import fix, given_range, range_of_rows, widened
from svmcompile.rows import as_rows

PRECISIONS: tuple[Number, ...] = ("f32", "f64")


def checked_precision(precision: str) -> Number:
    """The precision, if there is such a one."""
    for known in (*PRECISIONS, *FIXED):
        if precision == known:
            return known
    raise OptionError(f"unknown precision {precision!r}; known: {', '.join((*PRECISIONS, *FIXED))}")


def quantise(program: Program, precision: str, X: Any = None, ranges: Any = None) -> Program:
    """The program in whole numbers: "q15" has features of 16 bits, "q7" of 8.

    The range of each feature is that of the rows `X`, which also serve to choose scales; or `ranges`: a
    pair of numbers (low, high) or of rows. Features beyond their range count as its nearest end. A
    program in whole numbers already is returned as it is.
    """
    number = checked_precision(precision)
    if program.number == number:
        return program
    if program.number or number not in FIXED:
        raise OptionError(
            f"the program is in {program.number or 'real'} numbers; {number} cannot be had of it"
        )
    if X is None and ranges is None:
        raise OptionError(
            f"precision {number} needs the range of each feature: give data (--data FILE, or X=) or ranges "
            "(--ranges LOW:HIGH or a file of rows whose extremes count, or ranges=(low, high))"
        )
    span = None if X is None else range_of_rows(as_rows(X, program.n_features, program.feature_names))
    if ranges is not None:
        low, high = ranges
        span = given_range(low, high, program.n_features, None if span is None else span.rows)
    elif span is not None:
        span = widened(span, number)
    assert span is not None
    return fix(program, number, span)

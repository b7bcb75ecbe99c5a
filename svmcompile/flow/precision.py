"""Number types: which there are, and programs of real numbers turned into whole ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.data.rows import as_rows
from svmcompile.data.text import is_text
from svmcompile.errors import OptionError, find_name
from svmcompile.ir.arithmetic import FIXED, INPUT_LIMITS, Number
from svmcompile.ir.program import Claim, Program

PRECISIONS = ("f32", "f64")


def quantise(
    program: Program, precision: str, X: Any = None, ranges: Any = None, given: str | None = None
) -> Program:
    """Turn a program into fixed point: "q15" has features of 16 bits, "q7" of 8.

    The range of each feature comes from the rows `X`, which also help to choose scales, or from `ranges`: a
    pair of numbers (low, high) or of rows. Features out of range are clamped. Rows are floats, or `given`
    as integers, "u8" or "i16". A program that is already in fixed point is returned unchanged.
    """
    from svmcompile.lower.fixed.program import fix, given_range, range_of_rows, widened

    check_program(program, "quantise")
    number = checked_precision(precision)
    if program.number == number:
        if given is not None and given != program.input.number:
            has = f"rows of {program.input.number}" if program.input.number else "rows of floats"
            raise OptionError(f"the program is already in {number}, for {has}, and cannot become {given}")
        return program
    if program.number or number not in FIXED:
        raise OptionError(
            f"the program is in {program.number or 'real'} numbers; {number} cannot be emitted from it"
        )
    if program.claim is Claim.SAME_LABEL:
        raise OptionError(
            f"the claim SAME_LABEL of {program.origin.method} rests on sums in double, which {number} does "
            "not have: use --precision f32, or --method exact without labels=certain, whose error is stated"
        )
    if given is not None and given not in INPUT_LIMITS:
        raise OptionError(f"no rows of {given!r}; whole numbers are given as: {', '.join(INPUT_LIMITS)}")
    if X is None and ranges is None and given == "u8":
        ranges = INPUT_LIMITS[given]
    if X is None and ranges is None:
        raise OptionError(
            f"precision {number} needs the range of each feature: give data (--data FILE, or X=) or ranges "
            "(--ranges LOW:HIGH or a file of rows whose extremes count, or ranges=(low, high))"
        )
    if program.input.text and X is not None and is_text(X):
        X = program.input.text.rows(X)
    known = (program.n_features, program.feature_names, program.categories)
    given_rows = None if X is None else np.asarray(as_rows(X, *known))
    span = None if given_rows is None else range_of_rows(given_rows)
    if ranges is not None:
        low, high = ranges
        span = given_range(low, high, program.n_features, None if span is None else span.rows)
    elif span is not None:
        span = widened(span, number)
    assert span is not None
    whole: Any = given or ""
    return fix(program, number, span, whole)


def check_program(thing: Any, function: str) -> None:
    """Refuse a model that was not compiled, where a function takes a program."""
    if not isinstance(thing, Program):
        raise OptionError(
            f"{function} takes a program, not {type(thing).__name__}: call sc.compile first, as in "
            f"sc.{function}(sc.compile(model), ...); sc.build(model) does all the steps at once"
        )


def checked_precision(precision: str) -> Number:
    """The precision, if there is such a one."""
    number: Any = find_name(precision, (*PRECISIONS, *FIXED), "precision")
    found: Number = number
    return found

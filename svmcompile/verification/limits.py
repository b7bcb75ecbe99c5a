"""How far rounding may move a backend and the original apart: by the original, not by the folder alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import VerifyError
from svmcompile.ir.arithmetic import ARITHMETIC, FIXED, Number
from svmcompile.ir.bounds import Bounds, error_bounds, fixed_bounds, within_stated_range
from svmcompile.ir.program import Claim, Program

# The original rounds as well: its sums carry an error like that of our own float64.
ORIGINAL_SHARE = 8
# How much larger the bounds of a program may be than those of programs made anew of the original.
TRUSTED_SHARE = 4.0
FIXED_SHARE = 1.25  # in whole numbers, whose scales differ by what is tried on rows
VALUES = ("scores", "probabilities", "extra")


def summed_by_original(program: Program, original: Any) -> Program | None:
    """What the original adds up, where it may round more than the program.

    So it is where the program has fewer kernels, as after collapsing a linear one: large coefficients
    that cancel round in the original alone. Or where steps make new features, which are centred here.
    """
    exact = original if isinstance(original, Program) else getattr(original, "exact", None)
    if exact is None or program.claim is not Claim.EXACT:
        return None
    fewer = program.cost().max_kernel_evaluations < exact.cost().max_kernel_evaluations
    return exact if fewer or any(node.makes_features for node in exact.body) else None


def _bounds(program: Program, rows: NDArray[Any], precision: Number, exact: Program | None) -> Bounds:
    """How far rounding may move a backend and the original apart."""
    if program.number in FIXED:
        return fixed_bounds(program, rows)
    own = error_bounds(program, rows, precision)
    share = 1 + ORIGINAL_SHARE * ARITHMETIC["f64"].u / ARITHMETIC[precision].u
    known = {name: share * getattr(own, name) for name in VALUES}
    if exact is None:
        return own._replace(**known)
    original = error_bounds(exact, rows, "f64")
    known = {name: one + ORIGINAL_SHARE * getattr(original, name) for name, one in known.items()}
    return Bounds(unstable=own.unstable | original.unstable, **known)


def limited(
    rows: NDArray[Any], program: Program, number: Number, exact: Program | None, trusted: Sequence[Program]
) -> Bounds:
    """The bounds, and no more than programs made of the original give."""
    bounds = _bounds(program, rows, number, exact)
    if program.number in FIXED and trusted:
        return _fixed_limited(program, trusted, rows)
    if program.number in FIXED or program.claim is not Claim.EXACT or not trusted:
        return bounds
    every = [_bounds(one, rows, number, trusted[-1]) for one in trusted]
    unstable = bounds.unstable & np.logical_or.reduce([one.unstable for one in every])
    most = {name: _most(bounds, every, name) for name in VALUES}
    return bounds._replace(unstable=unstable, **most)


def _most(bounds: Bounds, every: Sequence[Bounds], name: str) -> NDArray[Any]:
    """Bounds on values, no more than a multiple of those of programs that give as many."""
    own: NDArray[Any] = getattr(bounds, name)
    alike = [value for one in every if (value := getattr(one, name)).shape == own.shape]
    return np.asarray(np.minimum(own, TRUSTED_SHARE * np.maximum.reduce(alike))) if alike else own


def _fixed_limited(program: Program, trusted: Sequence[Program], rows: NDArray[Any]) -> Bounds:
    """In whole numbers: the error stated, as far as the original's own over the same range allows it."""
    inside = within_stated_range(program, rows)
    if not inside.any():
        raise VerifyError(
            "no row is within the range of each feature that the program states, so its error cannot be "
            "checked; give rows like those it was compiled with, or compile it for these"
        )
    stated, *others = (one.origin.details["fixed"]["error"] for one in (program, *trusted))
    return fixed_bounds(program, rows, min(stated, FIXED_SHARE * max(others)), inside)

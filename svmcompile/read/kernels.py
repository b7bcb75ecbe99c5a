"""Kernels as readers meet them: a name and parameters in, a checked `Kernel` out."""

from __future__ import annotations

import math

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.kernel import Kernel
from svmcompile.read.limits import MAX_DEGREE

WAY_OUT = "retrain with linear, poly, rbf or sigmoid"


def no_vectors(where: str) -> UnsupportedError:
    """The refusal of a precomputed kernel where the numbers of its points are not known."""
    return UnsupportedError(
        f"{where}: kernel 'precomputed' stores no vectors and cannot be compiled; {WAY_OUT}"
    )


def make_kernel(kind: str, gamma: float, coef0: float, degree: int, where: str) -> Kernel:
    """A kernel that keeps only the parameters its kind uses."""
    if kind == "linear":
        return Kernel("linear")
    if not math.isfinite(gamma):
        raise ReadError(f"{where}: gamma is {gamma}, not a finite number")
    if kind == "rbf":
        return _rbf(gamma, where)
    if not math.isfinite(coef0):
        raise ReadError(f"{where}: coef0 is {coef0}, not a finite number")
    if kind == "sigmoid":
        return Kernel("sigmoid", gamma=gamma, coef0=coef0)
    if kind == "poly":
        return _poly(gamma, coef0, degree, where)
    raise UnsupportedError(f"{where}: kernel {kind!r} is not known; {WAY_OUT}")


def _rbf(gamma: float, where: str) -> Kernel:
    if gamma < 0:
        raise ReadError(f"{where}: gamma is {gamma}; an rbf kernel needs zero or more")
    return Kernel("rbf", gamma=gamma)


def _poly(gamma: float, coef0: float, degree: int, where: str) -> Kernel:
    if degree < 0:
        raise ReadError(f"{where}: degree is {degree}; a polynomial needs zero or more")
    if degree > MAX_DEGREE:
        raise UnsupportedError(
            f"{where}: degree {degree} is above the limit of {MAX_DEGREE}; retrain with a lower degree"
        )
    return Kernel("poly", gamma=gamma, coef0=coef0, degree=degree)

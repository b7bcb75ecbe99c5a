"""Nodes of Gaussian processes: how sure a prediction is, from what is left of the prior's variance.

`sums` are such that their squares add up to what the training rows tell of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import ARITHMETIC, Arithmetic, Array, Bounded
from svmcompile.ir.kinds import Kind, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, Work, need

# Williams and Barber's error functions whose sum stands for the logistic function, as in scikit-learn.
WIDTHS = (0.41, 0.4, 0.37, 0.44, 0.39)
SHARES = (-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654)
ERF_TERMS = 120  # of a series without cancellation, for sizes up to ERF_LIMIT
ERF_LIMIT = 6.0  # beyond, the error function is one
MEAN_SLOPE, VARIANCE_SLOPE = 0.3, 0.1  # the chance changes no faster
CHANCE_ERROR = 1e-11  # of error functions in double, times the shares
ROUNDING = ARITHMETIC["f32"].u  # at most, of what leaves as a number of the program


@dataclass(frozen=True, slots=True)
class Deviation(Node):
    """out = sqrt(max(prior - sum_j sums[j]^2, 0)), in the program's number type."""

    narrows: ClassVar = True
    out: Value
    sums: Value
    prior: float

    def result(self, at: At) -> Type:
        need(at.sums.kind is Kind.SCORES, "needs scores")
        need(0 <= self.prior < np.inf, "the prior is below zero")
        return Type(Kind.SCORES, 1)

    def run(self, at: At) -> NDArray[Any]:
        return np.sqrt(_variance(at.sums, self.prior))

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * at.sums.width + 8)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, off = self.value(at), _variance_error(at.sums, self.prior, a)
        moved = np.where(value > 0, np.minimum(np.sqrt(off), off / np.maximum(value, 1e-300)), np.sqrt(off))
        return value, moved + ROUNDING * value + a.tiny, False


@dataclass(frozen=True, slots=True)
class GaussianChance(Node):
    """The mean of 1 / (1 + exp(-f)) over a normal f of this mean and the variance that is left."""

    narrows: ClassVar = True
    out: Value
    mean: Value
    sums: Value
    prior: float

    def result(self, at: At) -> Type:
        need(at.mean == Type(Kind.SCORES, 1), "needs one score")
        need(at.sums.kind is Kind.SCORES, "needs scores")
        need(0 <= self.prior < np.inf, "the prior is below zero")
        return Type(Kind.PROBABILITIES, 1)

    def run(self, at: At) -> NDArray[Any]:
        from scipy.special import erf

        widths, mean = np.array(WIDTHS), at.mean.astype(np.float64)
        variance = _variance(at.sums, self.prior)
        each = erf(widths * mean / np.sqrt(1 + 2 * np.square(widths) * variance))
        chance = 0.5 * ((each + 1) @ np.array(SHARES))[:, None]
        return np.clip(chance, 0.0, 1.0).astype(at.mean.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * at.sums.width + len(WIDTHS) * (3 * ERF_TERMS + SHAPE_FLOPS["exp2"]))

    def error(self, at: At, a: Arithmetic) -> Result:
        off = VARIANCE_SLOPE * _variance_error(at.sums, self.prior, a) + MEAN_SLOPE * at.mean.error
        return self.value(at), np.minimum(off + CHANCE_ERROR + ROUNDING, 1.0), False


def _variance(sums: NDArray[Any], prior: float) -> Array:
    told = np.square(sums, dtype=np.float64).sum(axis=1, keepdims=True)
    return np.where(np.isnan(told), told, np.maximum(prior - told, 0.0))


def _variance_error(sums: Bounded, prior: float, a: Arithmetic) -> Array:
    told = np.square(sums.value).sum(axis=1, keepdims=True)
    moved = ((2 * np.abs(sums.value) + sums.error) * sums.error).sum(axis=1, keepdims=True)
    return np.asarray(moved + (sums.value.shape[1] + 4) * a.u * (told + prior) + a.tiny)

"""Nodes of ensembles: answers of several models, weighed; and of targets that were transformed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import Kind, Table, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, Work, dims, need

MOST_EXPONENT = {"f32": 87.0, "f64": 708.0}  # whose exponentials the number types hold


@dataclass(frozen=True, slots=True)
class OneHot(Node):
    """1 for the class of a label, 0 for all others."""

    flops: ClassVar = 1
    out: Value
    label: Value
    n_classes: int

    def result(self, at: At) -> Type:
        need(at.label == Type(Kind.LABEL, self.n_classes), f"needs a label of {self.n_classes} classes")
        return Type(Kind.PROBABILITIES, self.n_classes)

    def run(self, at: At) -> NDArray[Any]:
        return np.eye(self.n_classes)[at.label]

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        return value, np.zeros_like(value), False


@dataclass(frozen=True, slots=True)
class Blend(Node):
    """out[j] = bias[j] + sum_i weights[j, i] values[i], added up in order, so that ties stay ties."""

    out: Value
    values: Value
    weights: Table = field(metadata=dims("m columns"))
    bias: Table = field(metadata=dims("m"))
    chances: bool  # whether the result is probabilities

    def result(self, at: At) -> Type:
        need(at.values.kind in (Kind.SCORES, Kind.PROBABILITIES), "needs scores or probabilities")
        at.fit(columns=at.values.width)
        return Type(Kind.PROBABILITIES if self.chances else Kind.SCORES, at.m)

    def run(self, at: At) -> NDArray[Any]:
        values = at.values
        total = np.zeros((len(values), 1), values.dtype) + at.bias.astype(values.dtype)
        for column, weights in zip(values.T, at.weights.T.astype(values.dtype), strict=True):
            total = total + column[:, None] * weights
        return np.asarray(total)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * at.weights.size)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, sizes, given = self.value(at), np.abs(at.weights).T, at.values
        adding = (sizes.shape[0] + 3) * a.u * (np.abs(given.value) @ sizes + np.abs(at.bias))
        return value, given.error @ sizes + adding + a.tiny, False


@dataclass(frozen=True, slots=True)
class Exponential(Node):
    """out = exp(scores) - less; scores that the number type has no exponential of count as the largest."""

    out: Value
    scores: Value
    less: float

    def result(self, at: At) -> Type:
        need(at.scores.kind is Kind.SCORES, "needs scores")
        need(bool(np.isfinite(self.less)), "what is taken off is not finite")
        return at.scores

    def run(self, at: At) -> NDArray[Any]:
        most = MOST_EXPONENT["f32" if at.scores.dtype == np.float32 else "f64"]
        held = np.where(at.scores > most, most, at.scores)  # NaN stays
        return np.asarray(np.exp(held) - self.less, dtype=at.scores.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, at.scores.width * (SHAPE_FLOPS["exp2"] + 2))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, off = self.value(at), at.scores.error + 4 * a.u * np.abs(at.scores.value)
        size = np.abs(value) + abs(self.less)
        error = size * (np.expm1(np.minimum(off, 100.0)) + a.exp_error + 4 * a.u) + a.smallest
        reach = at.scores.value + off < np.log(a.largest) - 1
        return value, np.where(reach, error, np.inf), False

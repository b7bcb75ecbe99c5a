"""Nodes of ensembles: answers of several models, weighed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import Kind, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, need


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

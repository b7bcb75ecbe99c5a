"""Nodes of models that give several labels per row, one for each target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import IndexTable, Kind, Type, Value
from svmcompile.ir.node import At, Node, Result, dims, need, within


@dataclass(frozen=True, slots=True)
class Above(Node):
    """A label for each value: 1 where it is above `limit`, or at it if that is enough, else 0; NaN is 0."""

    flops: ClassVar = 1
    may_be_whole: ClassVar = True
    out: Value
    values: Value
    limit: float
    reached: bool  # whether the limit itself is enough

    def result(self, at: At) -> Type:
        need(at.values.kind in (Kind.SCORES, Kind.PROBABILITIES), "needs scores or probabilities")
        need(bool(np.isfinite(self.limit)), "the limit is not finite")
        need(not (at.values.whole and self.limit), "whole numbers have no limit but zero")
        return Type(Kind.LABELS, at.values.width, limit=1)

    def run(self, at: At) -> NDArray[Any]:
        found = at.values >= self.limit if self.reached else at.values > self.limit
        return np.asarray(found, dtype=np.intp)

    def error(self, at: At, a: Arithmetic) -> Result:
        given = at.values
        near = (np.abs(given.value - self.limit) <= given.error + a.u * abs(self.limit)) & (given.error > 0)
        return self.sure_value(at, near.any(axis=1))


@dataclass(frozen=True, slots=True)
class LabelRow(Node):
    """The labels of some targets and, behind them, that of one more: places[label]."""

    flops: ClassVar = 1
    out: Value
    labels: Value
    label: Value
    places: IndexTable = field(metadata=dims("k"))

    def result(self, at: At) -> Type:
        need(at.labels.kind in (Kind.LABEL, Kind.LABELS) and at.label.kind is Kind.LABEL, "needs labels")
        at.fit(k=at.label.width)
        within(at.places, 1 << 31, "a place")
        alone = at.labels.kind is Kind.LABEL
        last = at.labels.width - 1 if alone else at.labels.limit
        return Type(
            Kind.LABELS, 1 + (1 if alone else at.labels.width), limit=max(last, int(at.places.max()))
        )

    def run(self, at: At) -> NDArray[Any]:
        more = at.places[at.label].astype(np.intp)
        return np.column_stack([at.labels, more])

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.sure_value(at)

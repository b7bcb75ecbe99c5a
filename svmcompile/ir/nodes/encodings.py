"""Nodes of encoders and bins: features become flags, of which affine functions make codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import IndexTable, Kind, Table, Test, Type, Value
from svmcompile.ir.node import At, Node, Result, dims, need, within


@dataclass(frozen=True, slots=True)
class Matches(Node):
    """out[k] = 1 where x[columns[k]] is values[k] ("equal"), or not below it ("least"), else 0.

    NaN where the feature is not finite.
    """

    flops: ClassVar = 1
    out: Value
    x: Value
    columns: IndexTable = field(metadata=dims("flags"))
    values: Table = field(metadata=dims("flags"))
    test: Test

    def result(self, at: At) -> Type:
        at.fit()
        need(at.columns.size > 0, "no flags are asked for")
        within(at.columns, at.d, "a column")
        return Type(Kind.FEATURES, len(at.columns))

    def run(self, at: At) -> NDArray[Any]:
        x = at.x[:, at.columns]
        flags = x == at.values if self.test == "equal" else x >= at.values
        return np.asarray(np.where(flags, 1, 0) + x * 0, dtype=x.dtype)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        x, moved = at.x.value[:, at.columns], at.x.error[:, at.columns]
        # The number itself is rounded: features between it and its rounded form are in doubt, too.
        rounded = at.values if a.u < 2.0**-30 else at.values.astype(np.float32).astype(np.float64)
        distance = np.abs(x - at.values)
        doubt = ((distance <= moved) & (moved > 0)) | (
            (x != at.values) & (distance <= np.abs(rounded - at.values))
        )
        return value, np.zeros_like(value), doubt.any(axis=1)

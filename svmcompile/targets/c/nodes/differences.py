"""Kernel sums by differences of features in C: plain loops, in every profile."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.differences import NEGATED, TERMS
from svmcompile.targets.c.node import DOUBLE, CNode

LOG_TERMS = {"f32": 6, "f64": 12}  # of the series in ((m - 1) / (m + 1))^2, m within a root of two of one


class DifferenceSum(CNode[ir.DifferenceSum]):
    """Vector after vector; each term goes to its sum in double, or in two floats."""

    parts = ("kernel", "log2")
    adds_up = True
    stores = ("vectors",)

    def helpers(self) -> set[str]:
        kind = self.node.kernel.kind
        called = {"root"} if kind == "matern" else set()
        return super().helpers() | called | (set() if kind in NEGATED else {"exp2"})

    def fields(self) -> dict[str, Any]:
        kernel, log2e = self.node.kernel, math.log2(math.e)
        series = [2 * log2e / (2 * k + 1) for k in range(LOG_TERMS[self.number])]
        info = np.finfo(np.float32 if self.number == "f32" else np.float64)
        return {
            "what": kernel.kind,
            "negated": kernel.kind in NEGATED,
            "term": TERMS[kernel.kind],
            "vector_count": len(self.tables[self.node.vectors]),
            "gamma": self.literal(kernel.gamma),
            "rate": self.literal(-kernel.gamma * log2e),
            "minus_log2e": self.literal(-log2e),
            "third": self.literal(1 / 3),
            "power": self.literal(-kernel.coef0),
            "series": [self.literal(one) for one in series],
            "largest": self.literal(float(info.max)),
            "root_two": self.literal(math.sqrt(2)),
            "half": self.literal(0.5),
        }

    def scratch(self) -> int:
        return DOUBLE * self.out_width

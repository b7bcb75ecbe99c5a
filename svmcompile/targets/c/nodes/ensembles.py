"""Ensembles in C."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes.ensembles import MOST_EXPONENT
from svmcompile.targets.c.node import CNode, plain


class Exponential(CNode[ir.Exponential]):
    """By a power of two."""

    calls = ("exp2",)

    def fields(self) -> dict[str, Any]:
        limit, log2e = MOST_EXPONENT[self.number], math.log2(math.e)
        numbers = {"limit": limit, "log2e": log2e, "less": self.node.less}
        return {name: self.literal(number) for name, number in numbers.items()}


plain(__name__, ir.OneHot, ir.Blend)

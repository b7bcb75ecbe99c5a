"""Power transforms in C."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes.ensembles import MOST_EXPONENT
from svmcompile.ir.nodes.powers import SERIES
from svmcompile.targets.c.node import CNode


class BoxCox(CNode[ir.BoxCox]):
    """By a logarithm and a power of two."""

    calls = ("exp2", "log")

    def fields(self) -> dict[str, Any]:
        numbers = {"limit": MOST_EXPONENT[self.number], "log2e": math.log2(math.e), "two": 2.0, "half": 0.5}
        return {name: self.literal(number) for name, number in numbers.items()} | {
            "series": [self.literal(1 / math.factorial(n)) for n in range(SERIES, 0, -1)]
        }

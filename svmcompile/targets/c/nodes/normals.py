"""Normal quantiles in C."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC
from svmcompile.ir.nodes.normals import DENOMINATOR, LEAST, NUMERATOR
from svmcompile.targets.c.node import CNode


class NormalQuantile(CNode[ir.NormalQuantile]):
    """By a logarithm and a quotient of polynomials."""

    calls = ("log",)

    def fields(self) -> dict[str, Any]:
        parts = {"numerator": NUMERATOR[self.number], "denominator": DENOMINATOR[self.number]}
        fields: dict[str, Any] = {name: [self.literal(one) for one in part] for name, part in parts.items()}
        fields |= {
            "least": self.literal(LEAST),
            "ln2": self.literal(math.log(2)),
            "half": self.literal(0.5),
        }
        return fields | {"error": ARITHMETIC[self.number].normal_error}

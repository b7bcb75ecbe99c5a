"""Gaussian processes in C: what is left of the prior's variance, in double."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir.graph import value_number
from svmcompile.ir.nodes import operands
from svmcompile.ir.nodes.gaussian import ERF_LIMIT, ERF_TERMS, SHARES, WIDTHS
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import CNode


class Left(CNode[Any]):
    """Reads sums of any number type, and gives a number of the program."""

    in_double = "variance"
    helpers_in_double = frozenset({"root"})

    def fields(self) -> dict[str, Any]:
        types = [c_real(value_number(name, self.program, self.types)) for name in operands(self.node)]
        out = c_real(value_number(self.node.out, self.program, self.types))
        return {
            "types": types,
            "out_type": out,
            "cast": f"({out})" if out != "double" else "",
            "widened": ["(double)" if one != "double" else "" for one in types],
            "prior": real(self.node.prior, "f64"),
            "count": self.types[self.node.sums].width,
            "in_wide": self.file.prefix("f64"),
        }


class Deviation(Left):
    """A root."""


class GaussianChance(Left):
    """Five error functions."""

    parts = ("erf",)
    helpers_in_double = frozenset({"root", "exp2"})

    def fields(self) -> dict[str, Any]:
        return super().fields() | {
            "terms": ERF_TERMS,
            "limit": real(ERF_LIMIT, "f64"),
            "scale": real(2 / math.sqrt(math.pi), "f64"),
            "minus_log2e": real(-math.log2(math.e), "f64"),
            "widths_of": ", ".join(real(one, "f64") for one in WIDTHS),
            "shares": ", ".join(real(one, "f64") for one in SHARES),
            "lines": len(WIDTHS),
        }

    def scratch(self) -> int:
        return 16 * len(WIDTHS)

"""Heads that give probabilities in C."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import LEAST, MOST
from svmcompile.ir.pairs import TOLERANCE, sweeps_of
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import DOUBLE, CNode


class Shifted(CNode[ir.Shifted]):
    """Each number has its shift."""


class Sigmoid(CNode[ir.Sigmoid]):
    """By powers of two, held off zero and one."""

    def fields(self) -> dict[str, Any]:
        return {"log2e": self.literal(math.log2(math.e))}

    def helpers(self) -> set[str]:
        return {"exp2"}


class Isotonic(CNode[ir.Isotonic]):
    """Between the knots on both sides."""


class Density(CNode[ir.Density]):
    """Marks below the score are counted."""

    def fields(self) -> dict[str, Any]:
        count = len(self.tables[self.node.marks])
        numbers = {"total": count, "least": LEAST, "most": MOST}
        return {"count": count} | {key: self.literal(value) for key, value in numbers.items()}


class Complement(CNode[ir.Complement]):
    """What one probability leaves."""


class Shares(CNode[ir.Shares]):
    """Each group adds up to one."""


class Mean(CNode[ir.Mean]):
    """Groups are added up."""


class Couple(CNode[ir.Couple]):
    """LIBSVM's iteration, in double."""

    parts = ("sweep",)
    in_double = "coupling"

    def fields(self) -> dict[str, Any]:
        k = self.node.n_classes
        return {"sweeps": sweeps_of(k), "tolerance": real(TOLERANCE / k, "f64")}

    def scratch(self) -> int:
        return DOUBLE * self.node.n_classes * (self.node.n_classes + 2)

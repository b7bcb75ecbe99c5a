"""Heads that give probabilities in C."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import LEAST, MOST
from svmcompile.ir.pairs import TOLERANCE, sweeps_of
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import DOUBLE, CNode, plain


class Sigmoid(CNode[ir.Sigmoid]):
    """By powers of two, held off zero and one."""

    calls = ("exp2",)

    def fields(self) -> dict[str, Any]:
        return {"log2e": self.literal(math.log2(math.e))}


class Softmax(CNode[ir.Softmax]):
    """By powers of two, the largest of which is one."""

    calls = ("exp2",)

    def fields(self) -> dict[str, Any]:
        return {"factor": self.literal(self.node.factor * math.log2(math.e))}


class Density(CNode[ir.Density]):
    """Marks below the score are counted."""

    def fields(self) -> dict[str, Any]:
        count = len(self.tables[self.node.marks])
        numbers = {"total": count, "least": LEAST, "most": MOST}
        return {"count": count} | {key: self.literal(value) for key, value in numbers.items()}


class Couple(CNode[ir.Couple]):
    """LIBSVM's iteration, in double."""

    parts = ("sweep",)
    in_double = "coupling"

    def fields(self) -> dict[str, Any]:
        k = self.node.n_classes
        return {"sweeps": sweeps_of(k), "tolerance": real(TOLERANCE / k, "f64")}

    def scratch(self) -> int:
        return DOUBLE * self.node.n_classes * (self.node.n_classes + 2)


plain(__name__, ir.Shifted, ir.Isotonic, ir.Complement, ir.Shares, ir.Mean)

"""Heads that give probabilities in C."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.chances_meaning import LEAST, MOST
from svmcompile.ir.coupling import TOLERANCE, sweeps_of
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import DOUBLE, CNode, N


class Head(CNode[N]):
    """So many numbers come out."""

    def fields(self) -> dict[str, Any]:
        return {"sums": self.width}


class Beside(Head[ir.Beside]):
    """Two values stand behind each other."""

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"others": self.types[self.node.right].width}


class Columns(Head[ir.Columns]):
    """Numbers are copied from where they are."""


class Shifted(Head[ir.Shifted]):
    """Each number has its shift."""


class Sigmoid(Head[ir.Sigmoid]):
    """By powers of two, held off zero and one."""

    def fields(self) -> dict[str, Any]:
        return super().fields() | {
            "exp2": f"{self.helper}_exp2",
            "log2e": self.real(math.log2(math.e)),
            "floor": self.real(self.node.floor) if self.node.floor else "",
            "ceiling": self.real(1.0 - self.node.floor),
        }

    def helpers(self) -> set[str]:
        return {"exp2"}


class Isotonic(Head[ir.Isotonic]):
    """Between the knots on both sides."""


class Density(Head[ir.Density]):
    """Marks below the score are counted."""

    def fields(self) -> dict[str, Any]:
        count = len(self.tables[self.node.marks])
        known = super().fields() | {"count": count, "total": self.real(count)}
        return known | {"least": self.real(LEAST), "most": self.real(MOST)}


class Complement(Head[ir.Complement]):
    """What one probability leaves."""


class Groups(Head[N]):
    """Probabilities in groups of one size."""

    def groups(self, groups: int, chances: str) -> dict[str, Any]:
        size = self.types[chances].width // groups
        return super().fields() | {"groups": groups, "size": size, "total": self.real(groups)}


class Shares(Groups[ir.Shares]):
    """Each group adds up to one."""

    def fields(self) -> dict[str, Any]:
        return self.groups(self.node.groups, self.node.chances) | {"empty": self.real(self.node.empty)}


class Mean(Groups[ir.Mean]):
    """Groups are added up."""

    def fields(self) -> dict[str, Any]:
        return self.groups(self.node.groups, self.node.chances)


class Couple(Head[ir.Couple]):
    """LIBSVM's iteration, in double."""

    parts = ("sweep",)
    in_double = "coupling"

    def fields(self) -> dict[str, Any]:
        k = self.node.n_classes
        tolerance = real(TOLERANCE / k, "f64")
        return super().fields() | {"classes": k, "sweeps": sweeps_of(k), "tolerance": tolerance}

    def scratch(self) -> int:
        return DOUBLE * self.node.n_classes * (self.node.n_classes + 2)

"""Preprocessing in C: a row becomes another."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import CNode
from svmcompile.targets.c.nodes.trees import Centred


class Scale(CNode[ir.Scale]):
    """Each feature has its own numbers."""


class Clip(CNode[ir.Clip]):
    """All features have the same bounds."""


class AsFeatures(CNode[ir.AsFeatures]):
    """Scores are copied."""


class Pick(CNode[ir.Pick]):
    """Numbers are copied from where they are."""


class Normalize(CNode[ir.Normalize]):
    """Norms are summed up in double, or in two floats."""

    adds_up = True

    def fields(self) -> dict[str, Any]:
        return {"least": real(self.node.least, "f64"), "narrow_least": real(self.node.least, "f32")}

    def helpers(self) -> set[str]:
        if self.node.norm == "max":
            return set()
        return super().helpers() | ({"root"} if self.node.norm == "l2" else set())


class Powers(CNode[ir.Powers]):
    """Each product has as many factors."""

    def fields(self) -> dict[str, Any]:
        return {"degree": self.tables[self.node.factors].shape[1]}


class Cosine(CNode[ir.Cosine]):
    """By a function that C has no library for."""

    def helpers(self) -> set[str]:
        return {"cosine"}


class Fill(CNode[ir.Fill]):
    """A marker, or NaN, is replaced."""


class Missing(CNode[ir.Missing]):
    """A marker, or NaN, is told."""


class Join(CNode[ir.Join]):
    """Two values stand behind each other."""


class Products(Centred[ir.Products]):
    """A triangle, row by row."""

    def scratch(self) -> int:
        return 0

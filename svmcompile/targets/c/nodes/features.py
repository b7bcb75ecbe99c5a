"""Preprocessing in C: a row becomes another."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import CNode, plain
from svmcompile.targets.c.nodes.trees import Centred


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

    calls = ("cosine",)


class LogCounts(CNode[ir.LogCounts]):
    """The same."""

    calls = ("log",)


class Products(Centred[ir.Products]):
    """A triangle, row by row."""

    def scratch(self) -> int:
        return 0


plain(__name__, ir.Clip, ir.Fill, ir.Missing)
plain(__name__, ir.Scale, ir.AsFeatures, ir.Pick, ir.Join, keeps_time=True)

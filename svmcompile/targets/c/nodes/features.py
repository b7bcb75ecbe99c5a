"""Preprocessing in C: a row becomes another."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.wide import value_number
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import CNode, N


class Scale(CNode[ir.Scale]):
    """Each feature has its own numbers."""


class Widen(CNode[ir.Widen]):
    """The type of a row changes."""

    widens = True

    def fields(self) -> dict[str, Any]:
        return {"from_real": c_real(value_number(self.node.x, self.program, self.types))}


class Clip(CNode[ir.Clip]):
    """All features have the same bounds."""

    def fields(self) -> dict[str, Any]:
        return {"low": self.real(self.node.low), "high": self.real(self.node.high)}


class Feature(CNode[N]):
    """A row becomes one of another width."""

    def fields(self) -> dict[str, Any]:
        return {"out_width": self.width}


class AsFeatures(Feature[ir.AsFeatures]):
    """Scores are copied."""


class Pick(Feature[ir.Pick]):
    """Features are copied from where they are."""


class Normalize(Feature[ir.Normalize]):
    """Norms are summed up in double, or in two floats."""

    adds_up = True

    def fields(self) -> dict[str, Any]:
        least = {"least": real(self.node.least, "f64"), "narrow_least": real(self.node.least, "f32")}
        return super().fields() | least | {"norm": self.node.norm, "root": f"{self.helper}_root"}

    def helpers(self) -> set[str]:
        if self.node.norm == "max":
            return set()
        return super().helpers() | ({"root"} if self.node.norm == "l2" else set())


class Powers(Feature[ir.Powers]):
    """Each product has as many factors."""

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"degree": self.tables[self.node.factors].shape[1]}


class Cosine(Feature[ir.Cosine]):
    """By a function that C has no library for."""

    def fields(self) -> dict[str, Any]:
        own = {"factor": self.real(self.node.factor), "cosine": f"{self.helper}_cosine"}
        return super().fields() | own

    def helpers(self) -> set[str]:
        return {"cosine"}


class Fill(Feature[ir.Fill]):
    """A marker, or NaN, is replaced."""

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"marker": "" if self.node.nan else self.real(self.node.marker)}


class Missing(Feature[ir.Missing]):
    """A marker, or NaN, is told."""

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"marker": "" if self.node.nan else self.real(self.node.marker)}


class Join(Feature[ir.Join]):
    """Two rows stand behind each other."""

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"right_width": self.types[self.node.right].width}

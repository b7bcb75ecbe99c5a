"""Curves of features in C."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.node import CNode


class Pieces(CNode[ir.Pieces]):
    """A search, then a polynomial for each curve."""

    def fields(self) -> dict[str, Any]:
        curves, numbers = (self.tables[name].shape[1] for name in (self.node.levels, self.node.pieces))
        return {"curves": curves, "degree": numbers // curves - 1, "periodic": False}


class PeriodicPieces(Pieces):
    """The same, after whole periods are taken off."""

    def fields(self) -> dict[str, Any]:
        numbers = NUMBERS[self.number]
        return super().fields() | {"periodic": True} | {key: numbers[key] for key in ("whole", "all_whole")}

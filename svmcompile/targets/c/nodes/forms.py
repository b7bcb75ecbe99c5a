"""Affine and quadratic functions in C."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.node import CNode


class Affine(CNode[ir.Affine]):
    """Dot products with a copy of the row about the centre."""

    dots_with = "weights"

    def scratch(self) -> int:
        return self.size * self.width


class Quadratic(CNode[ir.Quadratic]):
    """Products of a copy of the row about the centre with itself."""

    adds_up = True

    def scratch(self) -> int:
        return self.size * self.width

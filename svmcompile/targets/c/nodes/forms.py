"""Affine and quadratic functions in C."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.node import CNode


class Affine(CNode[ir.Affine]):
    """Dot products with a copy of the row about the centre."""

    dots_with = "weights"
    copies_row = True


class Quadratic(CNode[ir.Quadratic]):
    """Products of a copy of the row about the centre with itself."""

    adds_up = True
    copies_row = True

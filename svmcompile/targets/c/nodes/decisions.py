"""Decisions in C: scores become others, or the index of a class."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.node import INT, CNode
from svmcompile.targets.c.numbers import LOWEST


class OvrScores(CNode[ir.OvrScores]):
    """Scores are added to while pairs are counted."""

    def scratch(self) -> int:
        return self.size * self.node.n_classes


class Vote(CNode[ir.Vote]):
    """Wins of each class are counted."""

    def scratch(self) -> int:
        return INT * self.node.n_classes


class ArgMax(CNode[ir.ArgMax]):
    """NaN counts as the lowest number there is."""

    def fields(self) -> dict[str, Any]:
        return {"lowest": LOWEST.get(self.number)}  # whole numbers are never NaN


class Threshold(CNode[ir.Threshold]):
    """One comparison."""

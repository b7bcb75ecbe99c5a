"""Decisions in C: scores become others, or the index of a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import classes_of
from svmcompile.targets.c.literals import LOWEST, real
from svmcompile.targets.c.node import INT, CNode, plain


class Reach(CNode[ir.Reach]):
    """A squared distance, in double or in two floats."""

    adds_up = True

    def fields(self) -> dict[str, Any]:
        square = self.node.radius**2
        narrow = real(min(square, float(np.finfo(np.float32).max)), "f32")
        return {"square": real(square, "f64"), "narrow_square": narrow}


class Guard(CNode[ir.Guard]):
    """A margin, and the exact score where that is small."""

    def fields(self) -> dict[str, Any]:
        node, types = self.node, self.types
        if self.number == "i32":
            largest = float((1 << 31) - 1)
        else:
            largest = float(np.finfo(np.float32 if self.number == "f32" else np.float64).max)
        return {
            "classes": classes_of(types[node.score].width),
            "guard_width": self.literal(min(node.width, largest)),
            "largest": self.literal(largest),
            "wide_exact": types[node.exact].wide and not types[node.score].wide,
        }

    def scratch(self) -> int:
        return INT * classes_of(self.types[self.node.score].width) if self.node.rule == "vote" else 0


class OvrScores(CNode[ir.OvrScores]):
    """Scores are added to while pairs are counted."""

    picks = keeps_time = True

    def scratch(self) -> int:
        return self.size * self.node.n_classes


class Vote(CNode[ir.Vote]):
    """Wins of each class are counted."""

    keeps_time = True

    def scratch(self) -> int:
        return INT * self.node.n_classes


class ArgMax(CNode[ir.ArgMax]):
    """NaN counts as the lowest number there is."""

    picks = keeps_time = True

    def fields(self) -> dict[str, Any]:
        return {"lowest": LOWEST.get(self.number)}  # whole numbers are never NaN


plain(__name__, ir.Add, ir.Threshold, keeps_time=True)

"""Labels that rounding cannot change, in C: a test of the sums, and double for what fails it."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.literals import LOWEST
from svmcompile.targets.c.node import INT, CNode

LANES = 16  # sums that do not wait for each other


class Certain(CNode[ir.Certain]):
    """The rounding error of the sums, from the length of the row where it depends on that."""

    behind_sums = True

    @property
    def has_length(self) -> bool:
        """Whether the error depends on the row."""
        return len(self.tables[self.node.widths]) > 1

    def fields(self) -> dict[str, Any]:
        terms = [self.literal(float(term)) for term in self.tables[self.node.widths]]
        width = terms[-1]
        for term in terms[-2::-1]:
            width = f"{term} + size * {width if width == terms[-1] else f'({width})'}"
        return {
            "scores": self.types[self.node.scores].width,
            "classes": self.out_width,
            "has_length": self.has_length,
            "centred": bool(self.node.centre),
            "error": width,
            "largest": LOWEST[self.number].lstrip("-"),
            "miss": 1 - self.node.hit,
        }

    def idle(self) -> set[str]:
        return {self.node.widths}

    def scratch(self) -> int:
        counts = 2 * INT * self.out_width if self.node.rule in ("vote", "ties") else 0
        row = self.width if self.has_length and self.node.centre else 0
        return counts + self.size * (row + (LANES if self.has_length else 0))

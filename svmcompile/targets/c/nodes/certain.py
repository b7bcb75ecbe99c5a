"""Labels that rounding cannot change, in C: a test of the sums, and double for what fails it."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.literals import LOWEST
from svmcompile.targets.c.node import INT, CNode


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
            "scores": self.types[self.node.scores].width - self.node.sized,
            "classes": self.out_width,
            "has_length": self.has_length,
            "length": self._length(),
            "error": width,
            "largest": LOWEST[self.number].lstrip("-"),
            "miss": 1 - self.node.hit,
        }

    def helpers(self) -> set[str]:
        by_row = self.has_length and not self.node.sized
        return {"distance" if self.node.centre else "dot"} if by_row else set()

    def _length(self) -> str:
        """The squared length of the row, where the error depends on it."""
        if self.node.sized:
            return "z[n - 1]"
        if self.node.centre:
            return f"{self.helper}_distance(z, {self.table(self.node.centre)}, n)"
        return f"{self.helper}_dot(z, z, n)"

    def idle(self) -> set[str]:
        return {self.node.widths}

    def scratch(self) -> int:
        return 2 * INT * self.out_width if self.node.rule in ("vote", "ties") else 0

"""Affine and quadratic functions in C."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.graph import maker, value_number
from svmcompile.ir.node import operands
from svmcompile.targets.c.api import c_real, widened_later
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import DOUBLE, CNode


class Centred(CNode[ir.Affine | ir.Quadratic]):
    """Reads a copy of the row about a centre, in double that of a row of floats."""

    copies_row = keeps_time = True

    def fields(self) -> dict[str, Any]:
        x = self.node.x
        row = maker(self.program, x)
        given = operands(row)[0] if row and x in widened_later(self.program) else x
        row_type = c_real(value_number(given, self.program, self.types))
        return {
            "row_type": row_type,
            "wider": "(double)" if row_type != c_real(self.number) else "",
            "in_fours": not self.file.style.device,
        }


class Affine(Centred):
    """Dot products."""

    dots_with = "weights"

    @property
    def copies_row(self) -> bool:  # type: ignore[override]
        """Not where it would copy the row as it is."""
        widens = bool(super().fields()["wider"])
        return widens or self._sized or bool(self.tables[self.node.centre].any())

    @property
    def _sized(self) -> bool:
        return self.out_width > len(self.tables[self.node.bias])

    def fields(self) -> dict[str, Any]:
        planes = len(self.tables[self.node.bias])
        return {**super().fields(), "planes": planes, "sized": self._sized, "copies": self.copies_row}

    def idle(self) -> set[str]:
        return set() if self.copies_row else {self.node.centre}


class SizedAffine(Affine):
    """The same, and the length of that copy; a single plane does without a copy."""

    keeps_time = False

    def helpers(self) -> set[str]:
        return {"plane"} if self.out_width == 2 else super().helpers()


class TermAffine(CNode[ir.TermAffine]):
    """Looks at the features of a row that are not zero, which it may be given alone."""

    adds_up = takes_terms = in_front = by_feature = True

    @property
    def takes_sparse_rows(self) -> bool:
        return bool(self.program.input.text) or "sparse" in self.file.parts

    def fields(self) -> dict[str, Any]:
        least = real(self.node.least, "f32" if self.is_narrow else "f64")
        return {"least": least, "sparse_rows": "sparse" in self.file.parts}

    def idle(self) -> set[str]:
        factor = self.node.factor
        return {factor} if (self.tables[factor] == 1).all() else set()

    def helpers(self) -> set[str]:
        called = {"log"} if self.node.logs else set()
        return super().helpers() | called | ({"root"} if self.node.norm == "l2" else set())

    def scratch(self) -> int:
        return DOUBLE * (self.out_width + 1)


class Quadratic(Centred):
    """Products of the copy with itself."""

    adds_up = True

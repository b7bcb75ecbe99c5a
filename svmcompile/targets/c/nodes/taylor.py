"""Taylor polynomials about centres in C."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.graph import value_number
from svmcompile.targets.c.api import c_real, row_argument, row_parameters
from svmcompile.targets.c.node import DOUBLE, CNode

E = TypeVar("E", bound=ir.TaylorSum | ir.TiledTaylor | ir.PickedTaylor)


class Expansion(CNode[E]):
    """Orders of polynomials, each for the rows that are not sure yet; then the exact sum."""

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return 0

    @property
    def fades(self) -> bool:
        """Whether polynomials are multiplied by a kernel value."""
        return True

    def fields(self) -> dict[str, Any]:
        node, rank = self.node, self.rank
        orders, leaves, cells, _ = self.tables[node.gaps].shape
        return {
            "row": row_parameters(self.program, self.name).replace("*x", "*row"),
            "row_argument": row_argument(self.program).replace("x", "row"),
            "exact_real": c_real(value_number(node.exact, self.program, self.types)),
            "orders": orders,
            "leaves": leaves,
            "cells": cells,
            "rank": rank,
            "loose_terms": [_terms(part) for part in self.tables[node.loose]] if rank else [],
            "slack": self.literal(1 + node.slack),
            "gates": [self.literal(gate) if gate > 0 else "" for gate in node.gates],
            "limit": self.literal(float(cells)),
            "gamma": self.literal(node.gamma),
            "fades": self.fades,
            "fade": "fade * " if self.fades else "",
            "minus_log2e": self.literal(-math.log2(math.e)),
            "exp2": f"{self.helper}_exp2",
        }

    def scratch(self) -> int:
        """The exact sum."""
        return DOUBLE if self.types[self.node.exact].wide else self.size


def _terms(loose: NDArray[Any]) -> str:
    """What axes leave, with the terms that some leaf has; [leaves, 4]."""
    known = ("along", "left", "along * left", "left * left")
    terms = [f"bound[{at}] * {text}" for at, text in enumerate(known) if loose[:, at].any()]
    return " + ".join(terms) or "0"


def idle_orders(node: ir.TaylorSum | ir.TiledTaylor, tables: Any) -> set[str]:
    """Tables that no order reads."""
    orders = len(tables[node.margins])
    turned = orders > 1 and tables[node.axes].ndim > 1
    idle = set() if turned else {node.axes, node.middles, node.loose}
    return idle | ({node.squares} if orders < 2 else set()) | ({node.cubes} if orders < 3 else set())


class TaylorSum(Expansion[ir.TaylorSum]):
    """Row by row."""

    parts = ("form",)
    reads_two_tables = True

    @property
    def rank(self) -> int:
        axes = self.tables[self.node.axes]
        return int(axes.shape[1]) if axes.ndim > 1 else 0

    @property
    def fades(self) -> bool:
        return self.node.fades

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"along": self.rank or self.width}

    def idle(self) -> set[str]:
        return idle_orders(self.node, self.tables)

    def helpers(self) -> set[str]:
        return ({"exp2"} if self.fades else set()) | ({"dot"} if self.rank else set())

    def scratch(self) -> int:
        return super().scratch() + self.size * self.width

"""Sums in blocks with jets: as they are, or for vector instructions as a sum of all vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import fresh
from svmcompile.ir.nodes import BoundedSum, JetSum, Node, table_names
from svmcompile.ir.program import Program
from svmcompile.lower.packed import LIMITS
from svmcompile.lower.staged import stage

Tables = dict[str, NDArray[Any]]
NEVER = 1e30  # a margin that no score is above


def lay_out_jets(program: Program, node: JetSum, number: Number, profile: str) -> tuple[list[Node], Tables]:
    """The machine nodes and tables; a host meets so many vectors at once that jets would save it little."""
    if profile == "host":
        plain, made = without_jets(node, program.tables)
        return stage(program.replace(tables={**program.tables, **made}), plain, number, profile)
    if np.abs(program.tables[node.vectors]).max() > LIMITS[number] / 10:
        raise EmitError(f"support vectors lie too far apart for {number}; scale the features, or use f64")
    return [node], {name: program.tables[name] for name in table_names(node)}


def without_jets(node: JetSum, tables: Mapping[str, NDArray[Any]]) -> tuple[BoundedSum, Tables]:
    """The same sum with one stage that is never sure: every row meets all vectors."""
    taken, made = [*tables], dict[str, NDArray[Any]]()

    def own(end: str, table: NDArray[Any]) -> str:
        taken.append(fresh(node.out, end, taken))
        made[taken[-1]] = table
        return taken[-1]

    made |= {name: tables[name] for name in (node.vectors, node.weights, node.bias, node.rounding)}
    found = BoundedSum(
        node.out, node.x, node.exact, node.vectors, node.weights, node.bias,
        own("stages", np.ones(1, dtype=np.int32)), own("coordinates", np.zeros(1)),
        own("projection", np.zeros(0)), own("estimates", np.zeros(1)), own("residuals", np.ones(1)),
        own("slacks", np.zeros(1)), own("never", np.full(1, NEVER)), node.rounding,
        float(np.linalg.norm(tables[node.vectors], axis=1).max()), -1.0, node.kernel,
    )  # fmt: skip
    return found, made

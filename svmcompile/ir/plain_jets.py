"""A sum in blocks with jets, told as a bounded sum without: for backends that take many vectors at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.own import fresh

Tables = Mapping[str, NDArray[Any]]
NEVER = 1e30  # a margin that no score is above


def without_jets(node: ir.JetSum, tables: Tables) -> tuple[ir.BoundedSum, dict[str, NDArray[Any]]]:
    """The same sum with one stage that is never sure: every row meets all vectors."""
    taken, made = [*tables], dict[str, NDArray[Any]]()

    def own(end: str, table: NDArray[Any]) -> str:
        taken.append(fresh(node.out, end, taken))
        made[taken[-1]] = table
        return taken[-1]

    made |= {name: tables[name] for name in (node.vectors, node.weights, node.bias, node.rounding)}
    found = ir.BoundedSum(
        node.out, node.x, node.exact, node.vectors, node.weights, node.bias,
        own("stages", np.ones(1, dtype=np.int32)), own("coordinates", np.zeros(1)),
        own("projection", np.zeros(0)), own("estimates", np.zeros(1)), own("residuals", np.ones(1)),
        own("slacks", np.zeros(1)), own("never", np.full(1, NEVER)), node.rounding,
        float(np.linalg.norm(tables[node.vectors], axis=1).max()), -1.0, node.kernel,
    )  # fmt: skip
    return found, made

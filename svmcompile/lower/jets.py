"""Sums in blocks with jets: as they are, or for vector instructions as a sum of all vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.nodes import JetSum, Node, table_names
from svmcompile.ir.plain_jets import without_jets
from svmcompile.ir.program import Number, Program
from svmcompile.lower.packed import LIMITS
from svmcompile.lower.staged import stage

Tables = dict[str, NDArray[Any]]


def lay_out_jets(program: Program, node: JetSum, number: Number, profile: str) -> tuple[list[Node], Tables]:
    """The machine nodes and tables; a host meets so many vectors at once that jets would save it little."""
    if profile == "host":
        plain, made = without_jets(node, program.tables)
        return stage(program.replace(tables={**program.tables, **made}), plain, number, profile)
    if np.abs(program.tables[node.vectors]).max() > LIMITS[number] / 10:
        raise EmitError(f"support vectors lie too far apart for {number}; scale the features, or use f64")
    return [node], {name: program.tables[name] for name in table_names(node)}

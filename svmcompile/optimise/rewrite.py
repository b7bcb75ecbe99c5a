"""Replacing nodes of a program, for passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.graph import leading_to, only_maker
from svmcompile.ir.nodes import Node, Scale, table_names
from svmcompile.ir.program import Program


def rewrite(program: Program, body: Sequence[Node], tables: Mapping[str, NDArray[Any]]) -> Program:
    """The program with another body; new tables are added, nodes and tables nobody needs are dropped."""
    kept = leading_to(body, (output.value for output in program.outputs))
    names = {name for node in kept for name in table_names(node)}
    merged = {**program.tables, **tables}
    return program.replace(body=kept, tables={name: merged[name] for name in merged if name in names})


def all_finite(tables: Mapping[str, NDArray[Any]]) -> bool:
    """Whether new tables can stand in a program; products of extreme numbers may not."""
    return all(bool(np.isfinite(table).all()) for table in tables.values())


def own_scale(program: Program, value: str) -> Scale | None:
    """The `Scale` that makes a value, if nothing else reads that value."""
    node = only_maker(program, value)
    return node if isinstance(node, Scale) else None

"""own_tables: every table gets one reader, so that a pass may replace it together with the node.

Also `fresh`, for the names of what passes add.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any

from numpy.typing import NDArray

from svmcompile.ir.check import MAX_NAME
from svmcompile.ir.nodes import Node, table_names
from svmcompile.ir.program import Program

Tables = dict[str, NDArray[Any]]


def own_tables(program: Program) -> Program:
    """The program with a copy, under a new name, for each further reader of a table."""
    names = [name for node in program.body for name in table_names(node)]
    if len(set(names)) == len(names):
        return program
    tables: Tables = dict(program.tables)
    seen: set[str] = set()
    body = tuple(_with_own(node, tables, seen) for node in program.body)
    return program.replace(body=body, tables=tables)


def _with_own(node: Node, tables: Tables, seen: set[str]) -> Node:
    changes: dict[str, Any] = {}
    for field in fields(node):
        name = getattr(node, field.name)
        if field.type not in ("Table", "IndexTable"):
            continue
        if name in seen:
            changes[field.name] = fresh(node.out, field.name, tables)
            tables[changes[field.name]] = tables[name]
        seen.add(name)
    return replace(node, **changes)


def fresh(stem: str, end: str, taken: Collection[str]) -> str:
    """`stem_end`; the stem is shortened if that is too long, the end numbered if it is taken."""
    name, number = _joined(stem, end), 2
    while name in taken:
        name, number = _joined(stem, f"{end}_{number}"), number + 1
    return name


def _joined(stem: str, end: str) -> str:
    return f"{stem[: MAX_NAME - len(end) - 1]}_{end}"

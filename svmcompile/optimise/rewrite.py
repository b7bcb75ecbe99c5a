"""Replacing nodes of a program, for passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.nodes import Node, Scale, operands, table_names
from svmcompile.ir.program import Program


def rewrite(program: Program, body: Sequence[Node], tables: Mapping[str, NDArray[Any]]) -> Program:
    """The program with another body; new tables are added, nodes and tables nobody needs are dropped."""
    kept = _needed(program, body)
    names = {name for node in kept for name in table_names(node)}
    merged = {**program.tables, **tables}
    return program.replace(body=kept, tables={name: merged[name] for name in merged if name in names})


def _needed(program: Program, body: Sequence[Node]) -> tuple[Node, ...]:
    wanted = {output.value for output in program.outputs}
    kept: list[Node] = []
    for node in reversed(body):
        if node.out in wanted:
            kept.append(node)
            wanted.discard(node.out)  # an earlier node of that name has been replaced
            wanted.update(operands(node))
    return tuple(reversed(kept))


def all_finite(tables: Mapping[str, NDArray[Any]]) -> bool:
    """Whether new tables can stand in a program; products of extreme numbers may not."""
    return all(bool(np.isfinite(table).all()) for table in tables.values())


def made_by(program: Program, value: str) -> Node | None:
    """The node that makes a value; None for the input."""
    return next((node for node in program.body if node.out == value), None)


def readers_of(program: Program, value: str) -> list[Node]:
    """The nodes that read a value, each as often as it does."""
    return [node for node in program.body for name in operands(node) if name == value]


def own_maker(program: Program, value: str) -> Node | None:
    """The node that makes a value, if one node reads that value once and no output does."""
    single = len(readers_of(program, value)) == 1
    shown = any(output.value == value for output in program.outputs)
    return made_by(program, value) if single and not shown else None


def own_scale(program: Program, value: str) -> Scale | None:
    """The `Scale` that makes a value, if nothing else reads that value."""
    node = own_maker(program, value)
    return node if isinstance(node, Scale) else None

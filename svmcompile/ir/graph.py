"""The graph of a program: who makes a value, who reads it, what leads to it, in which number type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.check import MAX_NAME, in_double
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import KernelSum, Node, PairSum, Scale, Value, lazy_operands, operands, table_names
from svmcompile.ir.program import Program

Tables = dict[str, NDArray[Any]]
FAR = 16.0  # gamma |s|^2 from which the expanded square is off by more than LIBSVM's differences


def maker(program: Program, value: str | None) -> Node | None:
    """The node that makes a value; None for the input, and for no value."""
    return next((node for node in program.body if node.out == value), None)


def readers(program: Program, value: str) -> list[Node]:
    """The nodes that read a value, each as often as it does."""
    return [node for node in program.body for name in operands(node) if name == value]


def only_maker(program: Program, value: str) -> Node | None:
    """The node that makes a value, if one node reads that value once and no output does."""
    shown = any(output.value == value for output in program.outputs)
    return maker(program, value) if len(readers(program, value)) == 1 and not shown else None


def leading_to(
    body: Iterable[Node], values: Iterable[str | None], known: Collection[str] = (), lazy: bool = True
) -> tuple[Node, ...]:
    """The nodes that lead to some values, from those known already.

    If not `lazy`, without what only some rows need.
    """
    wanted, kept = set(values), []
    for node in reversed(list(body)):
        if node.out in wanted and node.out not in known:
            kept.append(node)
            wanted.discard(node.out)  # an earlier node of that name has been replaced
            wanted.update(name for name in operands(node) if lazy or name not in lazy_operands(node))
    return tuple(reversed(kept))


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
        if field.type not in ("Table", "IndexTable") or not name:
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


def plain_source(program: Program, value: str) -> tuple[Value, NDArray[Any]] | None:
    """The row as it comes, and what multiplies it on its way to a value; None where zeros do not stay."""
    given = {program.input.name, *(node.out for node in program.body if node.widens)}
    made = maker(program, value)
    if value in given:
        return value, np.ones(1)
    if not isinstance(made, Scale) or made.x not in given:
        return None
    shift, factor, offset = (program.tables[name] for name in table_names(made))
    if shift.any() or offset.any():
        return None
    return made.x, factor[:1] if (factor == factor[0]).all() else factor


def float_number(program: Program) -> Number:
    """The type of the program's floats; programs in whole numbers have float beside these."""
    number = program.number or "f64"
    return "f32" if number in FIXED else number


def value_number(value: Value, program: Program, types: Types) -> Number:
    """The number type a value is held in."""
    return types[value].whole or ("f64" if types[value].wide else float_number(program))


def settled_in_double(program: Program, types: Types) -> set[Value]:
    """Scores of guards that rely on a bound of their rounding: their tables must stay as they are."""
    guards = [node for node in program.body if node.guards and node.gives_sign(types)]
    return {operands(node)[0] for node in guards}


def expands_far(body: Iterable[Node], tables: Mapping[str, NDArray[Any]], scores: Value) -> bool:
    """Whether |x|^2 - 2 x.s + |s|^2 of an RBF sum cancels so much that labels in double show it."""
    return any(
        node.kernel.gamma * np.square(tables[node.vectors]).sum(axis=1).max(initial=0.0) > FAR
        for node in leading_to(body, [scores])
        if isinstance(node, (KernelSum, PairSum)) and node.kernel.kind == "rbf"
    )


def node_number(node: Node, program: Program, types: Types) -> Number:
    """The number type a node computes in and has its tables in: that of what it reads, where that is whole
    numbers, and double if it reads a wide value.
    """
    for name in operands(node):
        if whole := types[name].whole:
            return whole
    return "f64" if in_double(node, types) else float_number(program)

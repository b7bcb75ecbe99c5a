"""lower: math nodes become machine nodes for one number type.

The C backend needs this stage; the ONNX backend emits from math nodes.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.check import check, infer_types
from svmcompile.ir.nodes import (
    KernelSum,
    LeafSums,
    Node,
    PairSum,
    PathSum,
    PlaneLists,
    index_tables,
    operands,
    table_names,
)
from svmcompile.ir.own import own_tables
from svmcompile.ir.program import Number, Program
from svmcompile.ir.wide import node_number, reads_wide
from svmcompile.lower.inverted import invert
from svmcompile.lower.leaves import pack_leaves
from svmcompile.lower.lists import tile_lists
from svmcompile.lower.packed import pack
from svmcompile.lower.storage import Storage
from svmcompile.lower.tiled import tile

Tables = dict[str, NDArray[Any]]
Profile = Literal["portable", "host"]
INDEX_TYPES = (np.uint8, np.int8, np.uint16, np.int16, np.int32)


def lower(
    program: Program,
    number: Number,
    profile: Profile = "portable",
    halves: bool = False,
    storage: Storage = "auto",
) -> Program:
    """The machine program of a math program; every table is of the number type.

    The profile "portable" is for any C99 compiler, "host" for processors with vector instructions.
    Vectors that are mostly zeros are stored by feature where that pays, or as `storage` says.
    With `halves` a host program keeps its support vectors in float16; `round_vectors` goes before.
    """
    program = own_tables(program)
    types = infer_types(program)
    body: list[Node] = []
    tables: Tables = {}
    for node in program.body:
        if isinstance(node, (KernelSum, PairSum, PathSum)):
            wide = reads_wide(node, types)
            own: Number = "f64" if wide else number
            nodes, made = pack(program, node, own)
            # A path meets few vectors, one at a time; a precomputed kernel has none.
            if isinstance(node, PathSum) or node.kernel.kind == "precomputed":
                body, tables = [*body, *nodes], tables | made
                continue
            # Wide sums are for few rows: whatever the others' tables, theirs are plain.
            inverted = invert(program, nodes, made, own, profile, "dense" if halves or wide else storage)
            if inverted:
                nodes, made = inverted
            elif profile == "host":
                nodes, made = tile(nodes, made, own, types[node.x].width)
                if halves and not wide:
                    made[node.vectors] = made[node.vectors].astype(np.float16)
            body += nodes
            tables |= made
        elif isinstance(node, LeafSums):
            nodes, made = pack_leaves(program, node, number, profile)
            body, tables = [*body, *nodes], tables | made
        else:
            read = {name: program.tables[name] for name in table_names(node)}
            if isinstance(node, PlaneLists) and profile == "host":
                node, read = tile_lists(node, read, "f64" if reads_wide(node, types) else number)
            body.append(node)
            tables |= read
    body = _without_unused(program, body)
    machine = program.replace(body=tuple(body), tables=tables, number=number)
    return check(machine.replace(tables=_cast_tables(machine)))


def _cast_tables(machine: Program) -> Tables:
    """The tables its nodes read, each in the number type of its reader."""
    types = infer_types(machine)
    cast: Tables = {}
    for node in machine.body:
        number, indices = node_number(node, machine, types), index_tables(node)
        for name in table_names(node):
            table = machine.tables[name]
            cast[name] = _narrowest(table) if name in indices else _cast(name, table, number)
    return {name: cast[name] for name in machine.tables if name in cast}


def _without_unused(program: Program, body: list[Node]) -> list[Node]:
    """Drops scalings that went into a packed sum."""
    read = {name for node in body for name in operands(node)}
    read |= {output.value for output in program.outputs}
    return [node for node in body if node.out in read]


def _narrowest(table: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smallest type that holds them all."""
    if table.dtype.kind == "u":  # chosen already
        return table
    low, high = int(table.min(initial=0)), int(table.max(initial=0))
    for kind in INDEX_TYPES:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return table.astype(kind)
    raise EmitError(f"a table of whole numbers holds {low} to {high}, beyond 32 bits")


def _cast(name: str, table: NDArray[Any], number: Number) -> NDArray[Any]:
    if table.dtype == np.float16 or table.dtype.kind in "iu":
        return table
    table = table + 0.0  # turns -0.0 into 0.0, which reads better and means the same here
    if number == "f64":
        return table
    with np.errstate(over="ignore"):
        cast = table.astype(np.float32)
    if not np.isfinite(cast).all():
        raise EmitError(
            f"table {name!r} holds numbers beyond float32 (largest {np.abs(table).max():.3g}); "
            "use precision f64"
        )
    return cast

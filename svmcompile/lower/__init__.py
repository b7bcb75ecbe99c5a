"""lower: math nodes become machine nodes for one number type.

The C backend needs this stage; the ONNX backend emits from math nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import check, in_double, infer_types
from svmcompile.ir.graph import Tables, leading_to, maker, node_number, own_tables, settled_in_double
from svmcompile.ir.program import Program
from svmcompile.lower.bounded import lay_out_jets, stage
from svmcompile.lower.certain import settle
from svmcompile.lower.cosines import cosine_sum
from svmcompile.lower.csr import pack_compressed, pack_leaves_compressed
from svmcompile.lower.leaves import pack_leaves
from svmcompile.lower.lists import tile_lists
from svmcompile.lower.sparse import Storage, invert
from svmcompile.lower.sums import Lowered, Sum, pack, pack_distances, tile
from svmcompile.lower.taylor import lay_out_vote, pick_taylor, tile_taylor
from svmcompile.lower.terms import fuse_terms

Profile = Literal["portable", "host", "device"]
STAGED: dict[type[ir.Node], Callable[[Program, Any, Number, str], Lowered]] = {
    **dict.fromkeys((ir.BoundedSum, ir.BoundedVote), stage),
    ir.CsrSum: pack_compressed,
    ir.CsrLeaves: pack_leaves_compressed,
    ir.JetSum: lay_out_jets,
    ir.TaylorVote: lay_out_vote,
}
INDEX_TYPES = (np.uint8, np.int8, np.uint16, np.int16, np.int32)


def lower(
    program: Program,
    number: Number,
    profile: Profile = "portable",
    halves: bool = False,
    storage: Storage = "auto",
) -> Program:
    """The machine program of a math program; tables are of the number type, or double for
    what comes of widened values.

    The profile "portable" is for any C99 compiler, "host" for processors with vector instructions,
    "device" for small ones, which have no room for the scratch of vectors stored by feature.
    Vectors that are mostly zeros are stored by feature where that pays, or as `storage` says.
    With `halves` a host program keeps its support vectors in float16; `round_vectors` goes before.
    """
    program = fuse_terms(settle(own_tables(program), number))
    types = infer_types(program)
    certain = any(isinstance(node, ir.Certain) for node in program.body)
    kept = settled_in_double(program, types)
    body: list[ir.Node] = []
    tables: Tables = {}
    for node in program.body:
        wide = in_double(node, types)
        own: Number = "f64" if wide else number
        if isinstance(node, (ir.KernelSum, ir.PairSum, ir.PathSum)):
            # Wide sums are for few rows: whatever the others' tables, theirs are plain, unless they are all
            # there is behind a sum of every vector. Those that are held against a bound are plain too: by
            # feature, sums are longer chains of rounding.
            plain = (wide and not certain) or node.out in kept
            kind = "dense" if halves or plain or profile == "device" else storage
            if wide and isinstance(node, (ir.KernelSum, ir.PairSum)) and node.kernel.kind == "rbf":
                nodes, made = _wide_rbf(program, node, profile, kind)
            else:
                nodes, made = _sum(program, node, own, profile, halves and not wide and not plain, kind)
        elif type(node) in STAGED:
            nodes, made = STAGED[type(node)](program, node, own, profile)
        elif isinstance(node, ir.TaylorSum) and node.sparse:
            nodes, made = pick_taylor(program, node, own, profile)
        elif isinstance(node, ir.LeafSums):
            nodes, made = pack_leaves(program, node, number, profile)
        else:
            nodes, made = [node], {name: program.tables[name] for name in ir.table_names(node)}
            if profile == "host":
                cosines = None if wide else cosine_sum(program, node, own)
                nodes, made = cosines or _for_vectors(program, node, made, own)
        body += nodes
        tables |= made
    body = _without_unused(program, body)
    machine = program.replace(body=tuple(body), tables=tables, number=number)
    return check(machine.replace(tables=cast_tables(machine)))


def _for_vectors(program: Program, node: ir.Node, made: Tables, number: Number) -> Lowered:
    """A node whose layout differs for processors with vector instructions."""
    if isinstance(node, ir.PlaneLists):
        return [node], tile_lists(node, made, number)
    tiled = tile_taylor(program, node, number) if isinstance(node, ir.TaylorSum) else None
    return ([tiled[0]], tiled[1]) if tiled else ([node], made)


def _wide_rbf(
    program: Program, node: ir.KernelSum | ir.PairSum, profile: Profile, storage: Storage
) -> Lowered:
    """By differences, unless vectors are stored by feature, which about zero is nearly as good.

    For hosts in tiles: a hundredth of all rows may need it where there are thousands of vectors.
    """
    scale = maker(program, node.x)
    if storage != "dense" and isinstance(scale, ir.Scale) and not program.tables[scale.offset].any():
        nodes, made = _sum(program, node, "f64", profile, False, storage)
        if isinstance(nodes[-1], ir.SparseSum):
            return nodes, made
    nodes, made = pack_distances(program, node)
    width = program.tables[node.vectors].shape[1]
    return tile(nodes, made, "f64", width) if profile == "host" else (nodes, made)


def _sum(
    program: Program, node: Sum, number: Number, profile: Profile, halves: bool, storage: Storage
) -> Lowered:
    nodes, made = pack(program, node, number)
    # A path meets few vectors, one at a time; a precomputed kernel has none.
    if isinstance(node, ir.PathSum) or node.kernel.kind == "precomputed":
        return nodes, made
    inverted = invert(program, nodes, made, number, profile, storage)
    if inverted:
        nodes, made = inverted
        # How many lanes a block has is read off the number type.
        made[node.weights] = _cast(node.weights, made[node.weights], number)
    if inverted or profile != "host":
        return nodes, made
    width = program.tables[node.vectors].shape[1]
    nodes, made = tile(nodes, made, number, width)
    if halves:
        made[node.vectors] = made[node.vectors].astype(np.float16)
    return nodes, made


def cast_tables(machine: Program) -> Tables:
    """The tables its nodes read, each in the number type of its reader."""
    types = infer_types(machine)
    cast: Tables = {}
    for node in machine.body:
        number, indices = node_number(node, machine, types), ir.index_tables(node)
        for name in ir.table_names(node):
            table = machine.tables[name]
            cast[name] = _narrowest(table) if name in indices else _cast(name, table, number)
    return {name: cast[name] for name in machine.tables if name in cast}


def _without_unused(program: Program, body: list[ir.Node]) -> list[ir.Node]:
    """Drops scalings that went into a sum, and exact sums of values that need none."""
    return list(leading_to(body, (output.value for output in program.outputs)))


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
            "use precision f64, or scale your features before training"
        )
    return cast

"""What the C macros of `nodes.j2` need to know about each machine node."""

from __future__ import annotations

from dataclasses import fields
from functools import singledispatch
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, TypeGuard

import numpy as np

from svmcompile.emit.c_api import c_real, row_parameters
from svmcompile.emit.c_chances import CHANCES, chances_context
from svmcompile.emit.c_device import KERNEL_SUMS, Adapted, Style, row_fields
from svmcompile.emit.c_features import FEATURES, feature_context
from svmcompile.emit.c_fixed import FIXED, FIXED_TREES, fixed_context
from svmcompile.emit.c_host import tiled_layout
from svmcompile.emit.c_leaves import is_host as leaves_are_host
from svmcompile.emit.c_leaves import leaf_instruction_sets, leaves_context
from svmcompile.emit.c_lists import LISTS, list_context
from svmcompile.emit.c_numbers import LOWEST, NUMBERS
from svmcompile.emit.c_parts import own_names
from svmcompile.emit.c_picked import taylor_vectors
from svmcompile.emit.c_sparse import is_host, sparse_layout
from svmcompile.emit.c_staged import (
    STAGED,
    host_staged,
    is_staged_host,
    staged_context,
    staged_template,
    sum_context,
    vote_context,
)
from svmcompile.emit.c_tables import emitted_tables as emitted_tables
from svmcompile.emit.c_tables import inlined_tables
from svmcompile.emit.c_taylor import taylor_context
from svmcompile.emit.c_taylor_vote import taylor_vote_context
from svmcompile.emit.c_trees import (
    TREES,
    helper_prefix,
    lazy_name,
    tree_context,
    unit_text,
)
from svmcompile.emit.c_vectors import instruction_sets
from svmcompile.emit.literals import real
from svmcompile.emit.names import Names
from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node, operands
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types
from svmcompile.ir.stages import LONG
from svmcompile.ir.trees import leaf_depths
from svmcompile.ir.wide import node_number, value_number

BLOCK = 16  # kernel values summed up in the number type before they go to double

# Files of templates, by what they have macros for; the others are in nodes.j2.
TEMPLATES: dict[str, tuple[type[Node], ...]] = {
    "host/sums": (ir.TiledSum,),
    "paths": (ir.PackedPath,),
    "sparse": (ir.SparseSum,),
    "trees": TREES,
    "lists": LISTS,
    "leaves": (ir.PackedLeaves,),
    "taylor": (ir.OneLeaf, ir.TaylorSum),
    "jets": (ir.JetSum,),
    "host/taylor": (ir.TiledTaylor,),
    "picked_taylor": (ir.PickedTaylor,),
    "features": FEATURES,
    "chances": CHANCES,
    "fixed": FIXED,
    "fixed_trees": FIXED_TREES,
}
LAZY = (ir.Guard, ir.TaylorSum, ir.TiledTaylor, ir.PickedTaylor, ir.JetSum, *STAGED)
SHAPE_FUNCTIONS = {"exp2": "exp2", "tanh": "tanh", "power": "power", "identity": "", "given": ""}


def has_intrinsics(node: Node, program: Program) -> bool:
    """Whether a node's macro goes beyond GCC's vector extensions where the processor has more to offer."""
    if isinstance(node, ir.TiledSum) and program.tables[node.vectors].dtype == np.float16:
        return True
    if isinstance(node, ir.PackedLeaves):
        return leaves_are_host(node, program) and node.shape in ("exp2", "tanh")
    if isinstance(node, STAGED):
        return is_staged_host(node, program) and node.kernel.kind == "rbf"
    if isinstance(node, ir.TiledTaylor):
        return True
    if isinstance(node, ir.PickedTaylor):
        return node.lanes > 1
    return _takes_vectors(node, program) and node.shape in ("exp2", "tanh")


def _takes_vectors(node: Node, program: Program) -> TypeGuard[ir.TiledSum | ir.SparseSum]:
    """Whether a node's macro is written for each instruction set."""
    return isinstance(node, ir.TiledSum) or (isinstance(node, ir.SparseSum) and is_host(node, program))


def context(
    node: Node, program: Program, types: Types, symbols: Names, name: str, style: Style, made: Adapted
) -> Any:
    """The fields one macro reads."""
    assert program.number
    number = node_number(node, program, types)
    helper = helper_prefix(name, number, program)
    known: dict[str, Any] = {
        "kind": type(node).__name__,
        "template": f"c/{_template(node, program)}.j2",
        "out": node.out,
        "function": symbols(f"%{node.out}", node.out),
        "width": types[operands(node)[0]].width,
        "long": types[operands(node)[0]].width >= LONG,
        "real": _real(node, number, types),
        "row_type": c_real(value_number(operands(node)[0], program, types)),
        "dot": f"{helper}_dot",
        "inline": f"{name.upper()}_INLINE ",
        "unroll": f"{name.upper()}_UNROLL",
        "zero": real(0.0, number),
        "one": real(1.0, number),
        "three": real(3.0, number),
        **style.fields(node, number, helper),
    }
    if isinstance(node, KERNEL_SUMS):
        known |= row_fields(node, program, made, helper, style, number)
    for field, table in _table_fields(node).items():
        if table not in inlined_tables(program):
            known[field] = symbols(f"@{table}", table)
    if isinstance(node, ir.LeafAffine):
        known["unit"] = unit_text(node, program, known.get("units", ""))
    if isinstance(node, LAZY):
        known["lazy"] = lazy_name(node.exact, symbols)
    if isinstance(node, STAGED):
        known |= staged_context(node, program, number, name, helper) | {"numbers": NUMBERS[number]}
        known["isas"] = host_staged(node, program, number, helper, name)
    known |= own_names(node, symbols)
    if isinstance(node, ir.TiledSum):
        prepare = next(item for item in program.body if item.out == node.x)
        assert isinstance(prepare, ir.Prepare)
        known |= {
            "factor": symbols(f"@{prepare.factor}", prepare.factor),
            "limit": real(prepare.limit, number),
        }
    known |= taylor_vectors(node, program, types, name, known["function"], helper)
    if isinstance(node, ir.PackedLeaves):
        known["isas"] = leaf_instruction_sets(node, program, number, helper, name)
    elif _takes_vectors(node, program):
        known["isas"] = instruction_sets(node, program, number, helper, name)
    return SimpleNamespace(**(known | _own(node, program, types, name)))


def _real(node: Node, number: Number, types: Types) -> str:
    """The type of what a node computes; dot products of whole numbers need 32 bits."""
    return c_real("i32" if types[operands(node)[0]].whole and number not in NUMBERS else number)


def _template(node: Node, program: Program) -> str:
    """The file that has the node's macro."""
    if isinstance(node, STAGED):
        return staged_template(node, program)
    if isinstance(node, ir.PackedLeaves) and leaves_are_host(node, program):
        return "host/leaves"
    if isinstance(node, ir.SparseSum) and is_host(node, program):
        return "host/sparse"
    return next((file for file, kinds in TEMPLATES.items() if isinstance(node, kinds)), "nodes")


def _table_fields(node: Node) -> dict[str, str]:
    """Field -> table, for every table the node reads."""
    kinds = ("Table", "IndexTable")
    return {field.name: getattr(node, field.name) for field in fields(node) if field.type in kinds}


@singledispatch
def _own(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    """What only this kind of node has."""
    raise TypeError(f"no C code for {type(node).__name__}")


@_own.register
def _(node: ir.Scale, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {}


@_own.register
def _(node: ir.Clip, program: Program, types: Types, name: str) -> dict[str, Any]:
    number = node_number(node, program, types)
    return {"low": real(node.low, number), "high": real(node.high, number)}


@_own.register
def _(node: ir.Prepare, program: Program, types: Types, name: str) -> dict[str, Any]:
    number = node_number(node, program, types)
    lanes, width = 4 if number == "f32" else 2, types[node.out].width
    return {
        "limit": real(node.limit, number),
        "bits": NUMBERS[number]["bits"],
        "sign_bit": NUMBERS[number]["sign_bit"],
        "lanes": lanes,
        "whole": width // lanes * lanes,
    }


def _shape_call(
    node: ir.PackedSum | ir.PackedPath | ir.SparseSum | ir.PackedLeaves,
    program: Program,
    types: Types,
    name: str,
) -> dict[str, str]:
    """The function that makes a kernel value of one dot product, and its second argument."""
    function = SHAPE_FUNCTIONS[node.shape]
    prefix = helper_prefix(name, node_number(node, program, types), program)
    return {
        "shape_function": f"{prefix}_{function}" if function else "",
        "argument": f", {node.degree}" if node.shape == "power" else "",
    }


@_own.register
def _(node: ir.PackedSum, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {
        **_kernel(node, program, types, name),
        "columns": program.tables[node.weights].shape[1],
        "counts": node.counts,
        "classes": len(node.counts),
        "ends": ", ".join(map(str, accumulate(node.counts))),
        "block_size": BLOCK,
    }


def _kernel(
    node: ir.PackedSum | ir.PackedPath, program: Program, types: Types, name: str
) -> dict[str, Any]:
    """What the macro of one kernel value reads."""
    return {
        **_shape_call(node, program, types, name),
        "shape": node.shape,
        "given": node.shape == "given",
        "row": row_parameters(program, name),
        "values": "kernel, query" if node.shape == "given" else "x, row",
        "offset": real(program.tables[node.offsets][0], node_number(node, program, types)),
        "vector_count": program.tables[node.vectors].shape[0],
        "sums": types[node.out].width,
    }


@_own.register
def _(node: ir.PackedPath, program: Program, types: Types, name: str) -> dict[str, Any]:
    children = program.tables[node.children]
    return {
        **_kernel(node, program, types, name),
        "nodes": len(children),
        "levels": leaf_depths(children).max(),
        "again": bool((program.tables[node.picks] < 0).any()),
    }


@_own.register
def _(node: ir.TiledSum, program: Program, types: Types, name: str) -> dict[str, Any]:
    number = node_number(node, program, types)
    return {
        "shape": node.shape,
        "offset": real(program.tables[node.offsets][0], number),
        "sums": types[node.out].width,
        "numbers": NUMBERS[number],
        "input_width": program.n_features,
        **tiled_layout(node, program, number),
    }


@_own.register
def _(node: ir.SparseSum, program: Program, types: Types, name: str) -> dict[str, Any]:
    number, factor = node_number(node, program, types), program.tables[node.factor]
    return {
        **_shape_call(node, program, types, name),
        "shape": node.shape,
        "one_factor": real(factor[0], number) if factor.size == 1 else "",
        "limit": real(node.limit, number),
        "offset": real(program.tables[node.offsets][0], number),
        "sums": types[node.out].width,
        "numbers": NUMBERS[number],
        "block_size": BLOCK,
        **sparse_layout(node, program, number),
    }


@_own.register
def _(node: ir.PackedLeaves, program: Program, types: Types, name: str) -> dict[str, Any]:
    number = node_number(node, program, types)
    return {
        **_shape_call(node, program, types, name),
        **leaves_context(node, program, types, number),
        "values": "x, row",
        "numbers": NUMBERS[number],
        "block_size": BLOCK,
    }


@_own.register(ir.Affine)
@_own.register(ir.Quadratic)
def _(node: ir.Affine | ir.Quadratic, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {"sums": types[node.out].width}


@_own.register(ir.OvrScores)
@_own.register(ir.Vote)
def _(node: ir.OvrScores | ir.Vote, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {"sums": types[node.pairs].width, "classes": node.n_classes}


@_own.register
def _(node: ir.ArgMax, program: Program, types: Types, name: str) -> dict[str, Any]:
    lowest = LOWEST.get(node_number(node, program, types))  # whole numbers are never NaN
    return {"classes": types[node.scores].width, "lowest": lowest}


@_own.register(ir.OneLeaf)
@_own.register(ir.TaylorSum)
@_own.register(ir.JetSum)
def _(node: Any, program: Program, types: Types, name: str) -> dict[str, Any]:
    prefix = helper_prefix(name, node_number(node, program, types), program)
    return taylor_context(node, program, types, name, prefix)


@_own.register(ir.PickedTaylor)
@_own.register(ir.TiledTaylor)
def _(node: ir.PickedTaylor | ir.TiledTaylor, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {"exp2": f"{helper_prefix(name, node_number(node, program, types), program)}_exp2"}


def _with_helpers(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    prefix = helper_prefix(name, node_number(node, program, types), program)
    make = feature_context if isinstance(node, FEATURES) else chances_context
    return make(node, program, types, prefix)


def _tree(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    return tree_context(node, program, types, name)


for _kind in TREES:
    _own.register(_kind, _tree)
for _one in (*FEATURES, *CHANCES):
    _own.register(_one, _with_helpers)


def _fixed(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    return fixed_context(node, program, types, name)


for _whole in (*FIXED, *FIXED_TREES):
    _own.register(_whole, _fixed)


@_own.register(ir.PlaneLists)
@_own.register(ir.TiledLists)
def _(node: ir.PlaneLists | ir.TiledLists, program: Program, types: Types, name: str) -> dict[str, Any]:
    return list_context(node, program, types, name)


@_own.register
def _(node: ir.Widen, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {"from_real": c_real(value_number(node.x, program, types))}


@_own.register
def _(node: ir.StagedSum, program: Program, types: Types, name: str) -> dict[str, Any]:
    return sum_context(node, program, node_number(node, program, types))


@_own.register
def _(node: ir.StagedVote, program: Program, types: Types, name: str) -> dict[str, Any]:
    return vote_context(node, program) | {"lowest": LOWEST[node_number(node, program, types)]}


@_own.register
def _(node: ir.TaylorVote, program: Program, types: Types, name: str) -> dict[str, Any]:
    number = node_number(node, program, types)
    prefix = helper_prefix(name, number, program)
    own = {"lowest": LOWEST[number], "wide_exp2": f"{helper_prefix(name, 'f64', program)}_exp2"}
    return taylor_vote_context(node, program, number, prefix) | own


@_own.register
def _(node: ir.Threshold, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {"sign": ">" if node.positive else "<", "hit": node.hit, "miss": node.miss}

"""What the C macros of `nodes.j2` need to know about each machine node."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import singledispatch
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, TypeGuard

import numpy as np

from svmcompile.emit.c_api import c_real, row_parameters
from svmcompile.emit.c_chances import CHANCES, chances_context
from svmcompile.emit.c_host import tiled_layout
from svmcompile.emit.c_sparse import is_host, sparse_layout
from svmcompile.emit.c_taylor import taylor_context
from svmcompile.emit.c_trees import (
    TREES,
    dots,
    helper_prefix,
    idle_tables,
    lazy_name,
    tree_context,
    unit_text,
)
from svmcompile.emit.c_vectors import instruction_sets
from svmcompile.emit.literals import real
from svmcompile.emit.names import Names
from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node, operands, table_names
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types
from svmcompile.ir.trees import leaf_depths
from svmcompile.ir.wide import node_number

BLOCK = 16  # kernel values summed up in the number type before they go to double

# 2^f = 1 + f (c1 + f (c2 + ...)) on [-1/2, 1/2], least worst relative error.
EXP2_COEFFICIENTS: dict[Number, tuple[float, ...]] = {
    "f32": (
        1.0, 0.6931472420692444, 0.24022652208805084, 0.055503103882074356,
        0.009617692790925503, 0.0013406643411144614, 0.00015594676369801164,
    ),
    "f64": (
        1.0, 0.6931471805599457, 0.24022650695910097, 0.05550410866479039, 0.009618129107607003,
        0.001333355815343997, 0.0001540353044157185, 1.5252727385189775e-05, 1.3215442675452854e-06,
        1.0180647660573069e-07, 7.072570394540799e-09, 4.0780717860928705e-10,
    ),
}  # fmt: skip
# The same for the host profile, where an operation more is one per kernel value: as short as the
# stated error allows; on [0, 1] for processors that split off the fraction themselves.
EXP2_FROM_NEAREST: dict[Number, tuple[float, ...]] = {
    "f32": (
        1.0, 0.6931469775979313, 0.24022242084564863, 0.055507337450183304, 0.009671512676821328,
        0.001326472666658417,
    ),
    "f64": EXP2_COEFFICIENTS["f64"],
}  # fmt: skip
EXP2_FROM_FLOOR: dict[Number, tuple[float, ...]] = {
    "f32": (
        1.0, 0.6931513118146168, 0.2401644500806607, 0.055799913287969335, 0.009017030135350938,
        0.0018671301371346208,
    ),
    "f64": (
        1.0, 0.693147180559946, 0.24022650695906303, 0.05550410866560708, 0.009618129099506217,
        0.0013333558631857664, 0.00015403512238913757, 1.5253176424663647e-05, 1.3208350501098494e-06,
        1.0253339193373275e-07, 6.558991114570944e-09, 6.264450028309692e-10,
    ),
}  # fmt: skip


def _numbers(number: Number, **own: Any) -> dict[str, Any]:
    """Literals of one number type."""
    plain = {"zero": 0.0, "half": 0.5, "one": 1.0, "two": 2.0, "two_log2e": 2 * math.log2(math.e)}
    values: dict[str, Any] = {key: real(value, number) for key, value in plain.items()}
    for key, polynomial in (
        ("coefficients", EXP2_COEFFICIENTS),
        ("from_nearest", EXP2_FROM_NEAREST),
        ("from_floor", EXP2_FROM_FLOOR),
    ):
        values[key] = [real(value, number) for value in polynomial[number]]
    return values | own


NUMBERS: dict[Number, dict[str, Any]] = {
    "f32": _numbers(
        "f32", bits="uint32_t", mantissa=23, bias=127, min="-126.0f", max="127", error="2e-7",
        tanh_limit="10.0f", tanh_error="3e-7", magic="12582912.0f", sign_bit=31, suffix="ps",
    ),
    "f64": _numbers(
        "f64", bits="uint64_t", mantissa=52, bias=1023, min="-1022.0", max="1023", error="4e-16",
        tanh_limit="20.0", tanh_error="6e-16", magic="6755399441055744.0", sign_bit=63, suffix="pd",
    ),
}  # fmt: skip
LOWEST: dict[Number, str] = {"f32": "-3.4028235e+38f", "f64": "-1.7976931348623157e+308"}  # finite
PACKED = (ir.PackedSum, ir.PackedPath)
TAYLOR = (ir.OneLeaf, ir.TaylorSum)
# Names that belong to a node besides its function.
PARTS: dict[type[Node], tuple[str, ...]] = {
    ir.PackedSum: ("kernel", "block"),
    ir.PackedPath: ("kernel",),
    ir.TiledSum: ("ends", "input"),
    ir.SparseSum: ("ends",),
    ir.PlaneRoute: ("plane",),
    ir.Couple: ("sweep",),
}
SHAPE_FUNCTIONS = {"exp2": "exp2", "tanh": "tanh", "power": "power", "identity": "", "given": ""}


def helpers(program: Program, types: Types, name: str) -> list[dict[str, Any]]:
    """Which helper functions the nodes call, for each number type."""
    numbers = [node_number(node, program, types) for node in program.body]
    return [
        {
            "prefix": helper_prefix(name, number, program),
            "real": c_real(number),
            "numbers": NUMBERS[number],
            "uses": _uses(
                [node for node in program.body if node_number(node, program, types) == number], program
            ),
        }
        for number in dict.fromkeys([program.number or "f64", *numbers])
    ]


def _uses(body: list[Node], program: Program) -> dict[str, bool]:
    """Which helper functions some nodes of one number type call."""
    shapes = {
        node.shape
        for node in body
        if isinstance(node, PACKED) or (isinstance(node, ir.SparseSum) and not is_host(node, program))
    }
    taylor = any(isinstance(node, ir.TaylorSum) for node in body)
    dense = taylor or any(
        isinstance(node, ir.Affine) or (isinstance(node, PACKED) and node.shape != "given") for node in body
    )
    trees = dots(body, program)
    has_sigmoid = any(isinstance(node, ir.Sigmoid) for node in body)
    return {
        "dot": dense or "dot" in trees,
        "dot_i8": "dot_i8" in trees,
        "dot_f16": "dot_f16" in trees,
        "exp2": taylor or has_sigmoid or bool(shapes & {"exp2", "tanh"}),
        "tanh": "tanh" in shapes,
        "power": "power" in shapes,
    }


def has_intrinsics(node: Node, program: Program) -> bool:
    """Whether a node's macro goes beyond GCC's vector extensions where the processor has more to offer."""
    if isinstance(node, ir.TiledSum) and program.tables[node.vectors].dtype == np.float16:
        return True
    return _takes_vectors(node, program) and node.shape in ("exp2", "tanh")


def _takes_vectors(node: Node, program: Program) -> TypeGuard[ir.TiledSum | ir.SparseSum]:
    """Whether a node's macro is written for each instruction set."""
    return isinstance(node, ir.TiledSum) or (isinstance(node, ir.SparseSum) and is_host(node, program))


def inlined_tables(program: Program) -> set[str]:
    """Tables that do not appear as such: one number that stands in the code, or nothing to say."""
    sums = [node for node in program.body if isinstance(node, (*PACKED, ir.TiledSum, ir.SparseSum))]
    constants = {node.offsets for node in sums if node.shape != "exp2"}
    sparse = [node for node in sums if isinstance(node, ir.SparseSum)]
    constants |= {node.factor for node in sparse if program.tables[node.factor].size == 1}
    return constants.union(*(idle_tables(node, program) for node in program.body))


def emitted_tables(program: Program) -> list[str]:
    """Tables that appear in the code, in the order of the nodes."""
    inlined = inlined_tables(program)
    names = [name for node in program.body for name in table_names(node) if name not in inlined]
    return list(dict.fromkeys(names))


def context(node: Node, program: Program, types: Types, symbols: Names, name: str) -> Any:
    """The fields one macro reads."""
    assert program.number
    number = node_number(node, program, types)
    known: dict[str, Any] = {
        "kind": type(node).__name__,
        "is_tree": isinstance(node, TREES),
        "is_taylor": isinstance(node, TAYLOR),
        "is_chances": isinstance(node, CHANCES),
        "out": node.out,
        "function": symbols(f"%{node.out}", node.out),
        "width": types[operands(node)[0]].width,
        "real": c_real(number),
        "dot": f"{helper_prefix(name, number, program)}_dot",
        "wide": "(double)" if number == "f32" else "",
        "narrow": "(float)" if number == "f32" else "",
        "zero": real(0.0, number),
        "one": real(1.0, number),
        "three": real(3.0, number),
    }
    for field, table in _table_fields(node).items():
        if table not in inlined_tables(program):
            known[field] = symbols(f"@{table}", table)
    if isinstance(node, ir.LeafAffine):
        known["unit"] = unit_text(node, program, known.get("units", ""))
    if isinstance(node, (ir.Guard, ir.TaylorSum)):
        known["lazy"] = lazy_name(node.exact, symbols)
    parts = PARTS.get(type(node), ())
    known |= {part: symbols(f"%{node.out} {part}", f"{node.out}_{part}") for part in parts}
    if isinstance(node, ir.TiledSum):
        prepare = next(item for item in program.body if item.out == node.x)
        assert isinstance(prepare, ir.Prepare)
        known |= {
            "factor": symbols(f"@{prepare.factor}", prepare.factor),
            "limit": real(prepare.limit, number),
        }
    if _takes_vectors(node, program):
        known["isas"] = instruction_sets(node, program, number, known["function"], name)
    return SimpleNamespace(**(known | _own(node, program, types, name)))


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
    node: ir.PackedSum | ir.PackedPath | ir.SparseSum, program: Program, types: Types, name: str
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
    return {"classes": types[node.scores].width, "lowest": LOWEST[node_number(node, program, types)]}


@_own.register(ir.OneLeaf)
@_own.register(ir.TaylorSum)
def _(node: ir.OneLeaf | ir.TaylorSum, program: Program, types: Types, name: str) -> dict[str, Any]:
    prefix = helper_prefix(name, node_number(node, program, types), program)
    return taylor_context(node, program, types, name, prefix)


def _chances(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    prefix = helper_prefix(name, node_number(node, program, types), program)
    return chances_context(node, program, types, prefix)


for _kind in CHANCES:
    _own.register(_kind, _chances)


def _tree(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    return tree_context(node, program, types, name)


for _kind in TREES:
    _own.register(_kind, _tree)


@_own.register
def _(node: ir.Threshold, program: Program, types: Types, name: str) -> dict[str, Any]:
    return {"sign": ">" if node.positive else "<", "hit": node.hit, "miss": node.miss}

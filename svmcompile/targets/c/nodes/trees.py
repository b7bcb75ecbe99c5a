"""What the macros of `trees.j2` need to know, and the functions of lazy values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.graph import float_number, node_number, value_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Kind, Node, lazy_operands
from svmcompile.ir.pairs import classes_of
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Body, body, c_real, row_argument, row_parameters
from svmcompile.targets.c.literals import real
from svmcompile.targets.names import Names

DOTS = {"f": "dot", "float16": "dot_f16", "int8": "dot_i8"}  # by the type of the table
WHOLE_TABLES = {"int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32"}
MOST_CODED = 256  # tests that stand in the code
CENTRED = (ir.PlaneRoute, ir.LeafAffine, ir.Products, ir.PlaneLists, ir.TiledLists)
TREES = (ir.AxisRoute, ir.PlaneRoute, ir.LeafAffine, ir.Products, ir.Add, ir.Reach, ir.Guard)


def is_coded(node: Node, program: Program) -> bool:
    """A small tree stands in the code, test after test, which needs no table and no chain of loads."""
    return (
        isinstance(node, (ir.AxisRoute, ir.PlaneRoute)) and len(program.tables[node.children]) <= MOST_CODED
    )


def coded_tests(
    node: ir.AxisRoute | ir.PlaneRoute, program: Program, number: Number
) -> list[dict[str, Any]]:
    """The tests of a tree in an order in which the left child comes next."""
    children, thresholds = program.tables[node.children].tolist(), program.tables[node.thresholds]
    tests: list[dict[str, Any]] = []
    waiting = [0]
    while waiting:
        at = waiting.pop()
        left, right = children[at]
        tests.append(
            {
                "node": at,
                "feature": int(program.tables[node.features][at]) if isinstance(node, ir.AxisRoute) else 0,
                "threshold": real(thresholds[at], number),
                "right": right,
                "left_leaf": ~left if left < 0 else None,
                "labelled": any(test["right"] == at for test in tests),
            }
        )
        waiting += [child for child in (right, left) if child >= 0]
    return tests


def is_single(node: ir.LeafAffine, program: Program) -> bool:
    """One score, and one function for each leaf: then `starts` and `sums` tell nothing."""
    starts = program.tables[node.starts]
    return program.tables[node.bias].shape[1] == 1 and bool((np.diff(starts.astype(np.int64)) == 1).all())


def is_complete(node: ir.LeafAffine, program: Program) -> bool:
    """A function for every score of every leaf."""
    return len(program.tables[node.sums]) == program.tables[node.bias].size


def idle_tables(node: Node, program: Program) -> set[str]:
    """Tables that would say nothing in C: centres at zero, units of one, one function per leaf."""
    idle = set()
    if is_coded(node, program):
        assert isinstance(node, (ir.AxisRoute, ir.PlaneRoute))
        idle |= {node.children, node.thresholds}
        if isinstance(node, ir.AxisRoute):
            idle.add(node.features)
    if isinstance(node, CENTRED) and not program.tables[node.centre].any():
        idle.add(node.centre)
    if isinstance(node, ir.LeafAffine):
        if (program.tables[node.units] == 1).all():
            idle.add(node.units)
        if is_single(node, program):
            idle |= {node.starts, node.sums}
    return idle


def dot_function(name: str, x: str, table: str, program: Program, types: Types) -> str:
    """The helper function for dot products of a row and a table."""
    if whole := types[x].whole:
        return f"{name}_dot_{whole}_{WHOLE_TABLES[str(program.tables[table].dtype)]}"
    helper = helper_prefix(name, value_number(x, program, types), program)
    return f"{helper}_{dot_of(program.tables[table])}"


def dot_of(table: Any) -> str:
    """The helper function for dot products with a table."""
    return DOTS.get(str(table.dtype), "dot")


def helper_prefix(name: str, number: Number, program: Program) -> str:
    """What the names of helper functions start with; those in double have their own in a float program."""
    return name if number == float_number(program) else f"{name}_wide"


def dots(body: Iterable[Node], program: Program) -> set[str]:
    """The helper functions trees need for their dot products."""
    found = set()
    for node in body:
        if isinstance(node, (ir.PlaneRoute, ir.PlaneLists)) and program.number not in FIXED:
            found.add(dot_of(program.tables[node.planes]))
        elif isinstance(node, ir.LeafAffine):
            found.add(dot_of(program.tables[node.weights]))
    return found


def lazy_bodies(program: Program, types: Types, symbols: Names, name: str) -> dict[str, Body]:
    """By node, the function that computes what only some rows need."""
    row = row_parameters(program, name)
    found = {}
    for node in program.body:
        for value in lazy_operands(node):
            if value == program.input.name:  # of a sum that never needs the exact one
                continue
            function = lazy_name(value, symbols)
            if types[value].kind is Kind.LABEL:
                found[node.out] = body(program, types, symbols, value, f"static int {function}({row})")
                continue
            out = f"{c_real(value_number(value, program, types))} out[{types[value].width}]"
            declaration = f"static void {function}({row}, {out})"
            found[node.out] = body(program, types, symbols, value, declaration, "out")
    return found


def lazy_name(value: str, symbols: Names) -> str:
    return symbols(f"lazy %{value}", f"{value}_when_needed")


def tree_context(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    """The fields the macros of trees read beside those every node has."""
    number = node_number(node, program, types)
    idle, helper = idle_tables(node, program), helper_prefix(name, number, program)
    found: dict[str, Any] = {"has_centre": getattr(node, "centre", "") not in idle}
    if isinstance(node, (ir.AxisRoute, ir.PlaneRoute)):
        found["nodes"] = types[node.out].width - 1
        found["tests"] = coded_tests(node, program, number) if is_coded(node, program) else []
    if isinstance(node, ir.PlaneRoute):
        found["dot"] = dot_function(name, node.x, node.planes, program, types)
    if isinstance(node, ir.LeafAffine):
        found |= {
            "dot": f"{helper}_{dot_of(program.tables[node.weights])}",
            "sums_count": types[node.out].width,
            "single": is_single(node, program),
            "complete": is_complete(node, program),
        }
    if isinstance(node, ir.Products):
        found["out_width"] = types[node.out].width
    if isinstance(node, ir.Reach):
        found |= {"sums_count": types[node.out].width, "square": real(node.radius**2, "f64")}
        largest = float(np.finfo(np.float32).max)
        found["narrow_square"] = real(min(node.radius**2, largest), "f32")
    if isinstance(node, ir.Guard):
        found |= _guard(node, types, number)
        found |= {"row": row_parameters(program, name), "row_argument": row_argument(program)}
        found["wide_exact"] = types[node.exact].wide and not types[node.score].wide
    return found


def unit_text(node: Node, program: Program, units: str) -> Callable[[str], str]:
    """How a function's unit is multiplied in; nothing where all are one."""
    idle = isinstance(node, ir.LeafAffine) and node.units in idle_tables(node, program)
    return lambda index: "" if idle else f" * {units}[{index}]"


def _guard(node: ir.Guard, types: Types, number: str) -> dict[str, Any]:
    if number == "i32":
        largest = float((1 << 31) - 1)
    else:
        largest = float(np.finfo(np.float32 if number == "f32" else np.float64).max)
    return {
        "rule": node.rule,
        "classes": classes_of(types[node.score].width),
        "guard_width": real(min(node.width, largest), number),
        "largest": real(largest, number),
    }

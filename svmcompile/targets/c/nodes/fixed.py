"""What the macros of `fixed.j2` need to know, and the functions that take rows in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import FIXED as FIXED_NUMBERS
from svmcompile.ir.kinds import Types
from svmcompile.ir.leaf_layout import sums_of
from svmcompile.ir.node import At
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program
from svmcompile.ir.walks import leaf_depths
from svmcompile.ir.whole_numbers import UNIT_BITS, needs_int64, whole
from svmcompile.targets.c.api import Body, Function, body, c_real, needed
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.nodes.trees import WHOLE_TABLES, dot_function
from svmcompile.targets.names import Names

FIXED = (ir.Quantise, ir.Requantise, ir.FixedSum, ir.FixedAffine, ir.FixedQuadratic, ir.Dequantise)
FIXED_TREES = (ir.FixedLeaves, ir.FixedPath, ir.FixedLeafSums)
MOST_RANGES = 16  # that a file lists


def fixed_context(node: Node, program: Program, types: Types, name: str) -> dict[str, Any]:
    """The fields the macros read beside those every node has."""
    found: dict[str, Any] = {
        "sums": types[node.out].width,
        "row_type": c_real(types[node.out].whole or "f32"),
    }
    if isinstance(node, ir.Quantise):
        return found | {
            "limit": real(node.limit, "f32"),
            "half": real(0.5, "f32"),
            "one_shift": _alone(program.tables[node.shift]),
            "one_factor": _alone(program.tables[node.factor]),
        }
    found["row_type"] = c_real(types[ir.operands(node)[0]].whole or "f32")
    if isinstance(node, ir.Requantise):
        found["out_type"] = c_real(types[node.out].whole or "i8")
        return found | {"limit": node.limit, "scale_bits": node.scale_bits} | _halves(node.scale_bits)
    if isinstance(node, ir.Dequantise):
        return found | {"unit": real(node.unit, "f32")}
    if isinstance(node, (ir.FixedAffine, ir.FixedLeaves)):
        found["dot"] = dot_function(name, node.x, node.weights, program, types)
        if isinstance(node, ir.FixedLeaves):  # `sums` is a table of its own
            return {"sum_count": found.pop("sums"), **found}
        return found | _shift(node)
    if isinstance(node, ir.FixedQuadratic):
        return found | _shift(node) | {"sum_type": "int64_t"}
    found |= _kernel(node, program, types, name) | _shift(node)
    if isinstance(node, ir.FixedSum):
        return found | _sums(node, program, types)
    found["sum_type"], found["product_type"] = "int64_t", "int64_t"
    return found | (_path(node, program) if isinstance(node, ir.FixedPath) else _leaves(node, program))


def _alone(table: NDArray[Any]) -> str:
    """The one number of a table; nothing where it has one per feature."""
    return real(table[0], "f32") if table.size == 1 else ""


def inlined_fixed(node: Node, program: Program) -> set[str]:
    """Tables of one number, which stand in the code."""
    if not isinstance(node, ir.Quantise):
        return set()
    return {name for name in (node.shift, node.factor) if program.tables[name].size == 1}


def _kernel(node: Any, program: Program, types: Types, name: str) -> dict[str, Any]:
    """What the macros of one kernel value read."""
    coarse = max(0, node.cell_bits - UNIT_BITS)
    return {
        "dot": dot_function(name, node.x, node.vectors, program, types),
        "shape": node.shape,
        "degree": node.degree,
        "points": len(program.tables[node.curve]),
        "cell_bits": node.cell_bits,
        "coarse": coarse,
        "fine": node.cell_bits - coarse,
        "mask": (1 << node.cell_bits) - 1,
        "half_cell": (1 << node.cell_bits) >> 1,
        "offset_unit": 1 << node.offset_shift,
        "vector_count": len(program.tables[node.vectors]),
    }


def _sums(node: ir.FixedSum, program: Program, types: Types) -> dict[str, Any]:
    return {
        "columns": program.tables[node.weights].shape[1],
        "counts": node.counts,
        "classes": len(node.counts),
        "ends": ", ".join(map(str, accumulate(node.counts))),
        "sum_type": "int64_t" if needs_int64(At(node, program.tables, types)) else "int32_t",
        "product_type": "int32_t" if node.shape in ("exp2", "tanh") else "int64_t",
    }


def _shift(node: Any) -> dict[str, Any]:
    return {"shift": node.shift} | _halves(node.shift)


def _halves(bits: int) -> dict[str, Any]:
    return {"half": (1 << bits) >> 1}


def _path(node: ir.FixedPath, program: Program) -> dict[str, Any]:
    children = program.tables[node.children]
    return {
        "nodes": len(children),
        "levels": int(leaf_depths(children).max()),
        "again": bool((program.tables[node.picks] < 0).any()),
    }


def _leaves(node: Any, program: Program) -> dict[str, Any]:
    assert isinstance(node, ir.FixedLeafSums)
    classes = np.diff(whole(program.tables[node.firsts]))
    return {
        "rule": node.rule,
        "classes": node.classes,
        "most_sums": max(1, int(sums_of(node.rule, classes).max())),
    }


def dot_table(node: Node, types: Types) -> str:
    """The table whose rows a node multiplies a row with; none for nodes that do not."""
    if isinstance(node, (ir.FixedSum, ir.FixedPath, ir.FixedLeafSums)):
        return node.vectors
    if isinstance(node, (ir.PlaneRoute, ir.PlaneLists)):
        return node.planes if types[node.x].whole else ""
    return node.weights if isinstance(node, (ir.FixedAffine, ir.FixedLeaves)) else ""


def fixed_dots(program: Program, types: Types, name: str) -> list[dict[str, Any]]:
    """The dot products that nodes in whole numbers call."""
    found = {}
    for node in program.body:
        if table := dot_table(node, types):
            own = WHOLE_TABLES[str(program.tables[table].dtype)]
            row = types[ir.operands(node)[0]].whole
            function = dot_function(name, ir.operands(node)[0], table, program, types)
            found[function] = {
                "function": function,
                "row": row,
                "row_type": c_real(row or "i8"),
                "table": own,
                "table_type": c_real(own),  # type: ignore[arg-type]
                **_dsp(row, own),
            }
    return list(found.values())


def _dsp(row: str, table: str) -> dict[str, Any]:
    """How instructions that multiply two numbers of 16 bits at once can be used."""
    signs = {"i8": "s", "u8": "u"}
    return {
        "has_dsp": (row in signs and table in signs) or (row, table) == ("i16", "i16"),
        "bytes": table in signs,
        "step": 4 if table in signs else 2,
        "row_sign": signs.get(row, ""),
        "table_sign": signs.get(table, ""),
    }


def quantiser(program: Program) -> ir.Quantise | None:
    """The node that alone makes whole numbers of the row; None where more than it reads the row."""
    readers = [node for node in program.body if program.input.name in ir.operands(node)]
    if any(ir.lazy_operands(node) for node in program.body):  # which start from the row itself
        return None
    return readers[0] if len(readers) == 1 and isinstance(readers[0], ir.Quantise) else None


def whole_scores(program: Program) -> tuple[str, float] | None:
    """The value in whole numbers behind the scores or the value, and its unit."""
    value = program.output("scores") or program.output("value")
    node = next((node for node in program.body if node.out == value), None)
    return (node.x, node.unit) if isinstance(node, ir.Dequantise) else None


@dataclass(frozen=True, slots=True)
class Quantised:
    """Functions for rows in whole numbers: what the header declares, and their bodies."""

    api: list[Function]
    bodies: list[Body]


def quantised_functions(program: Program, types: Types, name: str, symbols: Names) -> Quantised:
    """Functions for rows in whole numbers, where the row is needed for nothing else."""
    if program.input.number:
        return _of_whole_input(program, types, name, symbols)
    node = quantiser(program)
    if node is None:
        return Quantised([], [])
    d, kind = types[node.out].width, c_real(types[node.out].whole or "i8")
    row = f"const {kind} x[{d}]"
    start = (node.out, "x")
    declaration = f"void {name}_quantise(const float x[{d}], {kind} q[{d}])"
    call = f"{symbols(f'%{node.out}', node.out)}(x, q)"
    api = [Function("The row in whole numbers, as the next functions take it.", declaration)]
    bodies = [Body(declaration, [], [call])]
    if label := program.output("label"):
        declaration = f"int {name}_predict_q({row})"
        api.append(Function(f"{name}_predict for such a row.", declaration))
        bodies.append(body(program, types, symbols, label, declaration, start=start))
    if (scores := whole_scores(program)) and node in needed(program, scores[0], set()):
        width = types[scores[0]].width
        unit = f"in units of {real(scores[1], 'f32')}"
        if program.labels is None:
            declaration = f"int32_t {name}_predict_q({row})"
            api.append(Function(f"The value for such a row, {unit}.", declaration))
            bodies.append(body(program, types, symbols, scores[0], declaration, start=start))
        else:
            declaration = f"void {name}_decision_function_q({row}, int32_t scores[{width}])"
            api.append(Function(f"The decision values of such a row, {unit}.", declaration))
            bodies.append(body(program, types, symbols, scores[0], declaration, "scores", start))
    return Quantised(api, bodies)


def _of_whole_input(program: Program, types: Types, name: str, symbols: Names) -> Quantised:
    """Scores in whole numbers from rows of such: no float at all."""
    scores = whole_scores(program)
    if not scores:
        return Quantised([], [])
    value, unit = scores
    row = f"const {c_real(program.input.number or 'u8')} x[{program.n_features}]"
    text = f"in units of {real(unit, 'f32')}; no float is touched."
    if program.labels is None:
        declaration = f"int32_t {name}_predict_q({row})"
        made = body(program, types, symbols, value, declaration)
        return Quantised([Function(f"The value of one row, {text}", declaration)], [made])
    declaration = f"void {name}_decision_function_q({row}, int32_t scores[{types[value].width}])"
    made = body(program, types, symbols, value, declaration, "scores")
    return Quantised([Function(f"The decision values of one row, {text}", declaration)], [made])


def fixed_banner(program: Program) -> list[str]:
    """What a file in whole numbers says of its precision."""
    told = program.origin.details.get("fixed") if program.number in FIXED_NUMBERS else None
    if not told:
        return []
    lines = [f"Decision values are within {told['error']:.3g} of the original's, for rows within range."]
    if "disagreement" in told:
        lines.append(
            f"{100 * told['disagreement']:.3g} % of {told['rows']} rows of data get another label."
        )
    if "low" in told:
        lines += _ranges(told["low"], told["high"])
    return lines


def _ranges(low: list[float], high: list[float]) -> list[str]:
    """The range of the features: of each where they are few, else of all."""
    if len(low) <= MOST_RANGES:
        return ["Range of each feature:"] + [
            f"  {at}: {one:.6g} to {other:.6g}"
            for at, (one, other) in enumerate(zip(low, high, strict=True))
        ]
    return [f"Features range from {min(low):.6g} to {max(high):.6g}, each as the report lists it."]

"""Which helper functions generated C needs: what the nodes of a program call."""

from __future__ import annotations

from typing import Any

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import float_number
from svmcompile.ir.nodes import operands
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.node import WHOLE_TABLES, CFile
from svmcompile.targets.c.numbers import NUMBERS

HELPERS = "sum row dot dot_i8 dot_f16 distance fade raise exp2 tanh power root cosine".split()


def helpers(file: CFile) -> list[dict[str, Any]]:
    """The helper functions of each number type, in the order of the nodes."""
    numbers = [float_number(file.program), *(node.number for node in file.nodes.values())]
    return [_helpers(file, number) for number in dict.fromkeys(numbers) if number in NUMBERS]


def _helpers(file: CFile, number: Number) -> dict[str, Any]:
    called: set[str] = set()
    for node in file.nodes.values():
        called |= node.helpers() if node.number == number else set()
        called |= node.helpers_in_double if number == "f64" else set()
    return {
        "prefix": file.prefix(number),
        "real": c_real(number),
        "numbers": NUMBERS[number],
        "uses": {helper: helper in called for helper in HELPERS},
    }


def fixed_dots(file: CFile) -> list[dict[str, Any]]:
    """The dot products that nodes in whole numbers call."""
    functions = {}
    for node in file.nodes.values():
        row = file.types[operands(node.node)[0]].whole
        if row and node.dots_with:
            own, function = WHOLE_TABLES[node.dot_table], node.dot_function
            functions[function] = {
                "function": function,
                "row": row,
                "row_type": c_real(row),
                "table": own,
                "table_type": c_real(own),
                **_dsp(row, own),
            }
    return list(functions.values())


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

"""text: a stable listing of a program. Table hashes make differences honest."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.check import infer_types
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program


def text(program: Program) -> str:
    """One line per node; ends with a newline."""
    types = infer_types(program)
    origin = program.origin
    lines = [
        f"program {program.number or 'math'} method={origin.method} claim={origin.claim.value}",
        f"source {origin.source} sha256:{origin.sha256[:12]}",
        f"%{program.input.name}: features[{program.input.width}]",
    ]
    for node in program.body:
        kind = types[node.out]
        lines.append(f"%{node.out} = {_node_text(node, program)} : {kind.kind.value}[{kind.width}]")
    lines += [f"{output.name} <- %{output.value}" for output in program.outputs]
    if program.labels:
        lines.append("labels " + ", ".join(repr(value) for value in program.labels.values))
        lines += [f"targets {program.labels.targets}"] * bool(program.labels.targets)
    return "\n".join(lines) + "\n"


def table_text(name: str, table: NDArray[Any]) -> str:
    """`@sv[12x4 f64 #9f3a]`"""
    extent = "x".join(str(size) for size in table.shape)
    content = hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()[:4]
    return f"@{name}[{extent} {table.dtype.kind}{8 * table.dtype.itemsize} #{content}]"


def _node_text(node: Node, program: Program) -> str:
    words = [re.sub(r"(?<!^)(?=[A-Z])", "_", type(node).__name__).lower()]
    arguments = []
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name == "out" or value == "":
            continue
        if field.type in ("Value", "Lazy"):
            arguments.append(("lazy " if field.type == "Lazy" else "") + f"%{value}")
        elif field.type in ("Table", "IndexTable"):
            arguments.append(table_text(value, program.tables[value]))
        elif isinstance(value, Kernel):
            words.append(value.text())
        elif value != ():
            words.append(f"{field.name}={value!r}".replace(" ", ""))
    return " ".join(words) + " " + ", ".join(arguments)

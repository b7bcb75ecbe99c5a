"""Text before a linear machine: what weighs the counts of a row goes into the machine itself.

A text has few of the terms that a vocabulary holds. As one node, the machine looks at these alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import Tables, fresh, leading_to, only_maker
from svmcompile.ir.program import Program


def fuse_terms(program: Program) -> Program:
    """A linear machine of text takes in the logarithm, the weights and the norm before it.

    Not one of several readers of the row, which then is there with all its zeros.
    """
    machines = [node for node in program.body if isinstance(node, ir.Affine)]
    if not program.input.text or len(machines) != 1:
        return program
    found = _fused(program, machines[0])
    if found is None:
        return program
    node, made = found
    body = [node if one is machines[0] else one for one in program.body]
    fused = program.replace(body=tuple(body), tables={**program.tables, **made})
    used = leading_to(body, [output.value for output in program.outputs])
    return fused if [one for one in used if program.input.name in ir.operands(one)] == [node] else program


def _fused(program: Program, machine: ir.Affine) -> tuple[ir.Node, Tables] | None:
    """Back from the machine to the counts: columns, norm, weights, logarithm, each at most once."""
    t = program.tables
    weights = t[machine.weights].T
    bias = t[machine.bias] - t[machine.weights] @ t[machine.centre]
    before: Any = only_maker(program, machine.x)
    if isinstance(before, ir.Pick):
        whole = np.zeros((_width_before(program, before), weights.shape[1]))
        np.add.at(whole, t[before.columns], weights)
        weights, before, x = whole, only_maker(program, before.x), before.x
    else:
        x = machine.x
    norm, least = "", 0.0
    if isinstance(before, ir.Normalize):
        norm, least, x, before = before.norm, before.least, before.x, only_maker(program, before.x)
    factor: Array = np.ones(len(weights))
    if isinstance(before, ir.Scale) and not t[before.shift].any() and not t[before.offset].any():
        factor, x, before = t[before.factor], before.x, only_maker(program, before.x)
    logs = isinstance(before, ir.LogCounts)
    x = before.x if logs else x
    if x != program.input.name:
        return None
    held = {"factor": factor, "weights": np.ascontiguousarray(weights), "bias": bias}
    names = {end: fresh(machine.out, end, t) for end in held}
    made = {names[end]: table for end, table in held.items()}
    return ir.TermAffine(machine.out, x, **names, logs=logs, norm=norm, least=least), made


def _width_before(program: Program, node: ir.Pick) -> int:
    return infer_types(program)[node.x].width

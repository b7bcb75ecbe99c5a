"""Machine programs for small processors: kernel sums copy no row and store no norms where they need not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Code, Program

KERNEL_SUMS = (ir.PackedSum, ir.PackedPath, ir.PackedLeaves)
# Rows need no copy if all features have one factor, and one that keeps their squares within float32.
FACTORS = (1e-6, 1e6)
LARGEST_VECTOR = 1e6  # in units of the kernel
LARGEST_NORM = 8.0  # halved and squared, for norms that go into the weights


def adapt(machine: Program) -> Code:
    """A float program as devices run it; others stay as they are."""
    if machine.number != "f32":
        return Code(machine, machine, "device")
    program, units = _without_copies(machine)
    tables, meant, folded = dict(program.tables), dict(machine.tables), set()
    for node in program.body:
        if isinstance(node, ir.PackedSum) and _norms_are_small(node, program):
            powers = np.exp2(program.tables[node.offsets].astype(np.float64))[:, None]
            tables[node.weights] = (tables[node.weights] * powers).astype(np.float32)
            meant[node.weights] = tables[node.weights] / powers  # the interpreter knows norms
            folded.add(node.offsets)
    program, meaning = program.replace(tables=tables), machine.replace(tables=meant)
    return Code(program, meaning, "device", units, frozenset(folded))


def _norms_are_small(node: ir.PackedSum, program: Program) -> bool:
    """2^(t - a) w = 2^t (2^-a w), and 2^t is not large."""
    if node.shape != "exp2" or program.tables[node.weights].dtype != np.float32:
        return False
    return float(-program.tables[node.offsets].min(initial=0.0)) <= LARGEST_NORM


def _without_copies(program: Program) -> tuple[Program, dict[str, float]]:
    """Kernel sums read the row itself where a copy would only be scaled; by node, what by."""
    units: dict[str, float] = {}
    prepares = {node.out: node for node in program.body if isinstance(node, ir.Prepare)}
    body: list[ir.Node] = []
    for node in program.body:
        prepare = prepares.get(node.x) if isinstance(node, KERNEL_SUMS) else None
        if isinstance(node, KERNEL_SUMS) and prepare and _is_plain(prepare, node, program):
            units[node.out] = float(program.tables[prepare.factor][0])
            node = replace(node, x=prepare.x)
        body.append(node)
    read = {name for node in body for name in ir.operands(node)}
    kept = [node for node in body if not isinstance(node, ir.Prepare) or node.out in read]
    return program.replace(body=tuple(kept)), units


def _is_plain(prepare: ir.Prepare, node: Any, program: Program) -> bool:
    shift, factor, vectors = (
        program.tables[name] for name in (prepare.shift, prepare.factor, node.vectors)
    )
    if vectors.dtype != np.float32:  # sums in double have the code of other profiles, which knows no unit
        return False
    if shift.any() or not (factor == factor[0]).all():
        return False
    within = FACTORS[0] <= float(factor[0]) <= FACTORS[1]
    return within and float(np.abs(vectors).max(initial=0.0)) <= LARGEST_VECTOR

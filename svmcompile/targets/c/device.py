"""What the device profile writes in another way: sums without double, tables where they can be placed.

A machine program goes in; the fields that templates read to follow the profile come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Function

KERNEL_SUMS = (ir.PackedSum, ir.PackedPath, ir.PackedLeaves)
FAR = 1e30  # a row whose half squared norm is beyond is so far out that every kernel value is zero
# Rows need no copy if all features have one factor, and one that keeps their squares within float32.
FACTORS = (1e-6, 1e6)
LARGEST_VECTOR = 1e6  # in units of the kernel
LARGEST_NORM = 8.0  # halved and squared, for norms that go into the weights
RESERVED = frozenset("sum start add total row fade raise".split())  # of the profile's helper functions


@dataclass(frozen=True, slots=True)
class Style:
    """How code of one profile is written."""

    name: str
    device: bool = False

    @property
    def flash(self) -> str:
        """Stands before the type of a table, and of what a pointer into one points to."""
        return f"{self.name.upper()}_FLASH " if self.device else ""

    @property
    def rolled(self) -> str:
        """Stands before loops that are not worth the flash of being unrolled."""
        return f"{self.name.upper()}_ROLLED" if self.device else ""

    def adapt(self, program: Program) -> Adapted:
        """The machine program as it is written."""
        return adapted(program) if self.fades(program.number) else Adapted(program, {}, frozenset())

    def self_test(self, declared: Function) -> Function:
        """The self-test as the header declares it."""
        if not self.device:
            return declared
        macro = f"{self.name.upper()}_SELF_TEST"
        text = f"Runs stored rows, returns how many fail; -1 unless {macro} is defined for {self.name}.c."
        return replace(declared, comment=text)

    def fades(self, number: Number | None) -> bool:
        """Whether kernel values are made by the profile's own function."""
        return self.device and number == "f32"

    def fields(self, two_floats: bool, number: Number, helper: str) -> dict[str, Any]:
        """What macros read: how they declare, start, add to and read sums, in double or two floats."""
        if two_floats:
            return {
                "flash": self.flash,
                "rolled": self.rolled,
                "wide": "",
                "narrow": "",
                "sum_type": f"{helper}_sum",
                "wide_type": "float",
                "start": lambda value: f"{helper}_start({value})",
                "add": lambda target, value: f"{helper}_add(&{target}, {value})",
                "total": lambda sum, more="": f"{helper}_total({sum}){more}",
                "is_above": lambda sum: f"{helper}_total({sum}) > 0.0f",
                "device": True,
            }
        wide, narrow = ("(double)", "(float)") if number == "f32" else ("", "")
        return {
            "flash": self.flash,
            "rolled": self.rolled,
            "wide": wide,
            "narrow": narrow,
            "sum_type": "double",
            "wide_type": "double",
            "start": lambda value: f"{wide}{value}",
            "add": lambda target, value: f"{target} += {wide}{value}",
            "total": lambda sum, more="": f"{narrow}({sum}{more})" if more else f"{narrow}{sum}",
            "is_above": lambda sum: f"{sum} > 0.0",
            "device": False,
        }


@dataclass(frozen=True, slots=True)
class Adapted:
    """A machine program as it is written for a device, and what its tables do not tell."""

    program: Program
    units: Mapping[str, float]  # by node: what the row is to be multiplied by
    folded: frozenset[str]  # tables of norms that have gone into the weights


def adapted(program: Program) -> Adapted:
    """A float program with kernel sums that copy no row and store no norms where they need not."""
    program, units = _without_copies(program)
    tables, folded = dict(program.tables), set()
    for node in program.body:
        if isinstance(node, ir.PackedSum) and _norms_are_small(node, program):
            norms = program.tables[node.offsets].astype(np.float64)
            tables[node.weights] = (tables[node.weights] * np.exp2(norms)[:, None]).astype(np.float32)
            folded.add(node.offsets)
    return Adapted(program.replace(tables=tables), units, frozenset(folded))


def _norms_are_small(node: ir.PackedSum, program: Program) -> bool:
    """2^(t - a) w = 2^t (2^-a w), and 2^t is not large."""
    if node.shape != "exp2" or program.tables[node.weights].dtype != np.float32:
        return False
    return float(-program.tables[node.offsets].min(initial=0.0)) <= LARGEST_NORM


def _without_copies(program: Program) -> tuple[Program, dict[str, float]]:
    """Kernel sums read the row itself where a copy would only be scaled; by node, what by."""
    units: dict[str, float] = {}
    prepares = {node.out: node for node in program.body if isinstance(node, ir.Prepare)}
    body: list[Node] = []
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

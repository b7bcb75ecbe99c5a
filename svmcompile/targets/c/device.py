"""What the device profile writes in another way: sums without double, tables where they can be placed.

A machine program goes in; the fields that templates read to follow the profile come out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import float_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Node, lazy_operands
from svmcompile.ir.program import Code, Program
from svmcompile.targets.c.api import Function
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.scratch import scratch_bytes

IN_DOUBLE = (
    ir.StagedSum,
    ir.StagedVote,
    ir.TaylorVote,
    ir.JetSum,
    ir.Couple,
)  # that rest on sums in double
WALKS = (ir.PackedPath, ir.PackedLeaves)
KERNEL_SUMS = (ir.PackedSum, ir.PackedPath, ir.PackedLeaves)
FAR = 1e30  # a row whose half squared norm is beyond is so far out that every kernel value is zero
# Bytes that compilers take for registers, addresses and their own arithmetic; tests hold code to it.
SAVED, SAVED_IN_WHOLE_NUMBERS, SAVED_WITH_DOUBLE = 240, 320, 480
DEEPER = 160  # more, where functions call each other more deeply: along trees, and for what some rows need
# Nodes that take dot products of a row with itself, or of tables with what was computed.
READ_TWO_TABLES = (ir.TaylorSum, ir.StagedSum, ir.StagedVote, ir.JetSum)
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

    def has_double(self, program: Program, types: Types) -> bool:
        """Whether some code computes in double."""
        if program.number == "f64" or any(found.wide for found in types.values()):
            return True
        return self.device and needs_double(program, types)

    def stack_bytes(self, program: Program, types: Types) -> int:
        """A bound on the stack of every function of one row: its arrays, and room for saved registers."""
        saved = SAVED_IN_WHOLE_NUMBERS if program.number in FIXED else SAVED
        saved = SAVED_WITH_DOUBLE if self.has_double(program, types) else saved
        is_deep = any(lazy_operands(node) or isinstance(node, WALKS) for node in program.body)
        return scratch_bytes(program) + saved + (DEEPER if is_deep else 0)

    def file_fields(self, program: Program, types: Types) -> dict[str, Any]:
        """What the two files read, beside their nodes."""
        has_double = self.has_double(program, types)
        return {
            "has_double": has_double,
            "flash": self.flash,
            "placement": f" {self.name.upper()}_TABLE" if self.device else "",
            "far": real(FAR, float_number(program)),
            "no_avr": has_double or any(isinstance(node, READ_TWO_TABLES) for node in program.body),
            "stack": self.stack_bytes(program, types) if self.device else 0,
        }

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

    def narrow_sums(self, node: Node, number: Number) -> bool:
        """Whether a node adds up in two floats what the other profiles add up in a double."""
        return self.fades(number) and not isinstance(node, IN_DOUBLE)

    def is_single(self, node: Node, program: Program, number: Number) -> bool:
        """Whether a node is one sum of kernel values, which has code of its own."""
        if not isinstance(node, ir.PackedSum) or not self.narrow_sums(node, number):
            return False
        return not node.counts and node.shape != "given" and program.tables[node.weights].shape[1] == 1

    def fields(self, node: Node, number: Number, helper: str) -> dict[str, Any]:
        """What the macro of a node reads: how it declares, starts, adds to and reads sums."""
        if self.narrow_sums(node, number):
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


def helper_uses(body: list[Node], number: Number, style: Style, folded: frozenset[str]) -> dict[str, bool]:
    """Which helper functions of the profile some nodes of one number type call."""
    own = [node for node in body if style.narrow_sums(node, number)]
    rbf = [node for node in own if isinstance(node, KERNEL_SUMS) and node.shape == "exp2"]
    adding = (*KERNEL_SUMS, ir.Quadratic, ir.Reach, ir.Normalize)
    own = [node for node in own if not (isinstance(node, ir.Normalize) and node.norm == "max")]
    return {"sum": any(isinstance(node, adding) for node in own), "row": bool(rbf), **_powers(rbf, folded)}


def _powers(sums: Iterable[Any], folded: frozenset[str]) -> dict[str, bool]:
    """Which powers of two kernel sums take: of numbers up to zero, or somewhat above."""
    above = {node.offsets in folded for node in sums}
    return {"fade": False in above, "raise": True in above}


def needs_double(program: Program, types: Types) -> bool:
    """Whether a float program computes something in double all the same."""
    wide = any(found.wide for found in types.values())
    return program.number == "f32" and (wide or any(isinstance(node, IN_DOUBLE) for node in program.body))


def check_double(program: Program, soft_double: bool) -> None:
    """A device program in float has no double, unless it was asked for."""
    if soft_double or not needs_double(program, infer_types(program)):
        return
    origin = program.origin
    couples = any(isinstance(node, ir.Couple) for node in program.body)
    what = (
        "the coupling of probabilities" if couples else f"the claim {origin.claim.value} of {origin.method}"
    )
    raise EmitError(
        f"{what} rests on sums in double, which small processors compute in software: "
        "allow it with --soft-double (soft_double=True), or compile "
        + ("the model without probabilities" if couples else "with method exact, or for profile portable")
    )


def row_fields(
    node: Node, program: Program, code: Code, helper: str, style: Style, number: Number
) -> dict[str, Any]:
    """What the macros of one kernel value read of the row: its factor and how its norm is made."""
    unit = code.units.get(node.out, 1.0)
    return {
        "single": style.is_single(node, program, number),
        "folded": getattr(node, "offsets", "") in code.folded,
        "times_unit": "" if unit == 1.0 else f" * {real(unit, number)}",
        "half_unit": real(0.5 * unit * unit, number),
        "row_norm": f"{helper}_row",
        "fade": f"{helper}_fade",
        "raised": f"{helper}_raise",
        "far": real(FAR, number),
    }

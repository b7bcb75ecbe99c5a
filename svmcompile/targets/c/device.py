"""What the device profile writes in another way: sums without double, tables where they can be placed.

A machine program goes in; the fields that templates read to follow the profile come out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from svmcompile.ir.arithmetic import Number
from svmcompile.targets.c.api import Function

FAR = 1e30  # a row whose half squared norm is beyond is so far out that every kernel value is zero
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

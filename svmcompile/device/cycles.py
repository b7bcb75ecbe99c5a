"""Cycles of instructions on Cortex-M: an estimate, from the tables of ARM's reference manuals.

Flash and memory answer at once in these tables. A real board adds wait states, unless a cache or a slow
clock hides them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

LOAD = re.compile(r"v?ldr")
STORE = re.compile(r"v?str")
SEVERAL = re.compile(r"ldm|stm|push|pop|vldm|vstm|vpush|vpop|ldrd|strd")
FUSED = re.compile(r"vf?n?ml[as]|vfn?m[as]")
SLOW_FLOAT = re.compile(r"vdiv|vsqrt")
DIVIDE = re.compile(r"[su]div")
ADDS_PRODUCT = re.compile(r"ml[as]\b")
LONG_PRODUCT = re.compile(r"[su]m(ul|la)l")


class Timing(NamedTuple):
    """What one core takes, in cycles. An operation that is not listed takes one."""

    refill: float  # after a branch that is taken
    load: float = 2
    next_load: float = 2  # right after another load
    store: float = 1
    fused: float = 3  # a float product that is added
    slow_float: float = 14
    divide: float = 7  # 2 to 12, by the digits of the quotient
    adds_product: float = 1
    long_product: float = 1
    issue: float = 1  # of all that takes one: below it where two go at once


M4 = Timing(refill=2, next_load=1)
TIMINGS = {
    "cortex-m0": Timing(refill=2, store=2),
    "cortex-m0+": Timing(refill=1, store=2),
    "cortex-m3": Timing(refill=2, next_load=1, adds_product=2, long_product=4),
    "cortex-m4": M4,
    "cortex-m4f": M4,
    "cortex-m33": M4,
    "cortex-m7": Timing(refill=1, load=1, next_load=0.5, store=0.5, fused=1, issue=0.6),
}


class CycleCounter:
    """Adds up cycles block by block; what a block takes is worked out once."""

    def __init__(self, timing: Timing) -> None:
        import capstone

        # M-class cores of version 8 have instructions that version 7 does not.
        mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        self._decoder = capstone.Cs(capstone.CS_ARCH_ARM, mode)
        self._timing = timing
        self._known: dict[tuple[int, int], float] = {}
        self.reset()

    def reset(self) -> None:
        self.total, self._end = 0.0, -1

    def add(self, machine: Any, address: int, size: int) -> None:
        """Count a block that begins to run."""
        key = (address, size)
        if key not in self._known:
            code = bytes(machine.mem_read(address, size))
            found = self._decoder.disasm(code, address)
            self._known[key] = block_cycles([(one.mnemonic, one.op_str) for one in found], self._timing)
        self.total += self._known[key] + self._timing.refill * (address != self._end)
        self._end = address + size


def block_cycles(instructions: list[tuple[str, str]], timing: Timing) -> float:
    """Cycles of instructions (mnemonic, operands) that run one after another."""
    total, loaded = 0.0, False
    for name, operands in instructions:
        load = LOAD.match(name) is not None
        if SEVERAL.match(name):
            _, brace, listed = operands.partition("{")
            total += timing.issue + (listed.count(",") + 1 if brace else 2)
        elif load:
            total += timing.next_load if loaded else timing.load
        else:
            total += _single(name, timing)
        loaded = load
    return total


def _single(name: str, timing: Timing) -> float:
    for pattern, cycles in (
        (STORE, timing.store),
        (FUSED, timing.fused),
        (SLOW_FLOAT, timing.slow_float),
        (DIVIDE, timing.divide),
        (LONG_PRODUCT, timing.long_product),
        (ADDS_PRODUCT, timing.adds_product),
    ):
        if pattern.match(name):
            return cycles
    return timing.issue

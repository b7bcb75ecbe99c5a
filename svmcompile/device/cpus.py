"""The processors code can be built and run for, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from svmcompile.errors import OptionError

Family = Literal["arm", "riscv", "wasm", "avr"]


@dataclass(frozen=True, slots=True)
class Cpu:
    """One processor: how the cross compiler and the emulator call it."""

    name: str
    family: Family
    target: tuple[str, ...]  # options of the cross compiler
    model: str = ""  # of the emulator
    hard_float: bool = False  # floats are computed, and returned, in registers of their own
    unit: str = "instructions"  # what is counted

    @property
    def number_bytes(self) -> int:
        """Bytes of an address, a size and a saved register."""
        return 2 if self.family == "avr" else 4


def _arm(name: str, core: str, model: str, hard_float: bool = False) -> Cpu:
    abi = "eabihf" if hard_float else "eabi"
    return Cpu(name, "arm", ("-target", f"thumb-freestanding-{abi}", f"-mcpu={core}"), model, hard_float)


def _riscv(name: str, features: str, *more: str, hard_float: bool = False) -> Cpu:
    target = ("-target", "riscv32-freestanding-none", f"-mcpu=generic_rv32{features}", *more)
    return Cpu(name, "riscv", target, "", hard_float)


# Without the features named after a plus sign the compiler takes neither core to have an FPU.
CPUS: dict[str, Cpu] = {
    cpu.name: cpu
    for cpu in (
        _arm("cortex-m0", "cortex_m0", "UC_CPU_ARM_CORTEX_M0"),
        _arm("cortex-m0+", "cortex_m0plus", "UC_CPU_ARM_CORTEX_M0"),
        _arm("cortex-m3", "cortex_m3", "UC_CPU_ARM_CORTEX_M3"),
        _arm("cortex-m4f", "cortex_m4+vfp4d16sp", "UC_CPU_ARM_CORTEX_M4", hard_float=True),
        _arm("cortex-m7", "cortex_m7+fp_armv8d16sp", "UC_CPU_ARM_CORTEX_M7", hard_float=True),
        _riscv("rv32imac", "+m+a+c"),
        _riscv("rv32imafc", "+m+a+c+f", "-mabi=ilp32f", hard_float=True),
        Cpu("wasm32", "wasm", ("-target", "wasm32-freestanding")),
        Cpu("atmega328p", "avr", ("-mmcu=atmega328p",), "atmega328p", unit="cycles"),
    )
}


def find_cpu(name: str) -> Cpu:
    """The processor of that name; names are taken in upper case, too."""
    found = CPUS.get(name.lower())
    if found is None:
        raise OptionError(f"unknown CPU {name!r}; known: {', '.join(CPUS)}")
    return found

"""Cost of a compiled model on a device before it is flashed, and what to change where it does not fit.

Files of the C target go in; flash, memory, stack, instructions and energy per prediction come out,
measured in an emulator where the extra `device` is installed and predicted where it is not.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.device.boards import ALIASES, OTHERS
from svmcompile.errors import OptionError, suggestion
from svmcompile.files.plain import json_text
from svmcompile.ir.program import Program

Files = Mapping[str, str | bytes]
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KM]?)(?:I?B)?", re.IGNORECASE)
FACTORS = {"": 1, "K": 1024, "M": 1024 * 1024}
CLOCK = re.compile(r"(\d+(?:\.\d*)?)\s*([KMG]?(?:HZ)?)")
MEGAHERTZ = {"": 1.0, "HZ": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "KHZ": 1e-3, "MHZ": 1.0, "GHZ": 1e3}
# So many rows are run: enough to see how the work varies, few enough to take seconds.
ROWS, ROWS_WITHOUT_FPU = 64, 8
EMULATORS = {"arm": "unicorn", "riscv": "unicorn", "wasm": "wasmtime"}
Family = Literal["arm", "riscv", "wasm", "avr", "xtensa"]
AVR = ("-mmcu=atmega328p",)
FIGURES = ("flash_bytes", "ram_bytes", "stack_bytes", "mean", "worst", "rows", "measured")
DOUBLE = 3.0  # times as much as a float in software


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """The device a model is meant for, and what it has room for."""

    cpu: Cpu
    flash: int | None = None
    ram: int | None = None
    picojoules: float | None = None  # of one instruction, or cycle
    clock_mhz: float | None = None

    @classmethod
    def of(
        cls,
        cpu: str | None,
        flash: str | None,
        ram: str | None,
        picojoules: float | None,
        profile: str,
        clock: str | None = None,
    ) -> DeviceOptions | None:
        """From text; None where nothing is asked about a device."""
        if cpu is None:
            if flash or ram or clock or picojoules is not None:
                raise OptionError("--flash, --ram, --clock and --energy-per-instruction need --cpu")
            return None
        if profile == "host":
            raise OptionError("--cpu is for code of the profiles device and portable; add --profile device")
        if picojoules is not None and not (math.isfinite(picojoules) and picojoules > 0):
            raise OptionError(f"--energy-per-instruction {picojoules} is not a number of picojoules")
        sizes = read_size(flash, "--flash"), read_size(ram, "--ram")
        return cls(find_cpu(cpu), *sizes, picojoules, read_clock(clock))


def read_size(text: str | None, option: str) -> int | None:
    """Bytes: 32K is 32768, 2048 is 2048."""
    if text is None:
        return None
    found = SIZE.fullmatch(text.strip())
    if not found or float(found[1]) <= 0:
        raise OptionError(f"{option} {text!r} is not a size; write for example 32K, 1M or 2048")
    return int(float(found[1]) * FACTORS[found[2].upper()])


def read_clock(text: str | float | None) -> float | None:
    """MHz: of 64M, 48MHz, 16000000Hz, or a number of MHz."""
    if text is None:
        return None
    found = CLOCK.fullmatch(str(text).strip().upper())
    if not found or not 0 < (value := float(found[1]) * MEGAHERTZ[found[2]]) < 1e6:
        raise OptionError(f"--clock {text!r} is not a frequency; write for example 64M, 48MHz or 16000kHz")
    return value


def device_cost(
    files: Files,
    name: str,
    cpu: str | Cpu | DeviceOptions,
    rows: Any,
    picojoules: float | None = None,
    clock: str | float | None = None,
) -> dict[str, Any]:
    """Count the cost of NAME_predict in emitted files on a processor, for representative `rows`.

    `cycles` are estimated for Cortex-M, and counted for AVR. With a `clock`, such as "64M" (a number is in
    MHz), the result has the time of a prediction; an instruction takes a cycle where cycles are unknown.
    """
    if isinstance(cpu, DeviceOptions):
        picojoules, clock, cpu = cpu.picojoules, cpu.clock_mhz, cpu.cpu
    cpu = cpu if isinstance(cpu, Cpu) else find_cpu(cpu)
    if f"{name}.c" not in files:
        raise OptionError("only C has a cost on a device; add target c")
    report = json.loads(files[f"{name}.json"])
    measured = can_measure(cpu)
    cost = _measured(files, name, cpu, rows, report["precision"]) if measured else _predicted(cpu, report)
    cost |= {"cpu": cpu.name, "unit": cpu.unit, "row_bytes": 4 * report["n_features"]}
    if picojoules is not None:
        known = {key: cost[key] for key in ("mean", "worst") if cost[key] is not None}
        cost["energy_nj"] = {key: count * picojoules / 1000 for key, count in known.items()}
    if (megahertz := read_clock(clock)) is not None:
        cycles = cost.get("cycles", {key: cost[key] for key in ("mean", "worst")})
        cost["time_us"] = {key: count and count / megahertz for key, count in cycles.items()}
        cost["clock_mhz"] = megahertz
    return cost


def can_measure(cpu: Cpu) -> bool:
    """Whether the tools for a processor are installed."""
    if cpu.family == "avr":
        from svmcompile.device.avr import missing_tools

        return not missing_tools() and _has("elftools")
    emulator = EMULATORS.get(cpu.family) if cpu.emulated else None
    return emulator is not None and all(map(_has, ("ziglang", "elftools", "capstone", emulator)))


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _measured(files: Files, name: str, cpu: Cpu, rows: Any, precision: str) -> dict[str, Any]:
    from svmcompile.device.measure import measure

    in_hardware = cpu.family == "wasm" or (cpu.hard_float and precision != "f64")
    most = ROWS if in_hardware else ROWS_WITHOUT_FPU
    found = measure(cpu, name, files, some_of(np.asarray(rows), most))
    figures = found.flash, found.ram, found.stack, found.mean, found.worst, len(found.counts), True
    cost: dict[str, Any] = dict(zip(FIGURES, figures, strict=True))
    if found.cycles is not None:
        cost["cycles"] = {"mean": float(found.cycles.mean()), "worst": float(found.cycles.max())}
    return cost


def _predicted(cpu: Cpu, report: Mapping[str, Any]) -> dict[str, Any]:
    """A guess, right within a factor of about two; the worst case only a run tells."""
    cost, number, rates = report["cost"], report["precision"], cpu.rates
    rate = rates.per_whole if number in ("q15", "q7") else rates.per_flop
    if number == "f64":
        soft = CPUS["cortex-m3" if cpu.family == "arm" else "rv32imac"].rates.per_flop
        rate = DOUBLE * max(rate, rate if cpu.family == "wasm" else soft)
    flash, stack = cost["table_bytes"] + rates.code, cost.get("stack_bytes", cost["scratch_bytes"])
    figures = flash, 0, stack, rate * cost["mean_flops"], None, 0, False
    return dict(zip(FIGURES, figures, strict=True))


def some_of(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most so many rows, from all over."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def rows_for(program: Program, X: NDArray[Any] | None) -> NDArray[Any]:
    """Rows to run: those given, else the program's own, else one of zeros."""
    if program.input.text:
        return program.input.text.rows(program.input.text.samples(4))
    if X is not None and len(X):
        return np.asarray(X)
    probes = program.probes.reshape(-1, program.n_features)
    return probes if len(probes) else np.zeros((1, program.n_features))


def shortfalls(cost: Mapping[str, Any], wanted: DeviceOptions) -> list[str]:
    """What a device has too little of."""
    found = []
    ram = cost["ram_bytes"] + cost["stack_bytes"]
    if wanted.flash is not None and cost["flash_bytes"] > wanted.flash:
        found.append(f"{cost['flash_bytes']:,} bytes of flash (limit {wanted.flash:,})")
    if wanted.ram is not None and ram > wanted.ram:
        found.append(f"{ram:,} bytes of memory and stack (limit {wanted.ram:,})")
    return found


def with_cost(files: dict[str, str | bytes], name: str, cost: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The files with the cost in their report."""
    report = json.loads(files[f"{name}.json"]) | {"device": dict(cost)}
    return {**files, f"{name}.json": json_text(report)}


class Rates(NamedTuple):
    """Figures of one processor, from measurements of exact models and trees."""

    per_flop: float  # instructions (or cycles) for one operation in float
    per_whole: float  # the same in whole numbers of 8 or 16 bits
    code: int  # bytes of code beside the tables


@dataclass(frozen=True, slots=True)
class Cpu:
    """One processor: how the cross compiler and the emulator call it."""

    name: str
    family: Family
    target: tuple[str, ...]  # options of the cross compiler
    rates: Rates
    model: str = ""  # of the emulator
    hard_float: bool = False  # floats are computed, and returned, in registers of their own
    unit: str = "instructions"  # what is counted
    emulated: bool = True  # else figures are predicted


def _arm(name: str, core: str, model: str, rates: Rates, hard_float: bool = False) -> Cpu:
    target = ("-target", f"thumb-freestanding-{'eabihf' if hard_float else 'eabi'}", f"-mcpu={core}")
    return Cpu(name, "arm", target, rates, f"UC_CPU_ARM_CORTEX_{model}", hard_float)


def _unseen(name: str, family: Family, rates: Rates, hard_float: bool = False) -> Cpu:
    """A processor without an emulator, with the figures of a near relation."""
    return Cpu(name, family, (), rates, hard_float=hard_float, emulated=False)


def _riscv(name: str, features: str, rates: Rates, *more: str, hard_float: bool = False) -> Cpu:
    target = ("-target", "riscv32-freestanding-none", f"-mcpu=generic_rv32{features}", *more)
    return Cpu(name, "riscv", target, rates, "", hard_float)


def find_cpu(name: str) -> Cpu:
    """The processor of that name, or that of a board or chip."""
    plain = name.lower().replace("_", "-").replace(" ", "-")
    if plain in OTHERS:
        raise OptionError(f"--cpu {name}: it {OTHERS[plain]}")
    known = {one.replace("-", ""): core for one, core in (*ALIASES.items(), *zip(CPUS, CPUS, strict=True))}
    if plain.replace("-", "") in known:
        return CPUS[known[plain.replace("-", "")]]
    near = suggestion(plain, (*CPUS, *ALIASES))
    raise OptionError(
        f"unknown CPU {name!r}{near}; known: {', '.join(CPUS)}, and boards such as uno, rp2040, stm32f4"
    )


# Without the features named after a plus sign the compiler takes these cores to have no FPU.
CPUS: dict[str, Cpu] = {
    cpu.name: cpu
    for cpu in (
        _arm("cortex-m0", "cortex_m0", "M0", Rates(80.0, 4.8, 2000)),
        _arm("cortex-m0+", "cortex_m0plus", "M0", Rates(80.0, 4.8, 2000)),
        _arm("cortex-m3", "cortex_m3", "M3", Rates(52.0, 3.0, 2000)),
        _arm("cortex-m4", "cortex_m4", "M4", Rates(52.0, 2.2, 2000)),
        _arm("cortex-m4f", "cortex_m4+vfp4d16sp", "M4", Rates(2.4, 1.5, 700), hard_float=True),
        _arm("cortex-m33", "cortex_m33+fp_armv8d16sp+dsp", "M33", Rates(2.4, 1.5, 700), hard_float=True),
        _arm("cortex-m7", "cortex_m7+fp_armv8d16sp", "M7", Rates(1.9, 1.5, 700), hard_float=True),
        _riscv("rv32imac", "+m+a+c", Rates(60.0, 4.2, 2700)),
        _riscv("rv32imafc", "+m+a+c+f", Rates(1.8, 4.2, 700), "-mabi=ilp32f", hard_float=True),
        Cpu("wasm32", "wasm", ("-target", "wasm32-freestanding"), Rates(7.5, 9.0, 900)),
        Cpu("atmega328p", "avr", AVR, Rates(130.0, 17.0, 2000), "atmega328p", unit="cycles"),
        _unseen("cortex-m23", "arm", Rates(80.0, 4.8, 2000)),
        _unseen("cortex-m55", "arm", Rates(2.4, 1.5, 700), hard_float=True),
        _unseen("cortex-m85", "arm", Rates(1.9, 1.5, 700), hard_float=True),
        _unseen("esp32", "xtensa", Rates(2.4, 4.2, 900), hard_float=True),
        _unseen("esp8266", "xtensa", Rates(60.0, 4.2, 2700)),
    )
}

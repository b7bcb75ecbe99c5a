"""What code would cost on a processor, guessed from its program where no emulator is installed."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.device.cpus import Cpu


@dataclass(frozen=True, slots=True)
class Rates:
    """Figures of one processor, from measurements of exact models and trees."""

    per_flop: float  # instructions (or cycles) for one operation in float
    per_whole: float  # the same in whole numbers of 8 or 16 bits
    code: int  # bytes of code beside the tables


RATES = {
    "cortex-m0": Rates(80.0, 4.8, 2000),
    "cortex-m0+": Rates(80.0, 4.8, 2000),
    "cortex-m3": Rates(52.0, 3.0, 2000),
    "cortex-m4f": Rates(2.4, 1.5, 700),
    "cortex-m7": Rates(1.9, 1.5, 700),
    "rv32imac": Rates(60.0, 4.2, 2700),
    "rv32imafc": Rates(1.8, 4.2, 700),
    "wasm32": Rates(7.5, 9.0, 900),
    "atmega328p": Rates(130.0, 17.0, 2000),
}
DOUBLE = 3.0  # times as much as a float in software


@dataclass(frozen=True, slots=True)
class Predicted:
    """A guess, right within a factor of about two."""

    flash: int
    mean: float


def predict(cpu: Cpu, table_bytes: int, mean_flops: float, number: str) -> Predicted:
    """The cost of a program of so many bytes of tables and so many operations per row."""
    rates = RATES[cpu.name]
    rate = rates.per_whole if number in ("q15", "q7") else rates.per_flop
    if number == "f64":
        soft = RATES["cortex-m3" if cpu.family == "arm" else "rv32imac"].per_flop
        rate = DOUBLE * max(rate, rate if cpu.family == "wasm" else soft)
    return Predicted(table_bytes + rates.code, rate * mean_flops)

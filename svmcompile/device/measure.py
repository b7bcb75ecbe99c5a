"""Cost of generated C on a processor: built, run on rows and counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.device.build import build, read_image
from svmcompile.device.cost import Cpu
from svmcompile.device.emulate import Core, WasmCore, row_functions
from svmcompile.errors import OptionError


@dataclass(frozen=True, slots=True)
class Measured:
    """What one public function costs on a processor, and what it gave for each row."""

    cpu: str
    function: str
    flash: int  # bytes of code and constants, of what this function needs
    ram: int  # bytes that are taken for good
    stack: int  # bytes at the deepest point of all calls; 0 in wasm
    counts: NDArray[np.int64]  # per row: instructions, or cycles
    unit: str
    values: NDArray[Any]  # [rows, results]
    cycles: NDArray[np.float64] | None = None  # per row, an estimate; None where there is none

    @property
    def mean(self) -> float:
        return float(self.counts.mean())

    @property
    def worst(self) -> int:
        return int(self.counts.max())


def measure(
    cpu: Cpu,
    name: str,
    files: Mapping[str, str | bytes],
    rows: NDArray[Any],
    function: str = "predict",
    optimise: str = "-O2",
    flags: Iterable[str] = (),
) -> Measured:
    """Build NAME.c of `files` for one function, with the headers among them, and run it on every row."""
    sources = {f"{name}.{end}": str(files[f"{name}.{end}"]) for end in ("c", "h")}
    sources |= {file: str(text) for file, text in files.items() if file.endswith(".h") and "/" not in file}
    found = row_functions(name, sources[f"{name}.h"]).get(function)
    if found is None:
        raise OptionError(f"{name}.h declares no {name}_{function} of one row")
    if cpu.family == "avr":
        from svmcompile.device.avr import measure_avr

        return measure_avr(cpu, found, function, sources, rows, optimise)
    content = build(cpu, sources, [found.symbol], optimise, flags)
    if cpu.family == "wasm":
        core: Core | WasmCore = WasmCore(content)
        flash, ram = len(content), 0
    else:
        image = read_image(content)
        core, flash, ram = Core(cpu, image), image.flash, image.ram
    calls = [core.call(found, row) for row in rows]
    stack = max((call.stack for call in calls), default=0)
    counts = np.array([call.instructions for call in calls], dtype=np.int64)
    values = np.array([call.values for call in calls]).reshape(len(calls), -1)
    estimated = [call.cycles for call in calls if call.cycles is not None]
    cycles = np.array(estimated) if estimated else None
    return Measured(cpu.name, function, flash, ram, stack, counts, cpu.unit, values, cycles)

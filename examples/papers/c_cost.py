"""What emitted C costs per row: nanoseconds, and instructions where valgrind is installed.

Programs and rows enter; one row per call, and all rows in one call. The programs take turns, each time in
a process of its own, so that what else the machine does meets them alike.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import svmcompile as sc
from svmcompile.ir.program import Program
from svmcompile.runtime.toolchain import find_compiler

Files = Mapping[str, "str | bytes"]
DRIVER = Path(__file__).with_name("rows_driver.c")
COUNTED_ROWS = 200  # valgrind is slow
TURNS = 7
SECONDS = 0.05  # of passes in a turn: shorter ones find the processor still speeding up


@dataclass(frozen=True)
class CCost:
    """Per row."""

    nanoseconds: float
    batch_nanoseconds: float
    instructions: float  # NaN without valgrind


def c_costs(programs: Sequence[Program], rows: Any, profile: str, count: bool = True) -> list[CCost]:
    """The cost of each program's C in one profile, in their order."""
    emitted = [sc.emit(one, "c", "model", profile=profile) for one in programs]
    return emitted_costs(emitted, rows, COUNTED_ROWS if count else 0)


def emitted_costs(
    emitted: Sequence[Files], rows: Any, counted: int, turns: int = TURNS, flags: Sequence[str] = ("-O2",)
) -> list[CCost]:
    """The cost of emitted C; instructions of so many rows are counted, or batches are timed (0)."""
    with tempfile.TemporaryDirectory() as name:
        table = np.ascontiguousarray(rows, dtype=np.float32)
        table.tofile(Path(name) / "rows.bin")
        drivers = [
            _built(one, Path(name) / str(k), table.shape[1], not counted, flags)
            for k, one in enumerate(emitted)
        ]
        calls = [[str(driver), str(Path(name) / "rows.bin")] for driver in drivers]
        timed = [[_timed(call, len(table)) for call in calls] for _ in range(turns)]
        few = min(len(table), counted)
        counts = [_instructions([*call, str(few)]) / few if counted else float("nan") for call in calls]
    times = [[median(part) for part in zip(*one, strict=True)] for one in zip(*timed, strict=True)]
    return [CCost(single, batch, own) for (single, batch), own in zip(times, counts, strict=True)]


def _built(emitted: Files, folder: Path, features: int, batches: bool, flags: Sequence[str]) -> Path:
    sc.write(emitted, folder)
    driver = folder / "driver"
    words = [*find_compiler(), *flags, f"-DFEATURES={features}", f"-DBATCHES={int(batches)}"]
    sources = ["-I", str(folder), str(folder / "model.c"), str(DRIVER), "-o", str(driver), "-lm"]
    subprocess.run([*words, *sources], check=True)
    return driver


def _timed(call: list[str], rows: int) -> tuple[float, float]:
    words = [*call, str(rows), str(SECONDS)]
    single, batch, _ = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return float(single), float(batch)


def _instructions(call: list[str]) -> float:
    """Instructions of one pass over the rows, less those of starting and reading."""
    if shutil.which("valgrind") is None:
        return float("nan")
    return _counted([*call, "0"]) - _counted([*call, "-1"])


def _counted(call: list[str]) -> float:
    words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *call]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    found = re.search(r"I\s+refs:\s+([\d,]+)", said)
    return float(found[1].replace(",", "")) if found else float("nan")

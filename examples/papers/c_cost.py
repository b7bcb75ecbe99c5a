"""What emitted C costs per row: nanoseconds, and instructions where valgrind is installed.

A program and rows enter; one row per call, and all rows in one call, in a process of its own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import svmcompile as sc
from svmcompile.ir.program import Program
from svmcompile.load.toolchain import find_compiler

DRIVER = Path(__file__).with_name("rows_driver.c")
COUNTED_ROWS = 200  # valgrind is slow
TURNS = 25


@dataclass(frozen=True)
class CCost:
    """Per row."""

    nanoseconds: float
    batch_nanoseconds: float
    instructions: float  # NaN without valgrind


def c_cost(program: Program, rows: Any, profile: str, count: bool = True) -> CCost:
    """The cost of a program's C in one profile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sc.write(sc.emit(program, "c", "model", profile=profile), folder)
        driver = folder / "driver"
        words = [*find_compiler(), "-O2", f"-DFEATURES={program.n_features}", "-I", str(folder)]
        sources = [str(folder / "model.c"), str(DRIVER), "-o", str(driver)]
        subprocess.run([*words, f"-DBATCHES={int(not count)}", *sources], check=True)
        table = np.ascontiguousarray(rows, dtype=np.float32)
        table.tofile(folder / "rows.bin")
        call = [str(driver), str(folder / "rows.bin"), str(len(table))]
        printed = subprocess.run([*call, str(TURNS)], check=True, capture_output=True, text=True).stdout
        few = [str(driver), str(folder / "rows.bin"), str(min(len(table), COUNTED_ROWS))]
        counted = _instructions(few) / min(len(table), COUNTED_ROWS) if count else float("nan")
    single, batch, _ = printed.split()
    return CCost(float(single), float(batch), counted)


def _instructions(call: list[str]) -> float:
    """Instructions of one pass over the rows, less those of starting and reading."""
    if shutil.which("valgrind") is None:
        return float("nan")
    return _counted([*call, "1"]) - _counted([*call, "0"])


def _counted(call: list[str]) -> float:
    words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *call]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    found = re.search(r"I\s+refs:\s+([\d,]+)", said)
    return float(found[1].replace(",", "")) if found else float("nan")

"""Blobs are read by C: mutations are made and run there, under sanitizers, for both number types."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import svmcompile as sc
from svmcompile.targets.blob.model import runner
from tests.targets.blob_cases import CASES, program_of

NAME = "blob"
SOURCE = Path(__file__).parents[1] / "targets" / "blob_fuzz.c"
SANITIZED = "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -g -O1".split()
NUMBERS = {"f32": (), "f64": ("-DSVM_RUN_DOUBLE",)}
AT_ONCE = 20_000  # mutations of one blob by one process
MANY = 3_000  # characters of what a sanitizer says


def can_run() -> bool:
    return shutil.which("cc") is not None


def build_fuzzer(folder: Path, number: str) -> Path:
    """The program that mutates a blob and runs what opens."""
    for file, text in runner().items():
        (folder / file).write_text(text)
    program = folder / f"fuzz-{number}"
    command = ["cc", *SANITIZED, *NUMBERS[number], f"-I{folder}", str(SOURCE), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    return program


def mutate(program: Path, blob: Path, times: int, seed: int) -> subprocess.CompletedProcess[str]:
    """So many mutations of one blob; status 0, and how many could be opened."""
    return subprocess.run([program, blob, str(times), str(seed)], capture_output=True, text=True)


@dataclass
class Blobs:
    """Executions in C, those that opened and ran, and finds with the command that repeats them."""

    executions: int = 0
    opened: int = 0
    finds: tuple[str, ...] = ()

    def run(self, seconds: float, seed: int) -> None:
        with TemporaryDirectory() as name:
            folder, end = Path(name), time.monotonic() + seconds
            for number, case, at in self._tasks(folder, seed):
                if time.monotonic() > end:
                    return
                done = mutate(folder / f"fuzz-{number}", folder / f"{case}-{number}.bin", AT_ONCE, at)
                if done.returncode:
                    self.finds += (f"{case} {number}, seed {at}: {done.stderr[:MANY]}",)
                    continue
                self.executions += AT_ONCE
                self.opened += int(done.stdout)

    def _tasks(self, folder: Path, seed: int) -> Iterator[tuple[str, str, int]]:
        for number in NUMBERS:
            build_fuzzer(folder, number)
            for case in CASES:
                blob: Any = sc.emit(program_of(case), target="blob", name="m", precision=number)["m.bin"]
                (folder / f"{case}-{number}.bin").write_bytes(blob)
        for more in count():
            for number in NUMBERS:
                for case in CASES:
                    yield number, case, 1_000_000 * seed + more

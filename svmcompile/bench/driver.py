"""driver: rivals called from C in a program of its own, no Python inside the clock."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.peers import Subject
from svmcompile.bench.result import BUDGET_SECONDS, Latency, Threads, Times
from svmcompile.errors import ToolchainError

BUILD_SECONDS, RUN_SECONDS = 120, 3600


@dataclass(frozen=True, slots=True)
class Compiler:
    """How to build a program: the flags of the generated code's library, less those that make it one."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    sources: Path  # the folder of driver.c and probe.c

    def build(self, source: str, folder: Path, *extra: str) -> Path:
        """The program of one source file."""
        program = folder / Path(source).stem
        words = [*self.command, *self.flags, str(self.sources / source), "-o", str(program), *extra]
        run(words, folder, BUILD_SECONDS)
        return program


def run(words: Sequence[str], folder: Path, seconds: int) -> str:
    """What a program prints; an error with its last words if it fails."""
    name = Path(words[0]).name
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds
        )
    except OSError as error:
        raise ToolchainError(f"{name} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ToolchainError(f"{name} took longer than {seconds} s") from None
    if done.returncode:
        raise ToolchainError(f"{name} failed ({done.returncode}): {done.stderr.strip()[:2000]}")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Entry:
    """A contender of the driver: kind, built library and argument, as templates/bench/driver.c says."""

    kind: str
    library: Path
    argument: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """Times, and what was answered, from single calls and from batches."""

    times: Times
    single: NDArray[Any]
    batch: NDArray[Any]
    latency: Latency | None = None
    threads: tuple[Threads, ...] = ()


def race_in_c(
    entries: Sequence[Entry], subject: Subject, compiler: Compiler, repeats: int,
    seconds: float = BUDGET_SECONDS, calls: int = 0, threads: int = 0,
) -> list[Outcome]:  # fmt: skip
    """All entries in turn, in one process; who has used so many seconds leaves after the second turn.

    Then single calls are timed one by one, at most `calls` of each, and the first entry from up to so many
    threads.
    """
    real = "double" if subject.number == "f64" else "float"
    defines = (f"-DREAL={real}", f"-DREGRESSOR={int(subject.is_regressor)}")
    program = compiler.build("driver.c", subject.work, *defines, "-ldl", "-lm", "-pthread")
    n, d = subject.rows.shape
    words = [str(program), *_store_rows(subject), str(n), str(d), str(subject.batch), str(repeats)]
    words += [str(seconds), str(calls), str(min(threads, n)), "results.bin"]
    for entry in entries:
        words += [entry.kind, str(entry.library), entry.argument]
    printed = [
        [float(word) for word in line.split()]
        for line in run(words, subject.work, RUN_SECONDS).splitlines()
    ]
    results = np.fromfile(subject.work / "results.bin").reshape(len(entries), 2, n)
    times, rest = [Times(*line) for line in printed[: len(entries)]], printed[len(entries) :]
    late: list[Latency | None] = [_latency(line) for line in rest[: len(entries)]]
    late = late or [None] * len(entries)
    several = tuple(
        Threads(int(line[0]), line[1] * 1e6, _latency(line[2:])) for line in rest[len(entries) :]
    )
    outcomes = [
        Outcome(time, single, batch, latency)
        for time, (single, batch), latency in zip(times, results, late, strict=True)
    ]
    outcomes[0] = replace(outcomes[0], threads=several)
    return outcomes


def _latency(line: Sequence[float]) -> Latency:
    p50, p95, p99, longest = (seconds * 1e6 for seconds in line[:4])
    return Latency(p50, p95, p99, longest, int(line[4]))


def _store_rows(subject: Subject) -> tuple[str, str]:
    """Names of the files of rows, as they are and after the model's preprocessing."""
    subject.rows.tofile(subject.work / "rows.bin")
    if subject.svm is None or not subject.svm.front.nodes:
        return "rows.bin", "rows.bin"
    subject.prepared().tofile(subject.work / "prepared.bin")
    return "rows.bin", "prepared.bin"

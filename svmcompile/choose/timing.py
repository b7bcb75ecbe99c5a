"""Times of candidates: their code races, one row per call and in batches, all taking turns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.driver import Entry, race_in_c
from svmcompile.bench.onnx import c_peer
from svmcompile.bench.peers import Subject
from svmcompile.bench.result import LocalRunner, Times, race
from svmcompile.files.cache import scratch
from svmcompile.flow.evaluation import find_program, load_target, read_c
from svmcompile.flow.measured import driver_compiler
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.runtime.toolchain import build_library

BATCH = 1000
REPEATS = 5
Form = tuple[str, Number]  # target and number type: those of one form race with each other


def race_folders(
    folders: Sequence[Path], forms: Sequence[Form], name: str, rows: NDArray[np.float64], seconds: float
) -> list[Times]:
    """Seconds per row of the code in each folder; a contender takes about so many seconds."""
    times: dict[int, Times] = {}
    for form in dict.fromkeys(forms):
        group = [index for index, other in enumerate(forms) if other == form]
        held = rows if form[1] == "f64" else rows.astype(np.float32).astype(np.float64)
        raced = _race([folders[index] for index in group], form, name, held, seconds)
        times |= dict(zip(group, raced, strict=True))
    return [times[index] for index in range(len(folders))]


def _race(
    folders: Sequence[Path], form: Form, name: str, rows: NDArray[np.float64], seconds: float
) -> list[Times]:
    programs = [find_program(folder, name)[1] for folder in folders]
    batch = min(BATCH, len(rows))
    with scratch() as work:
        path = Path(work)
        subject = Subject(programs[0], None, None, form[1], rows, len(rows), batch, path, path)
        entries = [_entry(folder, form, name, subject, at) for at, folder in enumerate(folders)]
        known = [entry for entry in entries if entry is not None]
        if len(known) == len(entries):
            return [one.times for one in race_in_c(known, subject, driver_compiler(), REPEATS, seconds)]
        return _race_in_python(folders, programs, name, rows, batch, seconds)


def _entry(folder: Path, form: Form, name: str, subject: Subject, at: int) -> Entry | None:
    """A contender of the driver; None where a graph cannot be called from C."""
    if form[0] == "c":
        return Entry("ours", build_library(name, *read_c(folder, name)), name)
    graph = (folder / f"{name}.onnx").read_bytes()
    output = "value" if subject.is_regressor else "label"
    peer = c_peer(f"graph{at}", graph, output, subject) if form[1] == "f32" else None
    return None if peer is None or peer.library is None else Entry(peer.kind, peer.library, peer.argument)


def _race_in_python(
    folders: Sequence[Path], programs: Sequence[Program], name: str, rows: NDArray[np.float64], batch: int,
    seconds: float,
) -> list[Times]:  # fmt: skip
    """Graphs whose labels C cannot take, called from Python, all alike."""
    runners = []
    for folder, program in zip(folders, programs, strict=True):
        model = load_target(folder, name, program, "onnx")
        runners.append(LocalRunner(model.predict, rows.astype(model.number), batch))
    return race(runners, len(rows), batch, REPEATS, seconds)

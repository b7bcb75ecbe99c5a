"""Times of candidates: their code races in C, one row per call and in batches, all taking turns."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.driver import Compiler, Entry, race_in_c
from svmcompile.bench.peers import Subject
from svmcompile.bench.result import Times
from svmcompile.flow.evaluation import find_program, read_c
from svmcompile.ir.arithmetic import Number
from svmcompile.runtime.toolchain import FLAGS, build_library, find_compiler
from svmcompile.targets.templating import template_folder

BATCH = 1000
REPEATS = 5


def race_folders(
    folders: Sequence[Path], name: str, rows: NDArray[np.float64], seconds: float
) -> list[Times]:
    """Seconds per row of the C in each folder; each contender takes about so many seconds."""
    groups: dict[str, list[int]] = {}
    programs = [find_program(folder, name)[1] for folder in folders]
    for index, folder in enumerate(folders):
        number: Number = "f64" if "const double *x" in read_c(folder, name)[1] else "f32"
        groups.setdefault(number, []).append(index)
    times: dict[int, Times] = {}
    with tempfile.TemporaryDirectory() as work:
        compiler = Compiler(
            find_compiler(), tuple(flag for flag in FLAGS if flag != "-shared"), template_folder() / "bench"
        )
        for number, group in groups.items():
            entries = [
                Entry("ours", build_library(name, *read_c(folders[index], name)), name) for index in group
            ]
            held = rows if number == "f64" else rows.astype(np.float32).astype(np.float64)
            batch = min(BATCH, len(held))
            subject = Subject(
                programs[group[0]], None, None, number, held, len(held), batch, Path(work), Path(work)
            )
            outcomes = race_in_c(entries, subject, compiler, REPEATS, seconds)
            times |= {index: one.times for index, one in zip(group, outcomes, strict=True)}
    return [times[index] for index in range(len(folders))]

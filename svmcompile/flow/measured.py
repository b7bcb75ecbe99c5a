"""measured: what a method makes, its variants and the exact sum race in C; the quickest is the program.

Predicted costs are those of one processor. Here the one at hand decides, so that equal input need not give
equal files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.registry import method as method_of
from svmcompile.bench.driver import Compiler, Entry, race_in_c
from svmcompile.bench.peers import Subject
from svmcompile.bench.result import Times
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.files.cache import scratch
from svmcompile.flow.emission import Request, emit_targets
from svmcompile.flow.program import Watcher, compile_svm
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM
from svmcompile.progress import steps
from svmcompile.runtime.toolchain import FLAGS, build_library, find_compiler
from svmcompile.targets.templating import template_folder

ROWS, BATCH, REPEATS = 1000, 1000, 5


@dataclass(frozen=True, eq=False, slots=True)
class Contender:
    """A program, and the options that made it."""

    options: Mapping[str, Any]
    program: Program


def compile_measured(
    svm: SVM, name: str, data: Data | None, options: Mapping[str, Any], watch: Watcher | None = None
) -> Program:
    """The quickest program on rows of the data, one row per call and many at once."""
    if data is None or not len(data.X):
        raise OptionError("measuring needs rows; pass X (Python) or --data FILE")
    svm, data = svm.dense("measuring"), data.dense("measuring")
    profile = "host" if options.get("tune", "host") == "host" else "portable"
    found = contenders(svm, name, data, options, watch)
    times = times_in_c([one.program for one in found], data.X[:ROWS], profile)
    exact, worst = times[0], [worse_ratio(time, times[0]) for time in times]
    best = int(np.argmin(worst))
    told = [
        {"options": dict(one.options), "single_ns": _ns(time.single), "batch_ns": _ns(time.batch)}
        for one, time in zip(found, times, strict=True)
    ]
    program = found[best].program
    note = (
        f"measured on {min(len(data.X), ROWS)} rows: {exact.single / times[best].single:.2f} times as fast "
        f"as the exact sum one row per call, {exact.batch / times[best].batch:.2f} times in batches "
        f"(profile {profile}, the best of {len(found)} programs)"
    )
    origin = program.origin
    details = {**origin.details, "measured": told}
    return program.replace(
        origin=replace(origin, method=name, notes=(*origin.notes, note), details=details)
    )


def contenders(
    svm: SVM, name: str, data: Data, options: Mapping[str, Any], watch: Watcher | None
) -> list[Contender]:
    """The exact sum first, what the method makes, and its variants where the options leave them open."""
    variants = [one for one in method_of(name).variants if not set(one) & set(options)]
    asked = [dict(options), *({**options, **one} for one in variants)]
    # What keeps every label is raced against a sum that does, too.
    same = svm.labels and method_of(name).claim is Claim.SAME_LABEL
    exact = {"labels": "certain"} if same else {}
    found = [Contender({"method": "exact", **exact}, compile_svm(svm, "exact", data, exact))]
    with steps("programs", len(asked)) as advance:
        for one in asked:
            made = compile_svm(svm, name, data, one, watch if one == dict(options) else None)
            if made.origin.details.get("emitted") != "exact":
                found.append(Contender(one, made))
            advance(1)
    return found


def times_in_c(programs: Sequence[Program], rows: NDArray[Any], profile: str) -> list[Times]:
    """Seconds per row of float32 C, the programs in turn."""
    held = rows.astype(np.float32).astype(np.float64)
    with scratch() as name:
        folder, entries = Path(name), []
        for number, program in enumerate(programs):
            own = f"contender{number}"
            files = emit_targets(program, Request(own, ("c",), "f32", profile)).files
            library = build_library(own, str(files[f"{own}.c"]), str(files[f"{own}.h"]))
            entries.append(Entry("ours", library, own))
        subject = Subject(
            programs[0], None, None, "f32", held, len(held), min(BATCH, len(held)), folder, folder
        )
        return [one.times for one in race_in_c(entries, subject, driver_compiler(), REPEATS)]


def driver_compiler() -> Compiler:
    """What builds the program that races: with the flags of libraries, less what makes them such."""
    flags = tuple(flag for flag in FLAGS if flag != "-shared")
    return Compiler(find_compiler(), flags, template_folder() / "bench")


def worse_ratio(time: Times, exact: Times) -> float:
    """The time over the exact sum's, one row per call or in batches, whichever is worse."""
    return max(time.single / exact.single, time.batch / exact.batch)


def _ns(seconds: float) -> float:
    return round(1e9 * seconds, 1)

"""Builds generated C with whichever compilers are here, and runs it on binary rows.

`compilers()` names the compilers. `build` links any number of models of one
precision into a program; `run` feeds one of them with rows and reads back
labels, scores and the self-test's answer, all as binary numbers.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from targets.c_cases import real_type

import svmcompile as sc
from svmcompile.ir.program import Program

WARNINGS = (
    "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wshadow",
    "-Wmissing-prototypes", "-Werror",
)  # fmt: skip
CXX_WARNINGS = tuple(flag for flag in WARNINGS if flag != "-Wmissing-prototypes")
# Without optimisation: no step is left out, and compilers take a quarter of the time.
SANITIZE = (
    "-std=c99",
    "-g1",
    "-O0",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)
# Instruction sets of the host profile, and which better ones a build must leave out to take them.
X86 = platform.machine() in ("x86_64", "AMD64", "i686")
LEVELS = {"avx512": [], "avx2": ["AVX512"], "base": ["AVX512", "AVX2"]} if X86 else {"base": []}

Command = tuple[str, ...]

# models.inc lists the models: CLASSIFIER(name, NAME), LABELLER (no scores) or REGRESSOR.
DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models.h"

typedef struct {
    const char *name;
    size_t features, scores;
    void (*labels)(const REAL *, size_t, int32_t *);
    void (*values)(const REAL *, size_t, REAL *);
    int (*self_test)(void);
} Model;

#define CLASSIFIER(n, N) \
    { #n, N##_N_FEATURES, N##_N_SCORES, n##_predict_batch, n##_decision_function_batch, n##_self_test },
#define LABELLER(n, N) { #n, N##_N_FEATURES, 0, n##_predict_batch, NULL, n##_self_test },
#define REGRESSOR(n, N) { #n, N##_N_FEATURES, 1, NULL, n##_predict_batch, n##_self_test },
static const Model models[] = {
#include "models.inc"
};

int main(int argc, char **argv)
{
    const Model *m = models;
    size_t rows = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    while (strcmp(m->name, argv[1]) != 0)
        m++;
    {
        /* Exact sizes, so that a sanitizer sees a step beyond either end. */
        REAL *x = malloc(rows * m->features * sizeof *x);
        REAL *values = malloc(rows * m->scores * sizeof *values);
        int32_t *labels = malloc(rows * sizeof *labels);
        int32_t failed = m->self_test();
        if (fread(x, sizeof *x, rows * m->features, stdin) != rows * m->features)
            return 2;
        if (m->labels)
            m->labels(x, rows, labels);
        if (m->values)
            m->values(x, rows, values);
        fwrite(&failed, sizeof failed, 1, stdout);
        if (m->labels)
            fwrite(labels, sizeof *labels, rows, stdout);
        fwrite(values, sizeof *values, rows * m->scores, stdout);
        free(x);
        free(values);
        free(labels);
    }
    return 0;
}
"""


@dataclass(frozen=True, eq=False)
class Result:
    """What a model made of some rows."""

    failed: int  # of the self-test's rows
    labels: Any  # indices, None for a regressor
    scores: Any  # [rows, scores]


@cache
def compilers() -> dict[str, Command]:
    """gcc and clang where they are installed, ziglang's clang where neither is."""
    found: dict[str, Command] = {
        name: (path,) for name in ("gcc", "clang") if (path := shutil.which(name)) is not None
    }
    if not found and importlib.util.find_spec("ziglang"):
        # It adds options of its own, which not every run needs.
        found["zig"] = (sys.executable, "-m", "ziglang", "cc", "-Wno-unused-command-line-argument")
    assert found, "no C compiler: install gcc, clang or ziglang"
    return found


@cache
def cxx_compilers() -> dict[str, Command]:
    """g++ and clang++ where they are installed; ziglang's would first build its own library for minutes."""
    return {name: (path,) for name in ("g++", "clang++") if (path := shutil.which(name)) is not None}


def sanitizing_compiler() -> Command:
    """A compiler with the run-time libraries of its sanitizers; without one the test is skipped."""
    found = _sanitizing_compiler()
    if found is None:
        pytest.skip("no compiler here has the run-time libraries of its sanitizers")
    return found


@cache
def _sanitizing_compiler() -> Command | None:
    for command in reversed(compilers().values()):  # clang's look at more
        tried = subprocess.run(
            [*command, *SANITIZE, "-x", "c", "-", "-o", "/dev/null"],
            input=b"int main(void) { return 0; }",
            capture_output=True,
        )
        if tried.returncode == 0:
            return command
    return None


def compile_c(command: Command, folder: Path, *arguments: str) -> None:
    """One run of a compiler, which must succeed without a word."""
    done = attempt(command, folder, *arguments)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr


def warning_builds() -> list[tuple[str, str, str]]:
    """Compiler, number type and profile: any two of them meet, and all three if one compiler is here."""
    forms = [("f32", "portable"), ("f64", "host"), ("f32", "host"), ("f64", "portable")]
    share = len(forms) // len(compilers())
    return [
        (compiler, *form)
        for at, compiler in enumerate(compilers())
        for form in forms[at * share : (at + 1) * share]
    ]


def assert_no_warnings(
    compiler: str, programs: Mapping[str, Program], folder: Path, number: str, profile: str
) -> None:
    """A compiler that is asked for all its warnings has none; host code may use GCC's extensions."""
    write_all(programs, folder, number, profile)
    style = "-std=gnu99" if profile == "host" else "-std=c99"
    warnings = [flag for flag in WARNINGS if profile != "host" or flag != "-pedantic"]
    compile_quietly(compilers()[compiler], folder, style, *warnings, "all.c", profile=profile)


def compile_quietly(command: Command, folder: Path, *arguments: str, profile: str = "portable") -> None:
    """As `compile_c`, for its warnings alone.

    gcc has them while it makes code, clang before, but for those of host code: loops it could not unroll.
    """
    early = "clang" in Path(command[0]).name and profile != "host"
    end = ("-fsyntax-only",) if early else ("-O2", "-S", "-o", os.devnull)
    compile_c(command, folder, *end, *arguments)


def stack_frames(programs: Mapping[str, Program], folder: Path, profile: str) -> dict[str, dict[str, int]]:
    """Bytes that each function of each model takes on the stack, as gcc tells; in float32."""
    if "gcc" not in compilers():
        pytest.skip("gcc is the compiler that tells how much stack a function takes")
    write_all(programs, folder, "f32", profile)
    left_out = [f"-D{name.upper()}_NO_SELF_TEST" for name in programs]
    compile_c(compilers()["gcc"], folder, "-O1", "-fno-inline", *left_out, "-fstack-usage", "-c", "all.c")
    frames: dict[str, dict[str, int]] = {name: {} for name in programs}
    for line in (folder / "all.su").read_text().splitlines():
        place, size, _ = line.split("\t")
        file, function = place.split(":")[0], place.split(":")[-1]
        frames[Path(file).stem][function] = int(size)
    assert all(frames.values())
    return frames


def stated_stack(header: Path) -> int:
    """Bytes of the arrays on the stack, as a header states them."""
    told = re.search(r"at most (\d+) bytes per call(?:, (\d+) more for sparse rows)?", header.read_text())
    assert told
    return int(told[1]) + int(told[2] or 0)


def attempt(command: Command, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One run of a compiler, whatever comes of it."""
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)


def write_c(
    program: Program,
    folder: Path,
    name: str,
    precision: str,
    profile: str = "portable",
    tables: str | None = None,
) -> None:
    """NAME.c and NAME.h of a program."""
    files = sc.emit(program, "c", name, precision, profile, tables, soft_double=True)
    for suffix in (".c", ".h"):
        (folder / f"{name}{suffix}").write_text(str(files[name + suffix]), encoding="ascii")


def write_all(
    programs: Mapping[str, Program], folder: Path, precision: str, profile: str = "portable"
) -> None:
    """Several models; `all.c` holds them all, `models.h` includes their headers."""
    lines = []
    for name, program in programs.items():
        write_c(program, folder, name, precision, profile)
        lines.append(f"{_kind(program)}({name}, {name.upper()})\n")
    (folder / "models.inc").write_text("".join(lines))
    (folder / "models.h").write_text("".join(f'#include "{name}.h"\n' for name in programs))
    (folder / "all.c").write_text("".join(f'#include "{name}.c"\n' for name in programs))


def _kind(program: Program) -> str:
    if not program.labels:
        return "REGRESSOR"
    return "CLASSIFIER" if program.output("scores") else "LABELLER"


def build(
    programs: Mapping[str, Program],
    folder: Path,
    precision: str,
    command: Command,
    *flags: str,
    profile: str = "portable",
) -> Path:
    """A program that runs any of the models."""
    folder.mkdir(parents=True, exist_ok=True)
    write_all(programs, folder, precision, profile)
    (folder / "driver.c").write_text(DRIVER)
    real = "double" if precision == "f64" else "float"
    tests = [f"-D{name.upper()}_SELF_TEST" for name in programs] if profile == "device" else []
    compile_c(command, folder, *flags, *tests, f"-DREAL={real}", "driver.c", "all.c", "-o", "driver")
    return folder / "driver"


def run(
    driver: Path, name: str, program: Program, rows: Any, precision: str, emulator: Command = ()
) -> Result:
    """Labels and scores of the rows, which must already be of the number type."""
    assert rows.dtype == real_type(precision)
    done = subprocess.run(
        [*emulator, str(driver), name, str(len(rows))],
        input=np.ascontiguousarray(rows).tobytes(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert not done.stderr, done.stderr.decode(errors="replace")
    at = 4 + (4 * len(rows) if program.labels else 0)
    labels = np.frombuffer(done.stdout[4:at], dtype=np.int32) if program.labels else None
    scores = np.frombuffer(done.stdout[at:], dtype=rows.dtype)
    width = 0 if _kind(program) == "LABELLER" else max(1, len(scores) // max(1, len(rows)))
    failed = int(np.frombuffer(done.stdout[:4], dtype=np.int32)[0])
    return Result(failed, labels, scores.reshape(len(rows), width))

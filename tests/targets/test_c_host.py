"""The host profile: every instruction set that this processor has, against the interpreter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
    LEVELS,
    SANITIZE,
    X86,
    Result,
    build,
    compile_c,
    compilers,
    run,
    sanitizing_compiler,
    write_all,
    write_c,
)
from c_cases import normal_rows, program_of, voting

import svmcompile as sc
from svmcompile.flow.program import compile_svm
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import TiledSum
from svmcompile.lower import lower
from svmcompile.model.svm import SVM, LabelRule, Source

pytestmark = pytest.mark.compile

WARNINGS = (
    "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion -Wshadow -Wmissing-prototypes -Werror"
).split()
TILED = [
    "rbf_ovr",
    "rbf_value",
    "sigmoid_two",
    "poly_value",
]  # with the models below, every branch of host.j2


def many_classes(classes: int, width: int, kernel: Kernel) -> Any:
    """A model with more weights per vector than lanes keep by themselves, in uneven classes."""
    generator = np.random.default_rng(classes)
    counts = tuple(int(n) for n in generator.integers(0, 40, size=classes))
    return voting_machine(counts, width, kernel)


def voting_machine(counts: tuple[int, ...], width: int, kernel: Kernel) -> Any:
    generator = np.random.default_rng(len(counts))
    vectors = generator.normal(size=(sum(counts), width))
    return voting(kernel, vectors, counts, generator)


def programs() -> dict[str, Any]:
    found = {case: program_of(case) for case in TILED}
    found["rbf_9"] = many_classes(9, 5, Kernel("rbf", 0.2))
    # 72 vectors fill up to a last block that holds none of them.
    found["empty_block"] = voting_machine((20, 0, 13, 17, 12, 10), 5, Kernel("rbf", 0.2))
    found["poly_20"] = many_classes(20, 5, Kernel("poly", 0.3, 0.5, 3))
    return found


def test_the_models_are_tiled() -> None:
    for name, program in programs().items():
        body = lower(program, "f32", "host").body
        assert any(isinstance(node, TiledSum) for node in body), name


def scores_of(outputs: dict[str, Any]) -> Any:
    return outputs["scores"] if "scores" in outputs else outputs["value"]


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set_stays_within_the_bounds(level: str, number: Any, tmp_path: Path) -> None:
    models = programs()
    flags = [f"-D{name.upper()}_NO_{left_out}" for name in models for left_out in LEVELS[level]]
    command = next(iter(compilers().values()))
    driver = build(models, tmp_path, number, command, "-O2", *flags, profile="host")
    for name, program in models.items():
        rows = normal_rows(2000, number)
        _check(program, run(driver, name, program, rows, number), rows, number)


UPPER_HALVES = r"""
#include <stdio.h>
#include "model.h"
static unsigned in_use(void) /* bit 2: upper halves of vector registers that are not zero */
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low >> 2 & 1;
}
int main(void)
{
    static float x[90 * MODEL_N_FEATURES]; /* a chunk, and no rows left that go one by one */
    static int32_t labels[90];
    unsigned after_one;
    for (size_t i = 0; i < 90 * MODEL_N_FEATURES; i++)
        x[i] = (float)(i % 17) / 16;
    labels[0] = model_predict(x);
    after_one = in_use();
    model_predict_batch(x, 90, labels);
    return (int)(after_one + 2 * in_use());
}
"""


@pytest.mark.parametrize(
    ("tables", "kernel"), [("dense", Kernel("rbf", 0.2)), ("sparse", Kernel("poly", 0.3, 0.5, 3))]
)
@pytest.mark.parametrize(("classes", "width"), [(2, 5), (4, 5), (9, 5), (10, 64)])
def test_registers_are_left_as_older_code_wants_them(
    classes: int, width: int, tables: str, kernel: Kernel, tmp_path: Path
) -> None:
    """Else every older vector instruction of the caller takes many times as long."""
    flags = Path("/proc/cpuinfo")
    if not X86 or not flags.exists() or "xgetbv1" not in flags.read_text():
        pytest.skip("this processor does not tell which registers are in use")
    write_c(many_classes(classes, width, kernel), tmp_path, "model", "f32", "host", tables)
    (tmp_path / "main.c").write_text(UPPER_HALVES)
    for command in compilers().values():
        compile_c(command, tmp_path, "-O2", "main.c", "model.c", "-o", "main")
        assert subprocess.run([tmp_path / "main"]).returncode == 0, command


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_arm_by_emulation(number: Any, tmp_path: Path) -> None:
    """The baseline code on another processor, where its vectors are NEON's."""
    emulator = shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("qemu-aarch64 is not installed")
    models = programs()
    cross = (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl")
    driver = build(models, tmp_path, number, cross, "-O2", "-static", profile="host")
    for name, program in models.items():
        rows = normal_rows(300, number)
        _check(program, run(driver, name, program, rows, number, (emulator,)), rows, number)


def _check(program: Any, found: Result, rows: Any, number: Any) -> None:
    meant = interpret(program, rows.astype(np.float64))
    bounds = error_bounds(program, rows, number)
    stable = ~bounds.unstable
    assert found.failed == 0 and stable.mean() > 0.9
    error = np.abs(found.scores.astype(np.float64) - scores_of(meant))
    assert (error <= 2 * bounds.scores)[stable].all()
    if program.labels:
        assert (found.labels == meant["label"])[stable].all()


@pytest.mark.parametrize("name", compilers())
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_warning(name: str, number: str, tmp_path: Path) -> None:
    write_all(
        {case: program_of(case) for case in ("rbf_ovr", "sigmoid_two", "affine")}, tmp_path, number, "host"
    )
    for flags in (["-O2"], ["-O0"], ["-O3", "-mavx2", "-mfma"] if X86 else ["-O3"]):
        compile_c(compilers()[name], tmp_path, *WARNINGS, *flags, "-S", "all.c", "-o", os.devnull)


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_sanitizers_and_rows_that_are_not_finite(number: Any, tmp_path: Path) -> None:
    command = sanitizing_compiler()
    models = {name: program for name, program in programs().items() if name != "rbf_value"}
    driver = build(models, tmp_path, number, command, *SANITIZE, profile="host")
    rows = normal_rows(130, number)
    rows[3, 0], rows[5, 1], rows[7, 2], rows[11] = np.nan, np.inf, -np.inf, np.finfo(rows.dtype).tiny / 4
    bad = ~np.isfinite(rows).all(axis=1)
    for name, program in models.items():
        found = run(driver, name, program, rows, number)
        meant = interpret(lower(program, number, "host"), rows)
        assert (np.isnan(found.scores) == np.isnan(scores_of(meant))).all(), name
        if program.labels:
            assert (found.labels == meant["label"])[bad].all(), name


def test_rows_do_not_depend_on_their_batch(tmp_path: Path) -> None:
    """Each row by itself, in a chunk that is cut off anywhere, and in a full one."""
    program = many_classes(4, 7, Kernel("rbf", 0.3))
    sc.write(sc.emit(program, "c", "model", "f32", "host"), tmp_path)
    model = sc.load(tmp_path)
    rows = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    whole, labels = model.decision_function(rows), model.predict(rows)
    bounds = error_bounds(program, rows, "f32")
    stable = ~bounds.unstable
    for count in (1, 2, 11, 12, 13, 95, 96, 97, 299):
        error = np.abs(model.decision_function(rows[:count]) - whole[:count])
        assert (error <= 2 * bounds.scores[:count]).all()  # each within the bound of the true value
        assert (model.predict(rows[-count:]) == labels[-count:])[stable[-count:]].all()


def test_threads_give_the_same_values(tmp_path: Path) -> None:
    program = many_classes(4, 7, Kernel("rbf", 0.3))
    sc.write(sc.emit(program, "c", "model", "f32"), tmp_path)
    rows = np.random.default_rng(0).normal(size=(1001, 7))
    one, several = sc.load(tmp_path), sc.load(tmp_path, n_jobs=3)
    bounds = error_bounds(program, rows.astype(np.float32), "f32")
    error = np.abs(one.decision_function(rows) - several.decision_function(rows))
    assert (error <= 2 * bounds.scores).all()
    assert (one.predict(rows) == several.predict(rows))[~bounds.unstable].all()
    assert sc.load(tmp_path, n_jobs=-1).n_jobs >= 1
    with pytest.raises(sc.OptionError, match="n_jobs"):
        sc.load(tmp_path, n_jobs=0)


def test_very_wide_rows_go_one_by_one(tmp_path: Path) -> None:
    """A tile of such rows would not fit the stack."""
    generator = np.random.default_rng(0)
    svm = SVM(
        Kernel("rbf", 1e-5),
        generator.normal(size=(20, 30_000)),
        generator.normal(size=(1, 20)),
        np.zeros(1),
        LabelRule.NONE,
        Source("test", "0" * 64),
    )
    program = compile_svm(svm, "exact", None, {})
    sc.write(sc.emit(program, "c", "wide", "f32"), tmp_path)
    rows = generator.normal(size=(30, 30_000)).astype(np.float32)
    error = np.abs(sc.load(tmp_path).predict(rows) - program.predict(rows))
    assert (error <= error_bounds(program, rows, "f32").scores[:, 0]).all()


def test_tables_fill_whole_blocks_without_a_trace() -> None:
    """What fills up a block has weight zero, and the interpreter of the tiled form agrees."""
    for classes in (2, 3, 5, 6, 12):
        program = many_classes(classes, 6, Kernel("rbf", 0.4))
        rows = np.random.default_rng(1).normal(size=(500, 6)).astype(np.float32)
        for number in ("f32", "f64"):
            packed, tiled = (lower(program, number, p) for p in ("portable", "host"))  # type: ignore[arg-type]
            left, right = (interpret(form, rows)["scores"] for form in (packed, tiled))
            bounds = error_bounds(program, rows, number)  # type: ignore[arg-type]
            assert (np.abs(left - right) <= 2 * bounds.scores).all()

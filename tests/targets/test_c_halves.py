"""Support vectors in half precision: every instruction set, the stated error, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import LEVELS, compile_c, compilers, write_c
from c_cases import normal_rows, program_of
from cffi import FFI

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.nodes import TiledSum
from svmcompile.lower import lower
from svmcompile.lower.sums import round_vectors

pytestmark = pytest.mark.compile

WARNINGS = (
    "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion -Wshadow -Wmissing-prototypes -Werror"
).split()
CASES = ("rbf_ovr", "rbf_value", "sigmoid_two", "poly_value")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", CASES)
def test_code_gives_the_values_of_the_rounded_program(case: str, level: str, tmp_path: Path) -> None:
    program, rows = program_of(case), normal_rows(500, "f32")
    write_c(program, tmp_path, "model", "f32", "host", "f16")
    command = next(iter(compilers().values()))
    flags = [f"-DMODEL_NO_{name}" for name in LEVELS[level]]
    compile_c(command, tmp_path, *WARNINGS, "-O2", *flags, "-fPIC", "-shared", "model.c", "-o", "model.so")
    rounded = round_vectors(program)
    meant = interpret(rounded, rows.astype(np.float64))
    bounds = error_bounds(rounded, rows, "f32")
    wanted = meant["scores" if "scores" in meant else "value"]
    found = _scores(tmp_path / "model.so", rows, wanted.shape[1], program.labels is not None)
    stable = ~bounds.unstable
    assert (np.abs(found - wanted) <= 2 * bounds.scores)[stable].all()


def _scores(library: Path, rows: Any, width: int, classifier: bool) -> Any:
    ffi = FFI()
    name = "model_decision_function_batch" if classifier else "model_predict_batch"
    ffi.cdef(f"void {name}(const float *x, size_t rows, float *out);")
    out = np.empty((len(rows), width), dtype=np.float32)
    view: Any = ffi.from_buffer
    getattr(ffi.dlopen(str(library)), name)(view("float[]", rows), len(rows), view("float[]", out))
    return out.astype(np.float64)


def test_tables_are_half_the_size_and_the_error_is_stated(tmp_path: Path) -> None:
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC

    X, y = load_digits(return_X_y=True)
    model = SVC(gamma=0.02).fit(X[:500] / 4, y[:500])
    program = sc.compile(model)
    plain, halves = (sc.emit(program, "c", "digits", "f32", "host", tables) for tables in (None, "f16"))
    before, after = (json.loads(files["digits.json"]) for files in (plain, halves))
    assert after["tables"] == "f16" and after["claim"] == "APPROXIMATE" and before["claim"] == "EXACT"
    assert any("f16" in note and "up to" in note for note in after["notes"])
    assert after["cost"]["table_bytes"] < 0.65 * before["cost"]["table_bytes"]
    sc.write(halves, tmp_path)
    report = sc.verify(tmp_path, model, X[500:] / 4)
    assert report.ok and all(one.agreement > 0.995 for one in report.comparisons)
    assert sc.load(tmp_path).self_test() == 0


def test_the_machine_program_keeps_halves() -> None:
    program = round_vectors(program_of("rbf_ovr"))
    machine = lower(program, "f32", "host", halves=True)
    (node,) = (node for node in machine.body if isinstance(node, TiledSum))
    assert machine.tables[node.vectors].dtype == np.float16
    rows = normal_rows(200, "f32")
    left, right = (interpret(p, rows)["scores"] for p in (machine, lower(program, "f32", "host")))
    np.testing.assert_allclose(left, right, atol=1e-5)
    assert "f16" in machine.text()


def test_what_cannot_be_halved_is_refused() -> None:
    program = program_of("rbf_ovr")
    for target, precision, profile in (
        ("onnx", "f32", "host"),
        ("c", "f64", "host"),
        ("c", "f32", "portable"),
    ):
        with pytest.raises(sc.OptionError, match="f16 need"):
            sc.emit(program, target, "model", precision, profile, "f16")
    with pytest.raises(sc.OptionError, match="unknown table type"):
        sc.emit(program, "c", "model", "f32", "host", "f8")
    with pytest.raises(sc.EmitError, match="no support vectors"):
        sc.emit(program_of("affine"), "c", "model", "f32", "host", "f16")


def test_every_half_is_read_right(tmp_path: Path) -> None:
    """All finite halves through the baseline loader, which has no instruction for it."""
    write_c(program_of("rbf_value"), tmp_path, "model", "f32", "host", "f16")
    bits = np.arange(1 << 16, dtype=np.uint16)
    bits = bits[np.isfinite(bits.view(np.float16))]
    numbers = bits.view(np.float16).astype(np.float32)
    bits.tofile(tmp_path / "bits")
    numbers.tofile(tmp_path / "numbers")
    (tmp_path / "driver.c").write_text(DRIVER)
    compile_c(next(iter(compilers().values())), tmp_path, "-O1", "-w", "driver.c", "-o", "driver")
    compile_c((str(tmp_path / "driver"),), tmp_path)


DRIVER = r"""
#include "model.c"
#include <stdio.h>
#include <string.h>
static uint16_t bits[63488];
static float numbers[63488];
int main(void)
{
    int wrong = fread(bits, 2, 63488, fopen("bits", "rb")) != 63488;
    wrong += fread(numbers, 4, 63488, fopen("numbers", "rb")) != 63488;
    for (int i = 0; i < 63488; i += 4) {
        model_base_v v = model_base_load_half(bits + i);
        wrong += memcmp(&v, numbers + i, 16) != 0;
    }
    return wrong != 0;
}
"""

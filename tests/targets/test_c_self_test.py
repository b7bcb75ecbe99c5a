"""The self-test passes for good code, fails for damaged code, and looks where it is close."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_build import compile_c, compilers, write_c
from c_cases import CASES, program_of

from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.targets.c.self_test import SelfTest

MAIN = '#include "model.h"\nint main(void) { return model_self_test(); }\n'
NUMBER = r"-?\d[-+.\de]*f?"


def failures(folder: Path, *flags: str) -> int:
    (folder / "main.c").write_text(MAIN)
    compile_c(next(iter(compilers().values())), folder, *flags, "main.c", "model.c", "-o", "main")
    return subprocess.run([folder / "main"]).returncode


@pytest.mark.compile
@pytest.mark.parametrize("table", ["weights", "vectors", "sums_shift", "sums_norms", "bias"])
def test_one_changed_number_is_noticed(tmp_path: Path, table: str) -> None:
    write_c(program_of("rbf_ovr"), tmp_path, "model", "f32")
    assert failures(tmp_path) == 0
    tamper(tmp_path / "model.c", f"model_{table}")
    assert failures(tmp_path) > 0
    assert failures(tmp_path, "-DMODEL_NO_SELF_TEST") == 0


@pytest.mark.compile
@pytest.mark.parametrize(
    ("case", "table"),
    [
        ("poly_value", "weights"),
        ("quadratic", "sums_squares"),
        ("sigmoid_two", "vectors"),
        ("affine", "sums_slopes"),
        ("linear_scaled", "factor0"),
    ],
)
def test_other_kinds_notice_too(tmp_path: Path, case: str, table: str) -> None:
    write_c(program_of(case), tmp_path, "model", "f64")
    assert failures(tmp_path) == 0
    tamper(tmp_path / "model.c", f"model_{table}")
    assert failures(tmp_path) > 0


def tamper(path: Path, table: str) -> None:
    """One number of a table changes by a tenth."""
    text = path.read_text()
    found = re.search(rf"{table}\[\d+\] = {{\s+({NUMBER})", text)
    assert found
    changed = f"{float(found.group(1).rstrip('f')) + 0.1:.9f}"
    path.write_text(text[: found.start(1)] + changed + text[found.end(1) :])


@pytest.mark.parametrize("case", [case for case in CASES if program_of(case).labels])
def test_rows_lie_near_the_boundary_and_on_both_sides(case: str) -> None:
    program = program_of(case)
    stored = SelfTest.of(program, "f32")
    assert stored.labels is not None
    assert len(stored.rows) >= 4 and len(set(stored.labels.tolist())) > 1
    assert sum(label_changes_near(program, row) for row in stored.rows) >= 2


def label_changes_near(program: Program, row: np.ndarray) -> bool:
    """Whether the label is another one a hundredth of the way to some point."""
    points = np.random.default_rng(0).normal(size=(500, len(row)))
    labels = interpret(program, np.vstack([row, row + (points - row) / 100]))["label"]
    return len(set(labels.tolist())) > 1

"""Holds what the files of a case say of ordinary and hostile rows against what the program means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.data.rows import side_by_side
from svmcompile.flow.form import Form
from svmcompile.ir.arithmetic import ARITHMETIC, FIXED, INPUT_LIMITS, Number
from svmcompile.ir.bounds import Bounds, error_bounds, fixed_bounds, is_exact
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.runtime.libraries import SUFFIX
from tests.crossing.cases import made
from tests.crossing.covering import Case
from tests.crossing.driven import answers
from tests.crossing.kit_examples import check_example

NUMBERS = (0.0, -0.0, 1e-42, -1e-310, 1.0, 255.0, 1e6, -1e18, 1e30, 3e38, -1e300, np.inf, -np.inf, np.nan)
METHODS = {
    "scores": "decision_function",
    "probabilities": "predict_proba",
    "samples": "score_samples",
    "deviation": "predict_std",
}
DEVIATION = 1e-6  # of a standard deviation that is computed in double, and given in the number type


def rows_of(program: Program, X: Any, number: str, count: int = 30) -> Any:
    """Rows of the data, close to a boundary, and hostile ones, as the code is given them."""
    random, d = np.random.default_rng(1), program.n_features
    hostile = [np.full(d, one) for one in NUMBERS] + [random.choice(NUMBERS, d) for _ in range(16)]
    hostile += [np.where(np.arange(d) == j, np.nan, X[j]) for j in range(min(d, 6))]
    hostile += [np.where(np.arange(d) == j, np.inf, X[j]) for j in range(min(d, 3))]
    near = (X[:20] + X[20:40]) / 2
    rows = np.vstack([X[:count], near, program.probes.reshape(-1, d), hostile])
    if given := program.input.number:
        low, high = INPUT_LIMITS[given]
        return np.clip(np.nan_to_num(np.rint(rows), nan=low), low, high)
    with np.errstate(over="ignore"):
        return rows if number == "f64" else rows.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Expected:
    """What a program means on rows, and how far code may be from it."""

    program: Program
    number: Number
    rows: Any
    meant: Mapping[str, Any]
    bounds: Bounds

    @classmethod
    def of(cls, program: Program, number: Number, rows: Any) -> Expected:
        return cls(program, number, rows, interpret(program, rows), bounds_of(program, rows, number))


def check(case: Case, folder: Path) -> None:
    """Builds and runs a case; an error of the project where it is refused."""
    it = made(case)
    number = it.request.number
    rows = rows_of(it.program, it.X, number)
    expected = Expected.of(it.program, number, rows)
    code = it.emitted.code
    if code is not None and case["target"] != "wasm":
        found = answers(it.files, code.program, code.profile, rows, folder)
        for name, ways in found.items():
            for said in ways:
                judge(expected, name, said)
    if case["target"] != "c":
        loaded = Form(it.program, "model", case["target"], number, it.request.profile).model(
            {name: on_disk(folder / name, content) for name, content in it.files.items()}
        )
        for name in (output.name for output in it.program.outputs):
            said = getattr(loaded, METHODS.get(name, "predict"))(rows, allow_nan=True)
            if name == "label":
                classes = it.program.labels.array()
                said = np.argmax(np.asarray(said)[..., None] == classes, axis=-1)
            judge(expected, name, side_by_side(said).reshape(len(rows), -1))
    if case["kit"] != "none":
        check_example(it.files, case["kit"], folder)


def on_disk(path: Path, content: Any) -> Any:
    """A library as the loader wants it: in a file. All else stays as it is."""
    if path.suffix != f".{SUFFIX}":
        return content
    path.write_bytes(content)
    return path


def judge(expected: Expected, name: str, said: Any) -> None:
    """One output of one target: right within the bounds, defined wherever it may be anything."""
    program, number, rows, bounds = expected.program, expected.number, expected.rows, expected.bounds
    meant = np.asarray(expected.meant[name]).reshape(len(rows), -1)
    if name == "label":
        assert ((said >= 0) & (said < program.n_classes)).all()
        sure = ~bounds.unstable & fits(program, rows)
        assert np.array_equal(said[sure], meant[sure]), rows[sure][(said != meant)[sure].any(axis=1)]
        return
    finite = np.isfinite(rows)
    missing = ~finite.all(axis=1) & (np.abs(np.where(finite, rows, 0.0)).max(axis=1) < 1e6)
    assert np.array_equal(np.isnan(said[missing]), np.isnan(meant[missing]))
    limit = {"probabilities": bounds.probabilities, "deviation": np.full(meant.shape, DEVIATION)}.get(
        name, bounds.scores
    )
    sure = ~bounds.unstable & fits(program, rows) & np.isfinite(limit).all(axis=1)
    error = np.abs(said[sure].astype(np.float64) - meant[sure])
    rounding = ARITHMETIC["f32" if number in FIXED else number].u * np.abs(meant[sure])
    assert (error <= limit[sure] + rounding).all(), (name, float((error / (limit[sure] + rounding)).max()))


def bounds_of(program: Program, rows: Any, number: Any) -> Bounds:
    """How far code may be from the interpreter."""
    if program.number not in FIXED:
        return error_bounds(program, rows, number)
    known = fixed_bounds(program, rows)
    if not is_exact(program):
        return known
    return known._replace(scores=np.zeros_like(known.scores), unstable=np.zeros_like(known.unstable))


def fits(program: Program, rows: Any) -> Any:
    """Rows on which nothing leaves the number type: bounds are of rounding, not of overflow."""
    if program.number in FIXED:
        return np.ones(len(rows), bool)
    return np.abs(rows).max(axis=1) < 1e6  # NaN is not

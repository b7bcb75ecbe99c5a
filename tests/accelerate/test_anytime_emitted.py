"""anytime in C and ONNX: every label of the original, on rows that rounding could decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anytime_cases import KINDS, compiled, hard_rows, machine

import svmcompile as sc

pytestmark = pytest.mark.compile

CASES = [
    *((kind, "c", "host", "f32") for kind in KINDS),
    *((kind, "c", "portable", "f32") for kind in ("rbf", "poly")),
    ("wide", "c", "host", "f64"),
    *((kind, "onnx", "host", "f32") for kind in KINDS),
]


@pytest.mark.parametrize("kind, target, profile, precision", CASES)
def test_no_label_changes_on_the_border(
    kind: str, target: str, profile: str, precision: str, tmp_path: Path
) -> None:
    X, model = machine(kind)
    rows = hard_rows(model, X, count=1000)
    program = compiled(kind, tune="host")
    sc.write(sc.emit(program, target, "model", precision=precision, profile=profile), tmp_path)
    fast: Any = sc.load(tmp_path)
    assert (fast.predict(rows) == model.predict(rows)).all()


def test_exact_code_in_float32_does_change_some(tmp_path: Path) -> None:
    """So the rows above are such that rounding matters."""
    X, model = machine("wide")
    rows = hard_rows(model, X, count=1000)
    sc.write(sc.emit(sc.compile(model), "c", "model"), tmp_path)
    assert (np.asarray(sc.load(tmp_path).predict(rows)) != model.predict(rows)).any()

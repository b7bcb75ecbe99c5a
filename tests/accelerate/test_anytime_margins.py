"""anytime: float32 code stays within the margins, and is wrong without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from anytime_cases import KINDS, bounded, compiled, hard_rows, in_float32, machine

from svmcompile.accelerate.bounds.margins import U, kernel_error, row_error
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC, split_shift
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Program
from svmcompile.model.front import IDENTITY, clip, scale

FORMS: list[dict[str, Any]] = [
    {"block": 1, "r_coords": "all"},
    {"block": 8, "r_coords": "8"},
    {"block": 4, "r_coords": "0"},
    {"block": 8, "ordering": "original", "pivot_tol": 1e-7, "r_coords": "all"},
]


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_float32_intervals_hold_the_value_in_double(kind: str, options: dict[str, Any]) -> None:
    X, model = machine(kind)
    rows = hard_rows(model, X, count=150)
    program = compiled(kind, k_max=64, **options)
    f = model.decision_function(rows)
    for slip in (0.0, ARITHMETIC["f32"].exp_error):
        scores, errors = in_float32(program, rows, slip)
        assert (np.abs(scores.astype(np.float64) - f[:, None]) <= errors).all()


@pytest.mark.parametrize("kind", KINDS)
def test_margins_are_not_vain(kind: str) -> None:
    """They are within a few hundred times of what float32 does."""
    X, model = machine(kind)
    rows = hard_rows(model, X, count=150)
    program = compiled(kind, block=8, k_max=64)
    scores, errors = in_float32(program, rows)
    error = np.abs(scores[:, -1].astype(np.float64) - model.decision_function(rows)).max()
    assert errors[:, -1].min() < 500 * error


def without_margins(program: Program) -> Program:
    node = bounded(program)
    names = (node.slacks, node.margins, node.rounding)
    return program.replace(
        tables={name: table * 0 if name in names else table for name, table in program.tables.items()}
    )


def wrong(program: Program, rows: Any, f: Any) -> int:
    """Rows of which float32 code is sure, and wrong."""
    scores, errors = in_float32(program, rows)
    sure = np.abs(scores) > errors
    first = sure.argmax(axis=1)
    score = scores[np.arange(len(rows)), first]
    return int((sure.any(axis=1) & ((score > 0) != (f > 0))).sum())


def test_without_margins_labels_change() -> None:
    X, model = machine("far")
    rows = hard_rows(model, X, count=1500)[6000:]  # the border alone
    f = model.decision_function(rows)
    program = compiled("far", block=1, r_coords="all", pivot_tol=1e-6)
    assert len(rows) > 500
    assert wrong(program, rows, f) == 0
    assert wrong(without_margins(program), rows, f) > 0


def test_rows_are_rounded_as_far_as_stated() -> None:
    random = np.random.default_rng(0)
    shift, factor = random.normal(size=5) * 100, np.exp(random.normal(size=5))
    front = scale(shift, factor).then(clip(-3.0, 4.0)).then(scale(random.normal(size=5), factor))
    rows = (random.normal(size=(4000, 5)) * 3 / factor + shift).astype(np.float32)
    exact, narrow = rows.astype(np.float64), rows
    for node in front.nodes:
        if isinstance(node, ir.Clip):
            exact, narrow = np.clip(exact, node.low, node.high), np.clip(narrow, node.low, node.high)
            continue
        assert isinstance(node, ir.Scale)
        shift, factor = front.tables[node.shift], front.tables[node.factor]
        exact = (exact - shift) * factor
        parts = (*split_shift(shift, factor), factor)
        low, offset, by = (part.astype(np.float32) for part in parts)
        narrow = (narrow - low) * by + offset
    error = np.linalg.norm(narrow - exact, axis=1)
    bound = row_error(front, 5)
    assert (error <= bound.relative * np.linalg.norm(exact, axis=1) + bound.constant).all()
    assert error.max() > 0 and bound.relative < 20 * U


def test_features_too_large_for_float32_are_told_apart() -> None:
    row = row_error(IDENTITY, 3)
    small, large = np.ones((2, 3)), 1e6 * np.ones((2, 3))
    assert kernel_error(Kernel("rbf", 1.0), small, row).usable
    assert not kernel_error(Kernel("rbf", 1.0), large, row).usable
    assert not kernel_error(Kernel("rbf", 1e-35), small, row).usable

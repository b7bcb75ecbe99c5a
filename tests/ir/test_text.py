"""The listing: readable, stable, and different for different programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.strategies import machine_programs, origin, programs

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.ir.text import table_text, text
from svmcompile.lower import lower
from svmcompile.optimise import optimise


def three_classes() -> Program:
    """Scaling, clipping, pair sums and both heads, from numbers that anyone can type."""
    tables = {
        "shift": np.array([1.0, -2.0]), "factor": np.array([0.5, 0.25]), "offset": np.array([0.0, 1.0]),
        "vectors": np.arange(8.0).reshape(4, 2), "weights": np.array([[1.0, -1, 2, 0.5], [0.25, 3, -2, 1]]),
        "bias": np.array([0.1, -0.2, 0.3]),
    }  # fmt: skip
    body = (
        ir.Scale("z", "x", "shift", "factor", "offset"),
        ir.Clip("c", "z", -1.0, 1.0),
        ir.PairSum("sums", "c", "vectors", "weights", "bias", (2, 1, 1), Kernel("rbf", 0.25)),
        ir.OvrScores("scores", "sums", 3),
        ir.Vote("label", "sums", 3),
    )
    outputs = (Output("scores", "scores"), Output("label", "label"))
    labels = Labels(("red", "green", "line\nbreak"), "<U10")
    return check(Program(Input(2), body, outputs, tables, labels, origin(4)))


def quadratic() -> Program:
    """A regressor with a polynomial kernel of degree 2, which the passes turn into a quadratic form."""
    vectors = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [-2.0, 1.0], [1.5, 1.5], [0.0, 4.0]])
    tables = {
        "vectors": vectors,
        "weights": np.array([[1.0, -0.5, 2.0, 0.25, -1.0, 0.125]]),
        "bias": np.ones(1),
    }
    body = (ir.KernelSum("sums", "x", "vectors", "weights", "bias", Kernel("poly", 0.5, 1.0, 2)),)
    return check(Program(Input(2), body, (Output("value", "sums"),), tables, None, origin(6)))


LISTINGS = {
    "three_classes.txt": three_classes,
    "three_classes_optimised.txt": lambda: optimise(three_classes()),
    "three_classes_f32.txt": lambda: lower(optimise(three_classes()), "f32"),
    "quadratic.txt": quadratic,
    "quadratic_f64.txt": lambda: lower(optimise(quadratic()), "f64"),
}


@pytest.mark.golden
@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name: str, golden: Any) -> None:
    golden(f"ir/{name}", text(LISTINGS[name]()))


@settings(max_examples=60, deadline=None)
@given(st.one_of(programs(), machine_programs()))
def test_a_listing_is_stable_and_complete(program: Program) -> None:
    listing = text(program)
    assert listing == text(program.replace())
    assert listing.endswith("\n") and listing.isprintable() is False
    lines = listing.splitlines()
    assert len(lines) == 3 + len(program.body) + len(program.outputs) + (program.labels is not None)
    for node in program.body:
        assert sum(line.startswith(f"%{node.out} = ") for line in lines) == 1
    for name in program.tables:
        assert f"@{name}[" in listing


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 100))
def test_another_number_in_a_table_changes_the_text(program: Program, pick: int) -> None:
    names = [name for name in sorted(program.tables) if program.tables[name].size]
    name = names[pick % len(names)]
    table = program.tables[name].copy()
    at = pick % table.size
    table.flat[at] = 2 * table.flat[at] or 1.0  # a float32 number stays one
    assert text(program.replace(tables={**program.tables, name: table})) != text(program)


def test_a_program_is_shown_in_one_line() -> None:
    assert repr(three_classes()) == "Program(test, method exact, EXACT, f64, 2 features, 3 classes)"
    assert repr(lower(quadratic(), "f32")).endswith("f32, 2 features, regression)")


def test_a_table_shows_its_extent_type_and_content() -> None:
    assert table_text("sv", np.zeros((12, 4))).startswith("@sv[12x4 f64 #")
    assert table_text("w", np.zeros(3, np.float32)).startswith("@w[3 f32 #")
    assert table_text("w", np.zeros(3)) != table_text("w", -np.ones(3))


def test_an_awkward_label_stays_on_its_line() -> None:
    last = text(three_classes()).splitlines()[-1]
    assert last == "labels 'red', 'green', 'line\\nbreak'"

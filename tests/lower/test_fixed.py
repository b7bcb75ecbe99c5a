"""Fixed point: stated errors hold, nothing overflows, ranges are asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.whole_numbers import fixed_programs, math_programs
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from typer.testing import CliRunner

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import near_tests, within_range
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.whole_numbers import from_nibbles, on_curve, to_nibbles
from svmcompile.lower.fixed.sums import TOP, falling, rising

NUMBERS = ("q7", "q15")
X, Y = load_iris(return_X_y=True)


@settings(deadline=None, max_examples=60)
@given(
    st.floats(1e-9, 0.5), st.integers(8, 300), st.integers(1, 2**31 - 1), st.randoms(use_true_random=False)
)
def test_a_falling_curve_is_within_its_error(rate: float, cells: int, reach: int, random: Any) -> None:
    curve = falling(rate, cells, reach)
    t = np.array([0, reach, *(random.randint(0, reach) for _ in range(200)), *range(min(50, reach))])
    found = on_curve(t, curve.points.astype(np.int64), curve.cell_bits) / TOP
    assert np.abs(found - np.exp(-rate * t)).max() <= curve.error


@settings(deadline=None, max_examples=60)
@given(
    st.floats(1e-9, 0.5), st.integers(8, 300), st.integers(-(2**30), 2**30), st.integers(1, 2**30),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_a_rising_curve_is_within_its_error(
    unit: float, cells: int, low: int, reach: int, random: Any
) -> None:
    made = rising(unit, cells, low, reach)
    t = np.array([0, reach, *(random.randint(0, reach) for _ in range(200))])
    curve = on_curve(t, made.curve.points.astype(np.int64), made.curve.cell_bits) / TOP
    found = made.middle + made.amplitude * curve
    assert np.abs(found - np.tanh(unit * (low + t))).max() <= made.amplitude * made.curve.error


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", math_programs())
def test_the_stated_error_holds_within_range(name: str, number: str) -> None:
    program, fixed = math_programs()[name], fixed_programs(number)[name]
    rows = rows_in_range(fixed, 10_000)
    for value, made in stated_scores(program, fixed).items():
        usable = within_range(fixed, rows) & ~near_tests(fixed, rows)
        meant = interpret_values(program, rows, {value})[value][usable]
        found = interpret_values(fixed, rows, {made})[made][usable] * stated(fixed)["units"][value]
        error = np.abs(found - meant)
        assert error.max(initial=0.0) <= stated(fixed)["error"]
        assert usable.any() or number == "q7"  # whose tests may all be closer than their error


def stated(fixed: sc.Program) -> dict[str, Any]:
    return dict(fixed.origin.details["fixed"])


def stated_scores(program: sc.Program, fixed: sc.Program) -> dict[str, str]:
    """Values of the math program that the fixed one has in whole numbers; votes of leaves are no sums."""
    votes = {node.out for node in fixed.body if getattr(node, "rule", "") in ("vote", "ovr")}
    return {
        node.out: node.out
        for node in program.body
        if node.out in stated(fixed)["units"] and any(made.out == node.out for made in fixed.body)
        and node.out not in votes
    }  # fmt: skip


def rows_in_range(fixed: sc.Program, count: int) -> Any:
    """Rows all over the range and in its corners."""
    rng, told = np.random.default_rng(3), stated(fixed)
    if "low" not in told:
        return rng.normal(size=(count, fixed.n_features))
    low, high = np.asarray(told["low"]), np.asarray(told["high"])
    rows = low + (high - low) * rng.random((count, fixed.n_features))
    corners = np.where(rng.random((count // 4, fixed.n_features)) < 0.5, low, high)
    inside = np.vstack([rows, corners]).astype(np.float32).astype(np.float64)
    return np.clip(inside, low, high)


def test_features_are_read_by_strides_where_bytes_do_and_numbers_do_not() -> None:
    for name, kind in (("odd", ir.Pick), ("far", ir.StridePick), ("too_far", ir.Pick)):
        math, fixed = math_programs()[f"projected_{name}"], fixed_programs("q7")[f"projected_{name}"]
        assert isinstance(fixed.body[0], kind)
        rows = np.float32(np.random.default_rng(0).normal(size=(5, math.n_features)))
        (picked,) = {node.out for node in math.body if isinstance(node, ir.Pick)}
        found = interpret_values(fixed, rows, {picked})[picked]
        assert np.array_equal(found, interpret_values(math, rows, {picked})[picked])


def test_strides_stay_within_the_row() -> None:
    fixed = fixed_programs("q7")["projected_far"]
    pick = fixed.body[0]
    assert isinstance(pick, ir.StridePick) and fixed.tables[pick.strides].dtype == np.uint8
    with pytest.raises(CheckError, match="a column is not within"):
        check(fixed.replace(tables={**fixed.tables, pick.strides: fixed.tables[pick.strides] + 1}))


def test_nibbles_come_back_as_they_were() -> None:
    for count in (1, 2, 7, 8):
        weights = np.random.default_rng(count).integers(-8, 8, (3, count))
        packed = to_nibbles(weights)
        assert packed.shape == (3, (count + 1) // 2) and packed.dtype == np.uint8
        assert np.array_equal(from_nibbles(packed, count), weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.astype(np.int8), "are no bytes"),
        (lambda table: table | np.uint8(16), "a weight too many"),
        (lambda table: table[:, :-1], "expected"),
    ],
)
def test_bytes_of_nibbles_are_checked(change: Any, message: str) -> None:
    fixed = fixed_programs("q7")["projected_odd"]
    node = next(node for node in fixed.body if isinstance(node, ir.NibbleProjection))
    table = change(fixed.tables[node.weights])
    with pytest.raises(CheckError, match=message):
        check(fixed.replace(tables={**fixed.tables, node.weights: table}))


@pytest.mark.parametrize("number", NUMBERS)
def test_rows_beyond_the_range_count_as_its_ends(number: str) -> None:
    fixed = sc.quantise(sc.compile(SVC().fit(X, Y)), number, X)
    told = stated(fixed)
    rows = np.vstack([X * 3 - 5, np.full((1, 4), np.inf), np.full((1, 4), -1e30)])
    held = np.clip(rows, told["low"], told["high"])
    assert not within_range(fixed, rows).all()
    assert np.array_equal(fixed.decision_function(rows), fixed.decision_function(held))
    nothing = fixed.decision_function(np.full((1, 4), np.nan))
    assert np.array_equal(nothing, fixed.decision_function(np.array([told["low"]])))


def test_a_program_that_could_overflow_is_refused() -> None:
    fixed = sc.quantise(sc.compile(SVC(gamma=0.5).fit(X, Y)), "q15", X)
    quantise, node = fixed.body[0], fixed.body[1]
    assert isinstance(quantise, ir.Quantise) and isinstance(node, ir.FixedSum)
    wide = fixed.replace(body=(replace(quantise, limit=32767), *fixed.body[1:]))
    with pytest.raises(sc.CheckError, match="beyond 32 bits"):
        check(wide)
    with pytest.raises(sc.CheckError, match="beyond 32 bits"):
        check(fixed.replace(body=(quantise, replace(node, shift=0), *fixed.body[2:])))


def test_ranges_are_asked_for_and_may_be_given() -> None:
    program = sc.compile(SVC().fit(X, Y))
    with pytest.raises(sc.OptionError, match="--ranges"):
        sc.emit(program, precision="q7")
    fixed = sc.quantise(program, "q15", ranges=(0.0, 8.0))
    assert (fixed.predict(X) == program.predict(X)).all()
    each = sc.quantise(program, "q15", X, ranges=(X.min(axis=0), X.max(axis=0)))
    assert (each.predict(X) == program.predict(X)).all()
    with pytest.raises(sc.OptionError, match="lower to a higher"):
        sc.quantise(program, "q15", ranges=(1.0, 0.0))
    with pytest.raises(sc.OptionError, match="target c"):
        sc.emit(program, "onnx", precision="q7", X=X)


def test_probabilities_are_left_out_and_said_so() -> None:
    program = sc.compile(SVC(probability=True, random_state=0).fit(X, Y))
    fixed = sc.quantise(program, "q15", X)
    assert fixed.output("probabilities") is None
    assert any("probabilities" in note for note in fixed.origin.notes)


def test_verify_holds_c_to_the_stated_error(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), SVC(gamma=0.3)).fit(X, Y)
    files = sc.emit(sc.compile(model, X=X), name="iris", precision="q15", X=X)
    sc.write(files, tmp_path)
    report = sc.verify(tmp_path, model, X, Y)
    assert report.ok and {one.precision for one in report.comparisons} == {"q15"}
    assert all(one.labels_off_program == 0 for one in report.comparisons)
    assert sc.Program.load(tmp_path / "iris.svmc").number == "q15"
    header = str(files["iris.h"])
    assert "iris_predict_q(const int16_t x[4])" in header and "Decision values are within" in header


def test_the_command_takes_ranges_and_rows_of_bytes(tmp_path: Path) -> None:
    model, out = tmp_path / "iris.joblib", tmp_path / "out"
    joblib.dump(SVC(gamma=0.001).fit(np.rint(X * 10), Y), model)
    np.save(tmp_path / "ends.npy", np.array([[0.0] * 4, [100.0] * 4]))
    words = ["compile", str(model), "-o", str(out), "--trust-pickle", "--precision"]
    runner = CliRunner()
    for more in (["q15", "--ranges", "0:100"], ["q15", "--ranges", str(tmp_path / "ends.npy")]):
        assert runner.invoke(app, [*words, *more], catch_exceptions=False).exit_code == 0
        assert json.loads((out / "iris.json").read_text())["fixed_error"] > 0
    assert runner.invoke(app, [*words, "q7", "--input", "u8"], catch_exceptions=False).exit_code == 0
    assert "int iris_predict(const uint8_t x[IRIS_N_FEATURES]);" in (out / "iris.h").read_text()
    for wrong in (["q7"], ["q7", "--ranges", "a:b"], ["f32", "--ranges", "0:1"], ["f32", "--input", "u8"]):
        with pytest.raises(sc.OptionError):
            runner.invoke(app, [*words, *wrong], catch_exceptions=False)


def test_sums_that_stop_early_are_added_up_in_whole_numbers() -> None:
    rows, labels = X[Y < 2], Y[Y < 2]
    model = SVC(gamma=0.2).fit(rows, labels)
    program = sc.compile(model, method="anytime", X=rows, force=True, tolerance=0.01)
    fixed = sc.quantise(program, "q15", X=rows)
    assert fixed.origin.claim is sc.Claim.APPROXIMATE
    assert (fixed.predict(rows) == model.predict(rows)).all()
    assert any("adds up all vectors" in note for note in fixed.origin.notes)


@pytest.mark.parametrize("method", ["anytime", "certified"])
@pytest.mark.parametrize("classes", [2, 3])
def test_whole_numbers_cannot_promise_every_label(method: str, classes: int) -> None:
    rows, labels = X[classes > Y], Y[classes > Y]
    program = sc.compile(SVC(gamma=0.2).fit(rows, labels), method=method, X=rows, force=True)
    with pytest.raises(sc.SvmCompileError, match="use --precision f32, or --method exact"):
        sc.quantise(program, "q15", X=rows)


def moved_far() -> tuple[Any, Any, sc.Program]:
    """Rows, and few vectors far away from them, whose weights are large and whose kernel values small."""
    rng = np.random.default_rng(5)
    rows = rng.uniform(size=(600, 8))
    program = sc.compile(SVC(gamma=1.2).fit(rows, rows.sum(axis=1) > 4))
    node = next(node for node in program.body if isinstance(node, ir.KernelSum))
    vectors = np.where(rng.random((5, 8)) < 0.5, -0.4, 1.4)
    weights, bias = np.array([[900.0, -700.0, 800.0, -650.0, 500.0]]), np.zeros(1)
    kept = {node.vectors: vectors, node.weights: weights, node.bias: bias}
    return rows, node, program.replace(tables={**program.tables, **kept}, probes=rows[:0])


@pytest.mark.parametrize("number", NUMBERS)
def test_small_kernel_values_under_large_weights_all_count(number: str) -> None:
    rows, node, program = moved_far()
    rows = rows * 0.6 + 0.2
    fixed = sc.quantise(program, number, rows[:400])
    meant = interpret_values(program, rows[400:], {node.out})[node.out]
    found = interpret_values(fixed, rows[400:], {node.out})[node.out] * stated(fixed)["units"][node.out]
    assert np.abs(found - meant).mean() < 0.02 * np.abs(meant - meant.mean()).mean()
    assert np.abs(found - meant).max() <= stated(fixed)["error"]
    everywhere = rows_in_range(fixed, 4000)
    off = interpret_values(fixed, everywhere, {node.out})[node.out] * stated(fixed)["units"][node.out]
    assert (
        np.abs(off - interpret_values(program, everywhere, {node.out})[node.out]).max()
        <= (stated(fixed)["error"])
    )

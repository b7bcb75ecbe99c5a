"""proto: training, sizes within a limit, and every kind of model in every backend."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.proto.network import Loss, Prototypes
from svmcompile.accelerate.proto.sizes import Sizes, Tables
from svmcompile.accelerate.proto.training import Lesson, train
from svmcompile.errors import OptionError
from svmcompile.ir.interpret import interpret
from svmcompile.lower.fixed.program import fix, range_of_rows, widened
from svmcompile.lower.fixed.projections import unit_of_nibbles

QUICK: dict[str, Any] = {"steps": 800, "synthetic_rows": 1000}
DIGITS = load_digits(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
MODELS: dict[str, tuple[Any, Any]] = {
    "two": (make_pipeline(StandardScaler(), SVC()), CANCER),
    "votes": (SVC(gamma=0.001), DIGITS),
    "pairs": (SVC(gamma=0.001, decision_function_shape="ovo"), DIGITS),
    "rest": (LinearSVC(random_state=0), (DIGITS[0] / 16, DIGITS[1])),
    "value": (make_pipeline(StandardScaler(), SVR(C=100)), DIABETES),
    "inliers": (make_pipeline(StandardScaler(), OneClassSVM(nu=0.1)), CANCER),
}
SHARED_RANGE = ("votes", "pairs", "rest")  # of all features: weights of the projection may be nibbles


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {name: model.fit(*rows) for name, (model, rows) in MODELS.items()}


@pytest.fixture(scope="module")
def programs(models: dict[str, Any]) -> dict[str, sc.Program]:
    limits = {"max_bytes": 2500, "precision": "q7", **QUICK}
    asked = {name: "nibbles" if name in SHARED_RANGE else "auto" for name in models}
    return {
        name: sc.compile(model, method="proto", X=MODELS[name][1][0], projection=asked[name], **limits)
        for name, model in models.items()
    }


def random_network(random: np.random.Generator, outputs: int) -> Prototypes:
    shapes = (3, 5), (4, 3), (4, outputs), (outputs,)
    return Prototypes(*(random.normal(size=shape) for shape in shapes))


@pytest.mark.parametrize("loss", ["logistic", "softmax", "squares"])
def test_gradients_are_those_of_the_loss(loss: Loss) -> None:
    random = np.random.default_rng(0)
    network, rows = random_network(random, 3), random.normal(size=(7, 5))
    targets = random.dirichlet(np.ones(3), size=7)
    gradients = network.loss(rows, targets, loss)[1]
    for part, (values, gradient) in enumerate(zip(network.parts, gradients, strict=True)):
        found = np.zeros_like(values)
        for at in np.ndindex(values.shape):
            ends = []
            for step in (1e-5, -1e-5):
                parts = [one.copy() for one in network.parts]
                parts[part][at] += step
                ends.append(Prototypes(*parts).loss(rows, targets, loss)[0])
            found[at] = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(gradient, found, rtol=1e-6, atol=1e-8)


def test_training_finds_the_features_that_matter_and_repeats_itself() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(2000, 12)).astype(np.float32)
    targets = (rows[:, [3]] * rows[:, [7]] > 0).astype(np.float32)
    lesson = Lesson(rows, targets, "logistic")
    first, again = (train(lesson, Sizes(2, 12, 2), 1500, 0) for _ in range(2))
    assert first.columns.tolist() == [3, 7]
    assert ((first.scores(rows) > 0) == (targets > 0)).mean() > 0.95
    for one, other in zip(first.network.parts, again.network.parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_agrees_with_the_svm(models: dict[str, Any], programs: dict[str, sc.Program]) -> None:
    least = {"two": 0.98, "votes": 0.99, "pairs": 0.99, "rest": 0.99, "value": 0.95, "inliers": 0.93}
    for name, program in programs.items():
        X = MODELS[name][1][0]
        found, wanted = program.predict(X), models[name].predict(X)
        if name == "value":
            assert 1 - np.square(found - wanted).sum() / np.square(wanted - wanted.mean()).sum() > 0.95
        else:
            assert (found == wanted).mean() >= least[name], name


def test_scores_are_those_of_the_model_where_they_can_be(
    models: dict[str, Any], programs: dict[str, sc.Program]
) -> None:
    X = CANCER[0]
    found, wanted = programs["two"].decision_function(X), models["two"].decision_function(X)
    assert np.corrcoef(found.ravel(), wanted)[0, 1] > 0.95
    assert programs["votes"].decision_function(DIGITS[0]).shape == (len(DIGITS[0]), 10)
    assert programs["pairs"].output("scores") is None
    assert "no decision values" in " ".join(programs["pairs"].origin.notes)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("precision", ["q15", "q7"])
def test_whole_numbers_are_those_of_the_interpreter(
    programs: dict[str, sc.Program], name: str, precision: str, tmp_path: Path
) -> None:
    X, program = MODELS[name][1][0], programs[name]
    fixed = fix(program, precision, widened(range_of_rows(X), precision))  # type: ignore[arg-type]
    nibbles = precision == "q7" and name in SHARED_RANGE
    wanted_node = "NibbleProjection" if nibbles else "FixedProjection"
    assert any(type(node).__name__ == wanted_node for node in fixed.body)
    sums = next(node for node in fixed.body if type(node).__name__ == "FixedSum")
    assert fixed.tables[sums.weights].dtype == (np.int8 if precision == "q7" else np.int16)
    wanted = interpret(program, X)
    for output, found in interpret(fixed, X).items():
        if output != "label":
            assert np.abs(found - wanted[output]).max() <= fixed.origin.details["fixed"]["error"]
    sc.write(sc.emit(program, "c", "m", precision, "device", X=X), tmp_path)
    found, known = sc.load(tmp_path), interpret(sc.Program.load(tmp_path / "m.svmc"), X[:1])
    assert known
    labels = found.predict(X)
    if name == "value":
        spread = program.predict(X).std()
        assert np.abs(labels - program.predict(X)).max() < (0.3 if precision == "q7" else 0.01) * spread
    else:
        assert (labels == program.predict(X)).mean() > (0.95 if precision == "q7" else 0.995)


def test_weights_of_four_bits_are_multiples_of_one_unit(
    models: dict[str, Any], programs: dict[str, sc.Program]
) -> None:
    X, limits = DIGITS[0], {"max_bytes": 2500, "precision": "q7", **QUICK}
    assert unit_of_nibbles(programs["votes"].tables["projection"]) > 0
    assert all(one["four_bits"] for one in programs["votes"].origin.details["tried"])
    plain = sc.compile(models["votes"], method="proto", X=X, **limits)
    assert unit_of_nibbles(plain.tables["projection"]) == 0
    names = {type(node).__name__ for node in sc.quantise(plain, "q7", X).body}
    assert "FixedProjection" in names and "NibbleProjection" not in names


@pytest.mark.parametrize(
    ("limit", "options", "four_bits", "cells"),
    [
        (2048, {}, True, 32), (2049, {}, False, 0), (2048, {"projection": "bytes"}, False, 32),
        (4096, {"projection": "nibbles"}, True, 0), (2048, {"precision": "q15"}, False, 0),
    ],
)  # fmt: skip
def test_small_models_take_nibbles_and_a_short_curve(
    models: dict[str, Any], limit: int, options: dict[str, Any], four_bits: bool, cells: int
) -> None:
    asked = {"precision": "q7", "steps": 20, "synthetic_rows": 0, **options}
    program = sc.compile(models["votes"], method="proto", X=DIGITS[0], max_bytes=limit, **asked)
    details = program.origin.details
    assert (details["four_bits"], details["curve_cells"]) == (four_bits, cells)
    fixed = sc.quantise(program, "q7", DIGITS[0])
    sums = next(node for node in fixed.body if type(node).__name__ == "FixedSum")
    assert len(fixed.tables[sums.curve]) <= (cells or 70) + 1


def test_nibbles_hold_what_bytes_held() -> None:
    """At the same sizes, four bits cost next to no labels and take less than two thirds of the bytes."""
    X, y = DIGITS[0], DIGITS[1] >= 5
    model = SVC(gamma=0.001).fit(X, y)
    sizes = {"rank": 6, "vectors": 20, "density": 0.8, "precision": "q7", **QUICK}
    shares, used = {}, {}
    for projection in ("bytes", "nibbles"):
        program = sc.compile(model, method="proto", X=X, projection=projection, **sizes)
        fixed = sc.quantise(program, "q7", X)
        shares[projection] = float((fixed.predict(X) == model.predict(X)).mean())
        used[projection] = program.origin.details["most_table_bytes"]
        report = json.loads(sc.emit(fixed, name="m", precision="q7", profile="device")["m.json"])
        assert 0 <= used[projection] - report["cost"]["table_bytes"] <= 8
    assert shares["nibbles"] > shares["bytes"] - 0.01
    assert used["bytes"] - used["nibbles"] == 6 * (51 - 26)


def test_ranges_that_differ_take_weights_of_a_byte(programs: dict[str, sc.Program]) -> None:
    """Weights of four bits have one unit for all features; where ranges given ask for others, bytes do."""
    fixed = sc.quantise(programs["votes"], "q7", DIGITS[0] * np.geomspace(1, 1000, 64))
    assert any(type(node).__name__ == "FixedProjection" for node in fixed.body)


@pytest.mark.parametrize("columns", [1, 2, 7, 40])
@pytest.mark.parametrize("rank", [1, 4, 9])
def test_as_many_features_as_fit(columns: int, rank: int) -> None:
    for four_bits in (False, True):
        tables = Tables(64, 1, 0, "q7", four_bits=four_bits)
        room = tables.columns(columns, rank)
        assert tables.most_columns(rank, room) == columns
        assert tables.most_columns(rank, room - 1) == columns - 1


@pytest.mark.parametrize("profile", ["portable", "host", "device"])
@pytest.mark.parametrize("precision", ["f32", "q15", "q7"])
def test_tables_are_within_the_limit(models: dict[str, Any], profile: str, precision: str) -> None:
    tune = "host" if profile == "host" else "portable"
    small = [("votes", 2000)] if precision == "q7" else []  # which floats cannot keep
    for name, limit in (("two", 2400), ("votes", 6000), *small):
        X = MODELS[name][1][0]
        program = sc.compile(
            models[name], method="proto", X=X, max_bytes=limit, precision=precision, tune=tune,
            steps=50, synthetic_rows=0,
        )  # fmt: skip
        files = sc.emit(program, "c", "m", precision, profile, X=X)
        used = json.loads(files["m.json"])["cost"]["table_bytes"]
        counted = program.origin.details["most_table_bytes"]
        assert 0.8 * counted < used <= counted <= limit, (name, profile, precision)


def test_onnx_and_c_say_the_same(programs: dict[str, sc.Program], tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime runs the graph")
    for name in ("two", "votes"):
        X = MODELS[name][1][0]
        sc.write(sc.emit(programs[name], "onnx", "m"), tmp_path / f"{name}-onnx")
        sc.write(sc.emit(programs[name], "c", "m"), tmp_path / f"{name}-c")
        graph, code = sc.load(tmp_path / f"{name}-onnx"), sc.load(tmp_path / f"{name}-c")
        np.testing.assert_allclose(
            np.ravel(graph.decision_function(X)), np.ravel(code.decision_function(X)), rtol=1e-3, atol=1e-3
        )
        assert (graph.predict(X) == code.predict(X)).mean() > 0.999


def test_labels_of_the_data_may_count_too(models: dict[str, Any]) -> None:
    X, y = CANCER
    flipped = sc.compile(models["two"], method="proto", X=X, y=1 - y, labels=1.0, max_bytes=2500, **QUICK)
    assert (flipped.predict(X) == y).mean() < 0.1


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("two", {"rank": 31}, "rank is 31, and the kernel sees 30 features"),
        ("two", {"max_bytes": 20}, "too few for such a model"),
        ("two", {"max_bytes": 400, "rank": 10, "vectors": 100, "density": 1}, "too few for such a model"),
        ("two", {"density": 1.5}, "density must be from 0 to 1"),
        ("two", {"precision": "f16"}, "precision='f16' is unknown"),
        ("two", {"labels": 0.5}, "the data has none"),
        ("two", {"vectors": -1}, "vectors must be at least 0"),
        ("votes", {"projection": "nibbles"}, "is for precision q7, and this is f32"),
        ("two", {"projection": "nibbles", "precision": "q7"}, "features that share a range"),
    ],
)
def test_what_makes_no_sense_is_refused(
    models: dict[str, Any], name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        sc.compile(models[name], method="proto", X=MODELS[name][1][0], **QUICK, **options)


def test_labels_of_one_class_are_refused(models: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="labels say nothing"):
        sc.compile(models["inliers"], method="proto", X=CANCER[0], y=CANCER[1], labels=0.5, **QUICK)
    with pytest.raises(OptionError, match="learns from numbers"):
        words = np.array(["a"] * len(DIABETES[0]))
        sc.compile(models["value"], method="proto", X=DIABETES[0], y=words, labels=0.5, **QUICK)


def test_rows_must_be_finite(models: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="no row whose values are all finite"):
        sc.compile(models["two"], method="proto", X=np.full((3, 30), np.nan), **QUICK)


def test_nibbles_can_be_asked_for_where_the_precision_is_another_option(tmp_path: Path) -> None:
    """A command looks at the options of the method before it fills in the precision."""
    skops.io.dump(MODELS["votes"][0].fit(*DIGITS), tmp_path / "m.skops")
    np.savez(tmp_path / "d.npz", X=DIGITS[0])
    settings = ("max_bytes=2048", "projection=nibbles", "steps=50", "synthetic_rows=0")
    command = [sys.executable, "-m", "svmcompile", "compile", "m.skops", "-o", "o", "--data", "d.npz"]
    command += [
        "--method",
        "proto",
        "--precision",
        "q7",
        *(word for one in settings for word in ("--set", one)),
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert sc.Program.load(tmp_path / "o" / "m.svmc").origin.details["four_bits"]

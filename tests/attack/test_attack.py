"""The attack that `make attack` runs for longer, and what it would find."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

import svmcompile as sc
from tests.attack.attack import Case, Tally, attack, compiled, draw_case, rows_of, save, wrong_rows
from tests.attack.machines import Machine
from tests.attack.reference import has_digits, possible, sums

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(not has_digits(), reason="longdouble has no more digits than double here"),
]
SECONDS = 5


def moons() -> Case:
    X, y = make_moons(120, noise=0.25, random_state=0)
    return Case(Machine(SVC(C=5.0, gamma=1.0).fit(X, y), X, "two", {}), "certified", {}, "portable", "f32")


def test_no_label_is_wrong_within_some_seconds() -> None:
    tally, end = Tally(), time.monotonic() + SECONDS
    for _ in attack(2, count(), tally, most=400):
        if time.monotonic() > end and tally.rows:
            break
    assert tally.rows and not tally.wrong, tally
    assert "0 labels wrong" in tally.text() and "at 95 %" in tally.text()


def test_the_attack_finds_wrong_labels_and_saves_them(tmp_path: Path) -> None:
    """The exact sum in float32 makes no promise, and breaks it."""
    case = moons()
    rows, edge = rows_of(case, np.random.default_rng(0), 600)
    assert edge == 300
    wrong, _ = wrong_rows(case, sc.compile(case.machine.model), rows, tmp_path / "model")
    assert 10 < len(wrong) < edge and wrong.max() < edge
    told = save(case, rows[wrong], 7, 3, tmp_path)
    assert (
        "--seed 7 --case 3" in told and "--seed 7 --case 3" in (tmp_path / "7-3" / "case.txt").read_text()
    )
    assert len(np.load(tmp_path / "7-3" / "wrong_rows.npy")) == len(wrong)


def test_cases_depend_on_seed_and_number_alone() -> None:
    for number in range(3):
        first, again = draw_case(5, number), draw_case(5, number)
        assert first.text() == again.text() != draw_case(6, number).text()
        assert (first.machine.X == again.machine.X).all()


MODELS = {
    "two": SVC(gamma=0.4),
    "several": SVC(gamma=0.4),
    "scaled": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=3, coef0=1.0)),
    "rest": OneVsRestClassifier(SVC(gamma=0.4)),
    "one": OneClassSVM(nu=0.3, gamma=0.4),
}


@pytest.mark.parametrize("kind", MODELS)
def test_reference_has_the_labels_of_the_original(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    if kind == "two":
        X, y = X[y > 0], y[y > 0]
    model = MODELS[kind].fit(X, y)
    rows = X + np.random.default_rng(0).normal(size=X.shape)
    labels = model.predict(rows)
    assert possible(model, rows, labels).all()
    others = np.roll(np.unique(labels), 1)[np.searchsorted(np.unique(labels), labels)]
    assert not possible(model, rows, others).any()
    values, slack = sums(model, rows)
    assert (slack > 0).all() and (slack < 1e-9 * (1 + np.abs(values))).all()


def test_labels_within_rounding_are_possible() -> None:
    """Where the sum is zero to the last digit, either label is the original's."""
    case = moons()
    rows, edge = rows_of(replace(case, precision="f64"), np.random.default_rng(0), 100)
    values, slack = (part[:edge, 0] for part in sums(case.machine.model, rows))
    near = np.abs(values) <= slack
    assert near.any() and not near.all()
    for label in (0, 1):
        either = possible(case.machine.model, rows[:edge], np.full(edge, label))
        assert (either == (near | ((values < 0) == label))).all()


@pytest.mark.parametrize(("form", "precision"), [("portable", "f32"), ("host", "f64"), ("onnx", "f64")])
def test_unscaled_features_keep_their_digits(tmp_path: Path, form: str, precision: str) -> None:
    """Two far clouds and a kernel narrow beside their distance: the double sum needs differences."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 4)), np.arange(120) % 2
    X += 0.7 * y[:, None]
    X[:, 0] = random.choice([0.0, 3000.0], size=120)
    X = X.astype(np.float32).astype(np.float64)
    machine = Machine(SVC(C=10.0, gamma=1.0).fit(X, y), X, "two", {})
    case = Case(
        machine, "certified", {"force": True, "sample": 100, "order": 1, "leaves": 1}, form, precision
    )
    rows, edge = rows_of(case, np.random.default_rng(1), 2000)
    program = compiled(case)
    assert program and edge == 1000
    assert not len(wrong_rows(case, program, rows, tmp_path)[0])

"""Centring: features with a large mean cost no accuracy in float32, and would without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from programs.strategies import origin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.lower import lower
from svmcompile.optimise.centre import centre_kernels

Array = NDArray[Any]
MEANS = (0, 10, 100, 1000, 10000)
GRID = 64  # rows on a grid of 1/64 are float32 numbers at every one of the means
SPREAD = 3.0


def blobs(mean: float) -> tuple[Array, Array, Array]:
    """Training rows, labels and test rows; the same points about any mean."""
    random = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = random.normal(size=(3, 6))[y] + random.normal(size=(300, 6))
    rows = random.normal(size=(2000, 6)) * 1.5
    return np.round(X * GRID) / GRID + mean, y, np.round(rows * GRID) / GRID + mean


def error(model: Any, rows: Array) -> float:
    """The worst error of the float32 program on float32 rows, over scikit-learn's largest score."""
    assert (rows.astype(np.float32) == rows).all()
    machine, truth = lower(sc.compile(model), "f32"), model.decision_function(rows)
    return float(np.abs(machine.decision_function(rows) - truth).max() / np.abs(truth).max())


MODELS = {
    "rbf": lambda: SVC(gamma=0.2, decision_function_shape="ovo"),
    "linear": lambda: SVC(kernel="linear", decision_function_shape="ovo"),
    "scaled-rbf": lambda: make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
    "scaled-poly": lambda: make_pipeline(
        StandardScaler(), SVC(kernel="poly", coef0=1, decision_function_shape="ovo")
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_of_the_features_does_not_matter(name: str) -> None:
    errors = []
    for mean in MEANS:
        X, y, rows = blobs(mean)
        errors.append(error(MODELS[name]().fit(X, y), rows))
    assert max(errors) <= SPREAD * min(errors), errors


def test_the_slopes_of_a_linear_machine_are_no_centre() -> None:
    """Tiny features make large slopes; subtracting those from a row would drown it."""
    X, y, rows = blobs(0)
    model = LinearSVC().fit(X, y)
    model.coef_ *= 2.0**30
    assert error(model, rows * 2.0**-30) < 1e-6


def uncentred(model: SVC, width: int) -> Program:
    """The model's program with a scaling that does nothing where centring would be."""
    tables = {
        "s": np.zeros(width), "f": np.ones(width), "o": np.zeros(width),
        "v": model.support_vectors_, "w": model.dual_coef_, "b": model.intercept_,
    }  # fmt: skip
    body = (
        ir.Scale("z", "x", "s", "f", "o"),
        ir.KernelSum("k", "z", "v", "w", "b", Kernel("rbf", model.gamma)),
        ir.Threshold("label", "k", True, 1, 0),
    )
    outputs = (Output("scores", "k"), Output("label", "label"))
    return check(Program(Input(width), body, outputs, tables, Labels((0, 1), "<i8"), origin()))


def test_without_centring_labels_are_wrong() -> None:
    X, y, rows = blobs(1000)
    model = SVC(gamma=0.2).fit(X, y == 2)
    program = uncentred(model, X.shape[1])
    truth = model.predict(rows).astype(int)
    assert (program.predict(rows) == truth).all()
    assert (lower(program, "f32").predict(rows) != truth).sum() > 10
    assert (lower(centre_kernels(program), "f32").predict(rows) == truth).all()


def test_centred_vectors_are_about_zero_and_the_shift_is_float32() -> None:
    X, y, _ = blobs(1000)
    program = centre_kernels(uncentred(SVC(gamma=0.2).fit(X, y == 2), X.shape[1]))
    scale, sums = program.body[0], program.body[1]
    assert isinstance(scale, ir.Scale) and isinstance(sums, ir.KernelSum)
    shift = program.tables[scale.shift]
    assert (shift.astype(np.float32) == shift).all()
    assert not program.tables[scale.offset].any()
    assert np.abs(program.tables[sums.vectors].mean(axis=0)).max() < 1e-4


def test_a_feature_that_does_not_count_stays_so() -> None:
    """Factor zero: no shift can move that feature, so its vectors stay where they are."""
    tables = {
        "s": np.zeros(2), "f": np.array([1.0, 0.0]), "o": np.array([0.0, 3.0]),
        "v": np.array([[7.0, 3.5], [9.0, 2.0]]), "w": np.ones((1, 2)), "b": np.zeros(1),
    }  # fmt: skip
    body = (ir.Scale("z", "x", "s", "f", "o"), ir.KernelSum("k", "z", "v", "w", "b", Kernel("rbf", 0.3)))
    program = check(Program(Input(2), body, (Output("value", "k"),), tables, None, origin()))
    rows = np.array([[8.0, 1e6], [7.0, -5.0]])
    np.testing.assert_allclose(centre_kernels(program).predict(rows), program.predict(rows), rtol=1e-14)

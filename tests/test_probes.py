"""Probe rows: float32 numbers in input space, the same every time, half of them at the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.flow.program import FEW, MANY, WIDE, probe_rows
from svmcompile.ir.program import Program
from svmcompile.model.front import scale
from svmcompile.model.svm import SVM
from svmcompile.optimise import optimise
from svmcompile.read import read

X, Y = load_iris(return_X_y=True)
MODELS = {
    "svc": SVC(),
    "linear": LinearSVC(),
    "one-class": OneClassSVM(nu=0.3),
    "standard": make_pipeline(StandardScaler(), SVC()),
    "two-scalers": make_pipeline(MinMaxScaler((-3, 5), clip=True), StandardScaler(), SVC(kernel="poly")),
    "regression": SVR(),
}


def made(model: Any, data: Data | None = None) -> tuple[Program, SVM]:
    svm = read(model)
    program = optimise(accelerate(svm, data, "exact", {}))
    return program.replace(probes=probe_rows(program, svm, data)), svm


@pytest.mark.parametrize("with_data", [False, True], ids=["vectors", "data"])
@pytest.mark.parametrize("name", MODELS)
def test_shape_type_and_determinism(name: str, with_data: bool) -> None:
    model = MODELS[name].fit(X, Y)
    data = Data(X, None) if with_data else None
    program, svm = made(model, data)
    probes = program.probes
    assert probes.shape[1] == 4 and 1 <= len(probes) <= MANY
    assert np.isfinite(probes).all()
    assert (probes.astype(np.float32) == probes).all()
    np.testing.assert_array_equal(probe_rows(program, svm, data), probes)


@pytest.mark.parametrize("name", ["svc", "standard", "two-scalers"])
def test_some_rows_are_at_the_boundary(name: str) -> None:
    """A small step from these rows changes the label."""
    program, _ = made(MODELS[name].fit(X, Y), Data(X, None))
    assert len(program.probes) == MANY
    steps = np.random.default_rng(0).normal(size=(200, 4)) * 0.02
    labels = program.predict(program.probes)
    near = [
        (program.predict(row + steps) != label).any()
        for row, label in zip(program.probes, labels, strict=True)
    ]
    assert sum(near) >= MANY // 2
    assert len(set(labels)) >= 2


@pytest.mark.parametrize("name", ["standard", "two-scalers"])
def test_without_data_the_vectors_go_back_through_the_scalers(name: str) -> None:
    program, _ = made(MODELS[name].fit(X, Y))
    assert (program.probes >= X.min(axis=0) - 1e-5).all()
    assert (program.probes <= X.max(axis=0) + 1e-5).all()


def test_wide_rows_are_few() -> None:
    random = np.random.default_rng(0)
    wide = random.normal(size=(60, WIDE + 1))
    program, _ = made(SVC().fit(wide, np.arange(60) % 2))
    assert program.probes.shape == (FEW, WIDE + 1)


def test_rows_that_are_not_finite_are_left_out() -> None:
    spoilt = X.copy()
    spoilt[::3, 0] = np.nan
    program, svm = made(SVC().fit(X, Y))
    assert np.isfinite(probe_rows(program, svm, Data(spoilt, None))).all()
    assert probe_rows(program, svm, Data(np.full((5, 4), np.inf), None)).shape == (0, 4)
    assert len(probe_rows(program, svm, Data(X[:0], None))) == MANY  # no rows: the vectors


def test_a_feature_that_is_switched_off_costs_no_probes() -> None:
    svm = read(SVC().fit(X, Y))
    scaling = scale(np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]))
    scaled = SVM(
        svm.kernel, svm.vectors, svm.coefficients, svm.intercepts, svm.label_rule, svm.source, svm.labels,
        svm.counts, front=scaling,
    )  # fmt: skip
    program = optimise(accelerate(scaled, None, "exact", {}))
    probes = probe_rows(program, scaled, None)
    assert len(probes) and np.isfinite(probes).all()


def test_compile_stores_them() -> None:
    digits, y = load_digits(return_X_y=True)
    program = sc.compile(SVC().fit(digits[:200], y[:200]))
    assert program.probes.shape == (MANY, 64)
    assert sc.compile(SVC().fit(digits[:200], y[:200])) == program

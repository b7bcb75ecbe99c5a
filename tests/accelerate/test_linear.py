"""linear: one function per sum, fitted to the SVM's values whatever the head, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits, moons, svm_of, wave
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_regression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.fitting.linear import ridge_path
from svmcompile.choose.candidates import candidates
from svmcompile.choose.wishes import read_wishes
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.program import Claim


def compiled(model: Any, X: Any, **options: Any) -> Any:
    return sc.compile(model, method="linear", X=X, **options)


def agreement(model: Any, program: Any, X: Any) -> float:
    return float(np.mean(program.predict(X) == model.predict(X)))


def test_one_dot_product_and_no_kernel_values() -> None:
    X, _, model = moons()
    program = compiled(model, X)
    assert program.claim is Claim.APPROXIMATE
    assert program.cost(X).max_kernel_evaluations == 0
    assert sum(isinstance(node, ir.Affine) for node in program.body) == 1
    details = program.origin.details
    assert abs(details["held_out_agreement"] - agreement(model, program, X)) < 0.02
    assert len(details["tried"]) == 6 and details["rows"] == 400


def test_every_pair_of_classes_has_its_own_function() -> None:
    X, _, model = digits()
    program = compiled(model, X[:600])
    assert program.tables["weights"].shape == (45, 64)
    assert agreement(model, program, X[600:]) > 0.97
    assert program.decision_function(X[600:]).shape == model.decision_function(X[600:]).shape


@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(SVC(gamma=0.1)),
        OneVsOneClassifier(SVC(gamma="scale")),
        CalibratedClassifierCV(SVC(gamma=0.1), ensemble=False),
        CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC(gamma=0.1)), cv=2),
    ],
    ids=["one-vs-rest", "one-vs-one", "calibrated", "parts"],
)
def test_wrappers_keep_their_heads(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    program = compiled(model, X, probabilities="anyway")
    assert agreement(model, program, X) > 0.8  # one against the rest: no line separates the middle class
    if hasattr(model, "predict_proba"):
        assert np.abs(program.predict_proba(X) - model.predict_proba(X)).mean() < 0.1


def test_regressors_and_one_class_machines() -> None:
    X, y = make_regression(200, 5, noise=1.0, random_state=0)
    model = make_pipeline(MinMaxScaler(), SVR(C=1000.0, gamma=0.05)).fit(X, y)
    values = model.predict(X)
    program = compiled(model, X)
    assert np.abs(program.predict(X) - values).mean() < 0.02 * values.std()
    X, _, model = wave()  # which no linear function follows: the best is nearly flat
    assert np.abs(compiled(model, X).predict(X)).max() < np.abs(model.predict(X)).max()
    X = digits()[0]
    one = OneClassSVM(gamma=0.01, nu=0.2).fit(X)
    assert agreement(one, compiled(one, X), X) > 0.75


def test_a_linear_machine_is_kept_as_it_is() -> None:
    X, y, _ = moons()
    for model in (SVC(kernel="linear").fit(X, y), LinearSVC().fit(X, y)):
        program = compiled(model, X[:50])
        np.testing.assert_allclose(program.decision_function(X), model.decision_function(X), atol=1e-9)
        assert any("method exact computes the same function" in note for note in program.origin.notes)


@pytest.mark.parametrize("weights", ["even", "boundary"])
def test_the_fit_is_the_least_squares_solution(weights: str) -> None:
    random = np.random.default_rng(0)
    z, slopes = random.normal(size=(60, 3)) + 5, random.normal(size=(3, 2))
    targets, shares = z @ slopes + [1.0, -2.0], random.uniform(0.1, 1, 60)
    rows = shares if weights == "boundary" else np.ones(60)
    (exact,) = ridge_path(z, targets, rows, (1e-12,))
    np.testing.assert_allclose(exact.values(z), targets, atol=1e-8)
    noisy = targets + random.normal(size=targets.shape)
    (fit,) = ridge_path(z, noisy, rows, (1e-12,))
    A, root = np.hstack([z, np.ones((60, 1))]), np.sqrt(rows)[:, None]
    known = np.linalg.lstsq(A * root, noisy * root, rcond=None)[0]
    np.testing.assert_allclose(fit.values(z), A @ known, atol=1e-7)


def test_options_choose_the_fit() -> None:
    X, _, model = moons()
    even, boundary = (compiled(model, X, weights=name, ridge=0.01) for name in ("even", "boundary"))
    assert even != boundary
    assert len(even.origin.details["tried"]) == 1
    assert compiled(model, X) == compiled(model, X)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"weights": "all"}, "weights='all' is unknown"),
        ({"ridge": -1}, "ridge must be at least 0"),
        ({"ridge": float("inf")}, "ridge is not a finite number"),
        ({"X": None}, "needs data"),
        ({"X": np.full((3, 2), np.nan)}, "no row whose values are all finite"),
    ],
)
def test_options_and_rows_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    X, _, model = moons()
    with pytest.raises(OptionError, match=message):
        compiled(model, **{"X": X, **options})


def test_a_precomputed_kernel_has_no_features() -> None:
    X, y, _ = moons()
    with pytest.raises(UnsupportedError, match="evaluates the kernel itself"):
        compiled(SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T)


def test_few_rows_are_enough() -> None:
    X, _, model = moons()
    program = compiled(model, X[:3])
    assert program.predict(X).shape == (400,)
    assert program.origin.details["held_out_agreement"] is None


@pytest.mark.compile
@pytest.mark.parametrize("target", ["c", "onnx"])
def test_emitted_code_is_the_interpreter(target: str, tmp_path: Any) -> None:
    X, _, model = digits()
    program = compiled(model, X[:600])
    sc.write(sc.emit(program, target, "line", precision="f64"), tmp_path)
    found = sc.load(tmp_path).decision_function(X)
    bound = error_bounds(program, X, "f64").scores
    assert (np.abs(found - program.decision_function(X)) <= 2 * bound).all()


def test_auto_tries_it_unless_labels_must_stay_or_the_kernel_is_linear() -> None:
    X, y, model = moons()
    asked = read_wishes({"agreement": 0.9})
    assert "linear" in {one.method for one in candidates(svm_of(model), asked)}
    linear = svm_of(SVC(kernel="linear").fit(X, y))
    assert "linear" not in {one.method for one in candidates(linear, asked)}
    asked = read_wishes({"same_labels": True})
    assert "linear" not in {one.method for one in candidates(svm_of(model), asked)}


def test_few_wide_rows_are_fitted_by_their_products(monkeypatch):
    random = np.random.default_rng(5)
    z, targets, weights = random.normal(size=(30, 80)), random.normal(size=(30, 2)), random.random(30) + 0.1
    wanted = ridge_path(z, targets, weights, (1e-3, 0.1))
    monkeypatch.setattr("svmcompile.accelerate.fitting.linear.WIDE", 10)
    found = ridge_path(z, targets, weights, (1e-3, 0.1))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-8)
        np.testing.assert_allclose(one.bias, other.bias, rtol=0, atol=1e-8)

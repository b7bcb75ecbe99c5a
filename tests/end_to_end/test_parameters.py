"""Estimators with parameters drawn at random: each compiles, and means what scikit-learn means.

The draws are the same on every run (HYPOTHESIS_PROFILE=random makes new ones), and their number is fixed.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import svmcompile as sc
from svmcompile.api import open_model
from svmcompile.ir.bounds import error_bounds
from svmcompile.verification.differential import Backend, compare

DIGITS, NUMBERS = load_digits(return_X_y=True)
PIXELS = [18, 20, 21, 26, 28, 33, 36, 42, 43, 53]  # some that tell digits apart
N_ROWS = 2000
FEW_ROWS = 200  # where probabilities are compared, whose coupling takes numpy long


def data_of(n_classes, n_features, seed):
    """Rows of some digits, scaled, with the labels 0 to n - 1; few enough to train at once."""
    random = np.random.default_rng(seed)
    rows = np.concatenate(
        [random.choice(np.flatnonzero(one == NUMBERS), 24, replace=False) for one in range(n_classes)]
    )
    return DIGITS[rows][:, PIXELS[:n_features]] / 16, NUMBERS[rows]


def jittered(X, count, seed):
    """Rows like those of the set: real ones moved a little, and some the whole way to another."""
    random = np.random.default_rng(seed)
    first, second = X[random.integers(len(X), size=(2, count))]
    share = np.where(random.random(count) < 0.5, 0.0, random.random(count))[:, np.newaxis]
    return first + share * (second - first) + 0.05 * random.normal(size=first.shape)


@st.composite
def kernels(draw):
    return {
        "kernel": draw(st.sampled_from(["linear", "poly", "rbf", "sigmoid"])),
        "gamma": draw(st.sampled_from(["scale", "auto", 0.01, 0.3, 1.0, 8.0])),
        "degree": draw(st.integers(1, 5)),
        "coef0": draw(st.sampled_from([-0.5, 0.0, 0.5, 2.0])),
    }


@st.composite
def classifiers(draw):
    """SVC or NuSVC of 2 to 10 classes, either shape, ties broken or not, some with probabilities."""
    shape, ties = draw(st.sampled_from([("ovr", False), ("ovo", False), ("ovr", True)]))
    shared = draw(kernels()) | {"decision_function_shape": shape, "break_ties": ties}
    if draw(st.integers(0, 3)) == 0:
        shared |= {"probability": True, "random_state": 0}
    if draw(st.booleans()):
        estimator = SVC(C=draw(st.sampled_from([0.1, 1.0, 50.0])), **shared)
    else:
        estimator = NuSVC(nu=draw(st.sampled_from([0.05, 0.2, 0.5])), **shared)
    return _fitted(draw, estimator, draw(st.integers(2, 10)))


@st.composite
def others(draw):
    """Regressors and one-class models."""
    shared = draw(kernels())
    kind = draw(st.sampled_from([SVR, NuSVR, OneClassSVM]))
    if kind is not SVR:
        shared["nu"] = draw(st.sampled_from([0.1, 0.5, 0.9]))
    return _fitted(draw, kind(**shared), 4)


def _fitted(draw, estimator, n_classes):
    seed = draw(st.integers(0, 1000))
    X, y = data_of(n_classes, draw(st.integers(2, len(PIXELS))), seed)
    labels = np.random.default_rng(seed).permutation(100)[:n_classes] - 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that training was cut short does not matter here
        try:
            estimator.set_params(max_iter=20_000).fit(X, labels[y])
        except ValueError:  # scikit-learn finds its own result not finite
            reject()
    assume(np.abs(estimator.dual_coef_).max() < 1e6)  # a NuSVC that did not converge can be all rounding
    return estimator, X, seed


def report_of(case, n_rows, precision, backends):
    """The estimator and its compiled forms on rows like those it was trained on."""
    estimator, X, seed = case
    program = sc.compile(estimator)
    built = [Backend(name, precision, runner) for name, runner in backends(program).items()]
    original = open_model(estimator).reference()
    return compare(str(estimator), program, original, built, jittered(X, n_rows, seed))


def assert_same(case):
    """Labels without exception where rounding cannot decide, and scores within its bound.

    A kernel that saturates on these rows leaves all of them to rounding, so their number is not judged.
    """
    n_rows = FEW_ROWS if hasattr(case[0], "predict_proba") else N_ROWS
    report = report_of(case, n_rows, "f64", lambda program: {"interpreter": program})
    assert report.ok, report


def assert_same_probabilities(case):
    """To 1e-6, where rounding cannot change how often LIBSVM's coupling goes round."""
    estimator, X, seed = case
    if not hasattr(estimator, "predict_proba"):
        return
    program, rows = sc.compile(estimator), jittered(X, FEW_ROWS, seed)
    steady = np.isfinite(error_bounds(program, rows, "f64").probabilities).all(axis=1)
    error = np.abs(program.predict_proba(rows) - estimator.predict_proba(rows))[steady]
    assert steady.mean() > 0.9 and error.max() <= 1e-6, estimator


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(classifiers())
def test_classifiers_mean_the_same(case):
    assert_same(case)
    assert_same_probabilities(case)


@settings(max_examples=40, deadline=None)
@given(others())
def test_regressors_and_one_class_mean_the_same(case):
    assert_same(case)


@pytest.mark.compile
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=st.one_of(classifiers(), others()), precision=st.sampled_from(["f32", "f64"]))
def test_c_and_onnx_mean_the_same(case, precision, tmp_path):
    def built(program):
        sc.write(sc.emit(program, ("c", "onnx"), "m", precision, "portable"), tmp_path / "out")
        return {one: sc.load(tmp_path / "out", target=one) for one in ("c", "onnx")}

    report = report_of(case, N_ROWS // 4, precision, built)
    assert report.ok, report

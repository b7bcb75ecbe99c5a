"""Kernels by scikit-learn's names and functions: KernelRidge, SVC and SVR on 10,000 rows each."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import skops.io
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.registry import METHODS
from svmcompile.errors import EmitError, OptionError, ReadError, UnsupportedError, VerifyError
from svmcompile.read import read
from svmcompile.read.sklearn.pairwise import FUNCTIONS, NAMES

RANDOM = np.random.default_rng(0)
X = RANDOM.random((90, 4))
T, Y = X[:, 0] + np.sin(6 * X[:, 1]), (3 * X[:, 0]).astype(int)
ROWS = np.vstack([np.zeros((1, 4)), X, RANDOM.random((9_909, 4))])


@pytest.mark.parametrize("scaled", [False, True], ids=["alone", "scaled"])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_ridge(name, scaled):
    estimator = KernelRidge(kernel=name, gamma=0.8, alpha=0.1)
    estimator = make_pipeline(MinMaxScaler(clip=True), estimator) if scaled else estimator
    estimator.fit(X, T)
    np.testing.assert_allclose(sc.compile(estimator).predict(ROWS), estimator.predict(ROWS), atol=1e-11)


def test_a_gamma_that_was_not_given():
    for name in ("poly", "rbf", "laplacian", "sigmoid"):
        estimator = KernelRidge(kernel=name).fit(X, T)
        np.testing.assert_allclose(sc.compile(estimator).predict(ROWS), estimator.predict(ROWS), atol=1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM], ids=lambda kind: kind.__name__)
def test_functions_of_scikit_learn(kind, name):
    estimator = kind(kernel=getattr(pairwise, name)).fit(X, T if kind is SVR else Y)
    program = sc.compile(estimator)
    if kind is SVR:
        np.testing.assert_allclose(program.predict(ROWS), estimator.predict(ROWS), atol=1e-11)
        return
    scores = estimator.decision_function(ROWS)
    np.testing.assert_allclose(program.decision_function(ROWS), scores, atol=1e-11)
    sure = np.ones(len(ROWS), bool) if kind is SVC else np.abs(scores) > 1e-11
    np.testing.assert_array_equal(program.predict(ROWS)[sure], estimator.predict(ROWS)[sure])


def test_functions_with_settings_and_in_skops_files(tmp_path):
    estimator = SVR(kernel=partial(pairwise.laplacian_kernel, gamma=0.7)).fit(X, T)
    np.testing.assert_allclose(sc.compile(estimator).predict(ROWS), estimator.predict(ROWS), atol=1e-11)
    estimator = SVR(kernel=pairwise.chi2_kernel).fit(X, T)
    skops.io.dump(estimator, tmp_path / "a.skops")
    program = sc.compile(tmp_path / "a.skops")
    np.testing.assert_allclose(program.predict(ROWS), estimator.predict(ROWS), atol=1e-11)


def test_a_precomputed_kernel():
    estimator = KernelRidge(kernel="precomputed").fit(pairwise.rbf_kernel(X), T)
    rows = pairwise.rbf_kernel(ROWS, X)
    np.testing.assert_allclose(sc.compile(estimator).predict(rows), estimator.predict(rows), atol=1e-11)


RBF_MACHINES = {
    "ridge": KernelRidge(kernel="rbf", gamma=2.0),
    "process": GaussianProcessRegressor(RBF(0.5), alpha=0.1, optimizer=None),
    "target": TransformedTargetRegressor(SVR(gamma=2.0), transformer=StandardScaler()),
}
FOR_VALUES = {
    "reduced-set": {}, "metric-tree": {}, "sv-tree": {}, "linear": {}, "proto": {"steps": 50},
}  # fmt: skip
FOR_CLASSES = {
    "certified": "has no label to be certain of",
    "anytime": "give the precision of its value",
    "h1-tree": "a regressor has none",
    "dtsvm": "is for classifiers",
}


@pytest.mark.parametrize("name", RBF_MACHINES)
def test_rbf_machines_of_one_value_are_machines_as_any_other(name):
    estimator = RBF_MACHINES[name].fit(X, T)
    wanted = estimator.predict(X)
    tight = sc.compile(estimator, method="anytime", tolerance=1e-3, force=True)
    assert np.abs(tight.predict(ROWS) - estimator.predict(ROWS)).max() <= 1e-3
    assert {*FOR_VALUES, *FOR_CLASSES, "exact"} == {*METHODS}
    for method, options in FOR_VALUES.items():
        found = sc.compile(estimator, method=method, X=X, **options).predict(X)
        assert np.square(found - wanted).mean() < 0.5 * wanted.var(), method
    for method, says in FOR_CLASSES.items():
        with pytest.raises((UnsupportedError, OptionError), match=says):
            sc.compile(estimator, method=method, X=X)


def test_other_methods_and_targets_refuse_by_name():
    estimator = SVC(kernel=pairwise.laplacian_kernel).fit(X, Y)
    for method in (
        "anytime",
        "certified",
        "reduced-set",
        "sv-tree",
        "metric-tree",
        "linear",
        "h1-tree",
        "dtsvm",
    ):
        with pytest.raises(UnsupportedError, match=f"{method}.*laplacian kernel.*exact"):
            sc.compile(estimator, method=method, X=X, y=Y)
    program = sc.compile(estimator)
    for target in ("blob", "sql"):
        with pytest.raises(EmitError, match="DifferenceSum"):
            sc.emit(program, target, "m")
    with pytest.raises(EmitError, match="constant_time"):
        sc.emit(sc.compile(estimator, constant_time=True), "c", "m", profile="portable")
    with pytest.raises(UnsupportedError, match="chi2 kernel has no form in fixed point"):
        sc.emit(sc.compile(KernelRidge(kernel="chi2", gamma=1).fit(X, T)), "c", "m", "q15", "device", X=X)


def test_verify_says_what_the_original_refuses(tmp_path):
    estimator = KernelRidge(kernel="chi2", gamma=1.0).fit(X, T)
    sc.write(sc.emit(sc.compile(estimator), "onnx", "m"), tmp_path)
    with pytest.raises(VerifyError, match=r"the original refuses these rows: .*negative"):
        sc.verify(tmp_path, estimator, X - 0.5)


def test_labels_that_are_certain():
    estimator = SVC(kernel=pairwise.laplacian_kernel).fit(X, Y)
    program = sc.compile(estimator, labels="certain")
    np.testing.assert_array_equal(program.predict(ROWS), estimator.predict(ROWS))


def test_refused():
    for kernel in (lambda a, b: a @ b.T, pairwise.euclidean_distances, partial(pairwise.rbf_kernel, Y=X)):
        with pytest.raises(UnsupportedError, match="Python function"):
            read(_with_kernel(kernel))
    estimator = KernelRidge(kernel="rbf").fit(X, T)
    estimator.kernel = "other"
    with pytest.raises(UnsupportedError, match="kernel 'other' cannot be compiled"):
        read(estimator)
    assert read(KernelRidge(kernel="laplacian", degree=2.5).fit(X, T)).kernel.kind == "laplacian"
    estimator = KernelRidge(kernel="poly", degree=2.5).fit(X, T)
    with pytest.raises(UnsupportedError, match=r"degree 2\.5"):
        read(estimator)
    estimator = KernelRidge(kernel="laplacian", gamma=1.0).fit(X, T)
    estimator.gamma = -1.0
    with pytest.raises(ReadError, match="needs zero or more"):
        read(estimator)
    estimator = _with_kernel(pairwise.rbf_kernel)
    estimator.support_ = estimator.support_ + 90
    with pytest.raises(ReadError, match="numbers of 90 rows"):
        read(estimator)


def _with_kernel(kernel):
    estimator = SVR(kernel=pairwise.rbf_kernel).fit(X, T)
    estimator.kernel = kernel
    return estimator

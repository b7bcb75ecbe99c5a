"""Gaussian processes of scikit-learn: means, deviations, labels and probabilities on 10,000 rows each."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError, ReadError, UnsupportedError
from svmcompile.ir.bounds import error_bounds
from svmcompile.read import read

pytestmark = pytest.mark.filterwarnings("ignore")  # of training that did not converge
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3))
T = 5 + np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RANDOM.normal(size=40)
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
ROWS = np.vstack([X, 1.3 * RANDOM.normal(size=(9_960, 3))])
NOISE = WhiteKernel(0.1)
STATIONARY = {
    "rbf": RBF() + NOISE,
    "rbf-lengths": 1.5 * RBF([1.0, 2.0, 0.7]) + NOISE,
    "matern-1": Matern(nu=0.5) + NOISE,
    "matern-3-lengths": 2.0 * Matern([1.0, 2.0, 3.0], nu=1.5) + NOISE,
    "matern-5": Matern(nu=2.5) + NOISE,
    "matern-inf": Matern(nu=np.inf) + NOISE,
    "rational": RationalQuadratic(alpha=0.7) + NOISE,
    "two-kernels": RBF(0.5) + 2.0 * Matern(nu=1.5) + ConstantKernel(3.0) + NOISE,
    "product": RBF(1.0) * RBF([1.0, 2.0, 3.0]) * ConstantKernel(2.0) + NOISE,
    "product-of-sums": (RBF(1.0) + ConstantKernel(1.0)) * ConstantKernel(2.0) + NOISE,
    "noise-times": ConstantKernel(2.0) * WhiteKernel(0.2) + RBF(1.0) ** 2,
    "constant": ConstantKernel(1.0) + NOISE,
}
OTHERS = {
    "dots": DotProduct() + NOISE,
    "dots-squared": 0.5 * DotProduct(0.3) ** 2 + NOISE,
    "dots-and-rbf": DotProduct() * DotProduct() + RBF(1.0) + NOISE,
}


def regressor(kernel, **options):
    return GaussianProcessRegressor(kernel, optimizer=None, **options).fit(X, T)


@pytest.mark.parametrize("name", STATIONARY)
def test_means_and_deviations(name):
    for options in ({}, {"normalize_y": True, "alpha": 1e-6}):
        estimator = regressor(STATIONARY[name], **options)
        program = sc.compile(estimator)
        mean, deviation = estimator.predict(ROWS, return_std=True)
        np.testing.assert_allclose(program.predict(ROWS), mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(program.predict_std(ROWS), deviation, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", OTHERS)
def test_means_alone(name):
    estimator = regressor(OTHERS[name])
    program = sc.compile(estimator)
    np.testing.assert_allclose(program.predict(ROWS), estimator.predict(ROWS), rtol=1e-9, atol=1e-9)
    assert any("not stationary" in note for note in program.origin.notes)
    with pytest.raises(UnsupportedError, match="no standard deviations"):
        program.predict_std(ROWS)


def test_fitted_lengths_behind_a_scaler(tmp_path):
    estimator = make_pipeline(StandardScaler(), GaussianProcessRegressor(RBF([1.0, 1.0, 1.0]) + NOISE))
    estimator.fit(10 + 3 * X, T)
    mean, deviation = estimator.predict(10 + 3 * ROWS, return_std=True)
    skops.io.dump(estimator, tmp_path / "a.skops")
    program = sc.compile(tmp_path / "a.skops")
    np.testing.assert_allclose(program.predict(10 + 3 * ROWS), mean, atol=1e-8)
    np.testing.assert_allclose(program.predict_std(10 + 3 * ROWS), deviation, atol=1e-8)


CLASSIFIERS = {
    "default": None,
    "rbf-lengths": 1.0 * RBF([1.0, 2.0, 3.0]),
    "matern": Matern(nu=1.5),
    "two-kernels": RBF(1.0) + 0.5 * Matern(nu=0.5) + ConstantKernel(0.2),
}


@pytest.mark.parametrize("labels", [[0, 1, 1], ["a", "b", "c"]], ids=["two", "three"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, labels):
    estimator = GaussianProcessClassifier(CLASSIFIERS[name], optimizer=None).fit(X, np.array(labels)[Y])
    program = sc.compile(estimator)
    np.testing.assert_array_equal(program.predict(ROWS), estimator.predict(ROWS))
    np.testing.assert_allclose(program.predict_proba(ROWS), estimator.predict_proba(ROWS), atol=1e-10)
    assert read(estimator).source.kind.count("GaussianProcessClassifier") == 1


def test_classifiers_in_wrappers_and_with_kernels_that_are_not_stationary():
    two = (Y > 0).astype(int)
    estimator = CalibratedClassifierCV(GaussianProcessClassifier(RBF(1.0), optimizer=None), cv=2).fit(
        X, two
    )
    program = sc.compile(estimator)
    np.testing.assert_allclose(program.predict_proba(ROWS), estimator.predict_proba(ROWS), atol=1e-8)
    estimator = GaussianProcessClassifier(DotProduct(), optimizer=None).fit(X, two)
    program = sc.compile(estimator)
    np.testing.assert_array_equal(program.predict(ROWS), estimator.predict(ROWS))
    assert program.output("probabilities") is None
    with pytest.raises(UnsupportedError, match="decided by them"):
        read(GaussianProcessClassifier(DotProduct(), optimizer=None).fit(X, Y))


def test_labels_of_several_classes_need_the_uncertainty():
    three = GaussianProcessClassifier(RBF(1.0), optimizer=None).fit(X, Y)
    with pytest.raises(OptionError, match="are decided by probabilities of Gaussian processes"):
        sc.compile(three, uncertainty=False)
    two = GaussianProcessClassifier(RBF(1.0), optimizer=None).fit(X, Y > 0)
    assert sc.compile(two, uncertainty=False).output("probabilities") is None


@pytest.mark.compile
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_c_and_onnx(number, tmp_path):
    estimator = regressor(STATIONARY["two-kernels"], normalize_y=True)
    three = GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(X, Y)
    mean, deviation = estimator.predict(ROWS, return_std=True)
    limit = 1e-4 if number == "f32" else 1e-9
    for profile in ("portable", "host"):
        for name, model in (("gaussian", estimator), ("three", three)):
            files = sc.emit(sc.compile(model), ("c", "onnx"), name, number, profile)
            sc.write(files, tmp_path / profile)
        for target in ("c", "onnx"):
            found = sc.load(tmp_path / profile, name="gaussian", target=target)
            np.testing.assert_allclose(found.predict(ROWS), mean, atol=limit)
            np.testing.assert_allclose(found.predict_std(ROWS), deviation, atol=limit)
            nan = found.predict_std(np.full((1, 3), np.nan), allow_nan=True)
            assert np.isnan(nan).all()
            found = sc.load(tmp_path / profile, name="three", target=target)
            np.testing.assert_allclose(found.predict_proba(ROWS), three.predict_proba(ROWS), atol=limit)
    if number == "f64":
        assert (found.predict(ROWS) == three.predict(ROWS)).all()


def test_bounds_of_probabilities_say_something():
    estimator = GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(X, Y)
    program = sc.compile(estimator)
    bounds = error_bounds(program, ROWS[:500], "f32").probabilities
    assert np.isfinite(bounds).all() and np.median(bounds) < 0.01


def test_rbf_processes_are_machines_as_any_other():
    estimator = regressor(STATIONARY["rbf-lengths"])
    program = sc.compile(estimator, method="anytime", tolerance=1e-3, force=True)
    assert np.abs(program.predict(ROWS) - estimator.predict(ROWS)).max() <= 1e-3
    assert program.output("deviation") is None
    estimator = GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(X, Y > 0)
    program = sc.compile(estimator, method="certified", X=X)
    np.testing.assert_array_equal(program.predict(ROWS), estimator.predict(ROWS))
    for method in ("reduced-set", "sv-tree", "metric-tree", "linear", "dtsvm"):
        assert sc.compile(estimator, method=method, X=X, y=Y > 0).output("probabilities") is None


def test_uncertainty_is_left_out_on_demand():
    estimator = regressor(STATIONARY["rbf"])
    program = sc.compile(estimator)
    with pytest.raises(EmitError, match="uncertainty=false"):
        sc.emit(program, "c", "m", profile="device", kit="arduino")
    plain = sc.compile(estimator, uncertainty=False)
    assert plain.output("deviation") is None
    for files in (sc.emit(plain, "c", "m", profile="device", kit="arduino"), sc.emit(plain, "blob", "m")):
        assert files
    assert "predict_std" in str(sc.emit(program, "c", "m")["m.h"])


def test_refused():
    for kernel, message in (
        (ExpSineSquared(), "ExpSineSquared cannot be compiled"),
        (Matern(nu=0.7), "nu=0.7"),
        (RBF(1.0) * Matern(nu=0.5), "product of the kernels rbf and matern"),
        ((RBF(1.0) + Matern()) ** 2, "power 2"),
        (RBF(1.0) ** 1.5, "power 1.5"),
    ):
        estimator = regressor(RBF(1.0) + NOISE)
        estimator.kernel_ = kernel + NOISE
        with pytest.raises(UnsupportedError, match=message.replace(".", r"\.")):
            read(estimator)
    with pytest.raises(UnsupportedError, match="not fitted"):
        read(GaussianProcessRegressor())
    with pytest.raises(UnsupportedError, match="not fitted"):
        read(GaussianProcessClassifier())
    estimator = regressor(RBF(1.0))
    estimator.kernel_ = CompoundKernel([RBF(1.0)])
    with pytest.raises(UnsupportedError, match="CompoundKernel"):
        read(estimator)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("L_", np.zeros((40, 40))),
        ("L_", np.eye(3)),
        ("alpha_", np.ones(3)),
        ("X_train_", np.ones(3)),
        ("kernel_", RBF([1.0, 2.0])),
        ("kernel_", RBF(-1.0)),
        ("kernel_", ConstantKernel(np.nan)),
        ("_y_train_std", np.ones(2)),
    ],
)
def test_damaged(name, value):
    estimator = regressor(RBF(1.0) + NOISE)
    setattr(estimator, name, value)
    with warnings.catch_warnings(), pytest.raises(ReadError):
        read(estimator)


def test_kernels_nested_too_deep():
    kernel = RBF(1.0)
    for _ in range(20):
        kernel = kernel + ConstantKernel(1.0)
    estimator = regressor(RBF(1.0))
    estimator.kernel_ = kernel
    with pytest.raises(UnsupportedError, match="nested too deep"):
        read(estimator)

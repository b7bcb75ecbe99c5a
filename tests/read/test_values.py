"""Regressors of several values, and those made of others: on 10,000 rows each, in C and ONNX too."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_matrix
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, MultiTaskLasso, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR
from typer.testing import CliRunner

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.errors import EmitError, OptionError, ReadError, UnsupportedError
from svmcompile.read import read

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 4))
T = 30 + 10 * np.sin(X[:, 0]) + X[:, 1]
SEVERAL = np.stack([T, T**2 / 50, X[:, 2]], axis=1)
ROWS = RANDOM.normal(size=(10_000, 4))
MANY = {
    "ridge": Ridge(),
    "linear": LinearRegression(fit_intercept=False),
    "tasks": MultiTaskLasso(0.1),
    "kernel-ridge": KernelRidge(kernel="rbf", gamma=0.2),
    "kernel-ridge-laplacian": make_pipeline(StandardScaler(), KernelRidge(kernel="laplacian")),
    "process": GaussianProcessRegressor(RBF() + WhiteKernel(0.1), optimizer=None, normalize_y=True),
    "process-sum": GaussianProcessRegressor(RBF() + Matern() + WhiteKernel(0.1), optimizer=None),
    "each": MultiOutputRegressor(SVR(gamma=0.1)),
    "each-scaled": MultiOutputRegressor(make_pipeline(StandardScaler(), SVR())),
}
VOTES = VotingRegressor([("a", SVR()), ("b", Ridge())])
MADE = {
    "votes": VotingRegressor([("a", SVR()), ("b", Ridge())]),
    "weighed": VotingRegressor([("a", SVR()), ("c", "drop"), ("b", Ridge())], weights=[1, 9, 4]),
    "bag": BaggingRegressor(SVR(gamma=0.1), 3, random_state=0),
    "bag-columns": BaggingRegressor(SVR(), 3, max_features=2, random_state=0),
    "standard": TransformedTargetRegressor(SVR(gamma=0.2), transformer=StandardScaler()),
    "minmax": TransformedTargetRegressor(SVR(), transformer=MinMaxScaler()),
    "robust": TransformedTargetRegressor(SVR(), transformer=RobustScaler()),
    "maxabs": TransformedTargetRegressor(VotingRegressor([("a", SVR())]), transformer=MaxAbsScaler()),
    "exp": TransformedTargetRegressor(SVR(gamma=0.2), func=np.log, inverse_func=np.exp),
    "expm1": TransformedTargetRegressor(VOTES, func=np.log1p, inverse_func=np.expm1),
    "nothing": TransformedTargetRegressor(SVR()),
}


@pytest.mark.parametrize("name", [*MANY, *MADE])
def test_values(name, tmp_path):
    estimator = (MANY | MADE)[name].fit(X, SEVERAL if name in MANY else T)
    wanted = estimator.predict(ROWS)
    skops.io.dump(estimator, tmp_path / "a.skops")
    for source in (estimator, tmp_path / "a.skops"):
        found = sc.compile(source).predict(ROWS)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.compile
@pytest.mark.parametrize("name", ["ridge", "kernel-ridge", "process-sum", "each", "bag", "standard", "exp"])
def test_c_and_onnx(name, tmp_path):
    estimator = (MANY | MADE)[name].fit(X, SEVERAL if name in MANY else T)
    program, wanted = sc.compile(estimator), estimator.predict(ROWS)
    for number, profile in (("f64", "host"), ("f64", "portable"), ("f32", "device")):
        folder = tmp_path / profile
        sc.write(sc.emit(program, ("c", "onnx"), "m", number, profile), folder)
        for target in ("c", "onnx"):
            model = sc.load(folder, target=target)
            limit = 1e-4 if number == "f32" else 1e-9
            np.testing.assert_allclose(model.predict(ROWS), wanted, rtol=limit, atol=limit)
            one = np.concatenate([model.predict(ROWS[at : at + 1]) for at in range(3)])
            np.testing.assert_allclose(one, model.predict(ROWS[:3]), rtol=1e-5)
            if target == "c" and profile != "device":
                assert model.self_test() == 0
                np.testing.assert_allclose(model.predict(csr_matrix(ROWS)), wanted, rtol=1e-9, atol=1e-9)
        assert sc.verify(folder, estimator, ROWS[:500]).claim == "EXACT"


@pytest.mark.compile
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_webassembly(number, tmp_path):
    pytest.importorskip("wasmtime", reason="wasmtime is not installed")
    estimator = MANY["kernel-ridge"].fit(X, SEVERAL)
    sc.write(sc.emit(sc.compile(estimator), "wasm", "m", number), tmp_path)
    model, wanted = sc.load(tmp_path), estimator.predict(ROWS)
    np.testing.assert_allclose(model.predict(ROWS), wanted, atol=1e-4 if number == "f32" else 1e-9)
    assert model.self_test() == 0
    report = sc.verify(tmp_path, estimator, ROWS)
    assert report.ok and [one.backend for one in report.comparisons] == ["interpreter", "wasm"]


def test_a_column_per_value(tmp_path):
    """In files of predictions; and no struct that would not tell how many there are."""
    files = sc.emit(sc.compile(MANY["ridge"].fit(X, SEVERAL)), ("c", "onnx"), "m")
    assert "m_get" not in files["m.h"]
    sc.write(files, tmp_path / "out")
    np.savez(tmp_path / "rows.npz", X=X)
    words = [str(tmp_path / "out"), "--data", str(tmp_path / "rows.npz")]
    told = ["predict", *words, "--target", "onnx", "-o", str(tmp_path / "a.csv")]
    assert CliRunner().invoke(app, told).exit_code == 0
    assert (tmp_path / "a.csv").read_text().startswith("value_0,value_1,value_2\n")
    done = CliRunner().invoke(app, ["bench", *words])
    assert "the model gives 3 values" in str(done.exception)


def test_a_scaled_target_leaves_one_machine():
    estimator = MADE["standard"].fit(X, T)
    assert not read(estimator).head and not read(estimator).parts
    program = sc.compile(estimator, method="anytime", tolerance=0.01, force=True)
    assert np.abs(program.predict(ROWS) - estimator.predict(ROWS)).max() <= 0.01


@pytest.mark.parametrize("name", ["bag", "standard", "exp"])
def test_methods_take_values_made_of_sums(name):
    model = MADE[name].fit(X, T)
    wanted = model.predict(X)
    for method, options in (("reduced-set", {"budget": 40}), ("linear", {}), ("proto", {"steps": 500})):
        found = sc.build(model, X, method=method, **options).predict(X)
        assert np.square(found - wanted).mean() < 0.4 * wanted.var(), method
    with pytest.raises(OptionError, match="a regressor has no labels"):
        sc.compile(model, labels="certain")


def test_refused():
    estimator = MANY["kernel-ridge"].fit(X, SEVERAL)
    program = sc.compile(estimator)
    for target in ("blob", "sql"):
        with pytest.raises(
            EmitError, match=f"target {target} is for one label or value, .* gives 3 values"
        ):
            sc.emit(program, target, "m")
    with pytest.raises(EmitError, match="kit arduino is for one label or value"):
        sc.emit(program, "c", "m", profile="device", kit="arduino")
    for method in ("anytime", "reduced-set", "linear"):
        with pytest.raises(UnsupportedError, match=f"{method}.* is for one label or value"):
            sc.compile(estimator, method=method, X=X)
    with pytest.raises(OptionError, match="gives 3 values"):
        sc.compile(estimator, method="auto", X=X)
    for inverse in ({"func": np.sqrt, "inverse_func": np.square}, {"transformer": PowerTransformer()}):
        with pytest.raises(UnsupportedError, match="the target is transformed by"):
            read(TransformedTargetRegressor(SVR(), **inverse).fit(X, T))
    estimator = MADE["votes"].fit(X, T)
    estimator.estimators_ = [SVC().fit(X, T > 30)]
    with pytest.raises(UnsupportedError, match="does not give one value"):
        read(estimator)
    estimator = MADE["standard"].fit(X, T)
    estimator.transformer_.scale_ = np.array([np.nan])
    with pytest.raises(ReadError, match="no number"):
        read(estimator)

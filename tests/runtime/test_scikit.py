"""Compiled models in scikit-learn: names, pipelines, cross-validation, copies and pickles."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError, UnsupportedError

pytestmark = pytest.mark.compile
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
TARGETS = ("c", "onnx", "wasm", "blob")


@pytest.fixture(scope="module")
def svc() -> SVC:
    return SVC(probability=True, random_state=0).fit(X, NAMES[Y])


@pytest.fixture(scope="module", params=TARGETS)
def fast(request: pytest.FixtureRequest, svc: SVC) -> Any:
    return sc.build(svc, target=request.param, precision="f64")


def test_build_gives_a_model_that_predicts_as_the_original(fast: Any, svc: SVC) -> None:
    np.testing.assert_array_equal(fast.predict(X), svc.predict(X))
    np.testing.assert_allclose(fast.decision_function(X), svc.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(fast.predict_log_proba(X), svc.predict_log_proba(X), atol=1e-5)
    assert fast.score(X, NAMES[Y]) == svc.score(X, NAMES[Y])
    weights = np.arange(len(X))
    assert fast.score(X, NAMES[Y], sample_weight=weights) == svc.score(X, NAMES[Y], weights)


def test_attributes_of_a_fitted_estimator(fast: Any, svc: SVC) -> None:
    assert fast.classes_.tolist() == svc.classes_.tolist() and fast.n_features_in_ == 4
    assert not hasattr(fast, "feature_names_in_") and not hasattr(fast, "score_samples")
    assert is_classifier(fast) and fast.get_params() == {"n_jobs": 1}
    check_is_fitted(fast)
    assert fast.fit(X, Y) is fast and clone(fast) is fast
    assert "scikit-learn SVC, method exact, EXACT" in repr(fast) and "3 classes" in repr(fast)
    with pytest.raises(OptionError, match="no parameter 'gamma'"):
        fast.set_params(gamma=1)


def test_kinds_of_estimators_and_what_they_lack() -> None:
    value, one = sc.build(SVR().fit(X, Y)), sc.build(OneClassSVM().fit(X))
    assert is_regressor(value) and is_outlier_detector(one) and hasattr(one, "score_samples")
    assert value.score(X, Y) == pytest.approx(SVR().fit(X, Y).score(X, Y), abs=1e-6)
    for name in ("classes_", "decision_function", "predict_proba", "predict_log_proba", "score_samples"):
        assert not hasattr(value, name)
        with pytest.raises(UnsupportedError, match=r"has no|only one-class"):
            getattr(value, name)


def test_frames(svc: SVC) -> None:
    pandas = pytest.importorskip("pandas", reason="DataFrames need pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    fast = sc.build(SVC().fit(frame, Y))
    assert fast.feature_names_in_.tolist() == list("abcd")
    assert cross_val_score(fast, frame, Y, cv=3).mean() > 0.9


def test_pipelines_and_scorers(svc: SVC) -> None:
    scaler = StandardScaler().fit(X)
    model = SVC(probability=True, random_state=0).fit(scaler.transform(X), NAMES[Y])
    fast, plain = make_pipeline(scaler, sc.build(model, precision="f64")), make_pipeline(scaler, model)
    np.testing.assert_array_equal(fast.predict(X), plain.predict(X))
    assert fast.score(X, NAMES[Y]) == plain.score(X, NAMES[Y])
    assert log_loss(Y, fast.predict_proba(X)) == pytest.approx(log_loss(Y, plain.predict_proba(X)), 1e-4)
    # A compiled model is frozen: every fold scores the same one.
    scores = cross_val_score(fast[-1], scaler.transform(X), NAMES[Y], cv=3)
    assert scores.mean() == pytest.approx(fast.score(X, NAMES[Y]))
    two = (Y == 2).astype(int)
    scores = cross_val_score(
        sc.build(SVC().fit(X, two)), X, two, cv=3, scoring="roc_auc"
    )  # no predict_proba
    assert scores.min() > 0.9


def test_threads_can_be_set(svc: SVC) -> None:
    fast = sc.build(svc)
    other = copy.deepcopy(fast).set_params(n_jobs=2)
    assert (fast.n_jobs, other.n_jobs) == (1, 2)
    rows = np.tile(X, (3, 1))
    np.testing.assert_array_equal(fast.predict(rows), other.predict(rows))
    with pytest.raises(OptionError, match="n_jobs is 0"):
        fast.set_params(n_jobs=0)
    with pytest.raises(OptionError, match="only C runs in several threads"):
        sc.build(svc, target="onnx").set_params(n_jobs=2)


class Strict(pickle.Unpickler):
    """Finds nothing but the one function that builds a model of a checked program."""

    def find_class(self, module: str, name: str) -> Any:
        assert (module, name) == ("svmcompile.flow.form", "revive"), f"the pickle asks for {module}.{name}"
        return super().find_class(module, name)


def test_pickles_hold_a_program_and_no_code(fast: Any, tmp_path: Path) -> None:
    stored = pickle.dumps(fast)
    assert b"#include" not in stored and b"\x7fELF" not in stored
    woken = Strict(io.BytesIO(stored)).load()
    for other in (woken, copy.copy(fast), copy.deepcopy(fast)):
        assert type(other) is type(fast) and repr(other) == repr(fast)
        np.testing.assert_array_equal(other.predict_proba(X), fast.predict_proba(X))
    joblib.dump(fast, tmp_path / "fast.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "fast.joblib").predict(X), fast.predict(X))
    function, arguments = fast.__reduce__()
    with pytest.raises(ReadError, match="pickle of svc"):
        function(b"junk", *arguments[1:])


FORMS: list[dict[str, Any]] = [
    {"precision": "f64", "profile": "portable"},
    {"tables": "f16"},
    {"precision": "q15", "profile": "device"},
    {"profile": "device"},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_what_wakes_up_finds_the_library_in_the_cache(
    form: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    program = sc.compile(SVC().fit(X, Y))
    sc.write(sc.emit(program, name="iris", X=X, **form), tmp_path / "out")
    for fast in (sc.load(tmp_path / "out"), sc.build(program, X, name="iris", **form)):
        built = list((tmp_path / "cache").iterdir())
        woken = pickle.loads(pickle.dumps(fast))
        np.testing.assert_array_equal(woken.predict(X), fast.predict(X))
        assert list((tmp_path / "cache").iterdir()) == built and len(built) == 1


def test_a_folder_without_a_report_can_be_pickled_too(tmp_path: Path) -> None:
    sc.write(sc.emit(sc.compile(SVC().fit(X, Y)), name="iris"), tmp_path)
    (tmp_path / "iris.json").unlink()
    fast = sc.load(tmp_path)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast)).predict(X), fast.predict(X))


def test_other_processes_take_it(svc: SVC) -> None:
    fast = sc.build(svc)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (found,) = pool.map(fast.predict, [X])
    np.testing.assert_array_equal(found, fast.predict(X))


def test_auto_is_built_in_the_form_it_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_auto(model: Any, data: Any, wishes: Any) -> sc.Program:
        assert wishes == {"agreement": 0.9} and len(data.X) == len(X)
        form = {"precision": "f64", "profile": "portable", "tables": None, "soft_double": False}
        program = sc.compile(model)
        return program.replace(origin=replace(program.origin, details={"auto": form}))

    monkeypatch.setattr("svmcompile.choose.choice.compile_auto", compile_auto)
    fast = sc.build(SVC().fit(X, Y), X, method="auto", agreement=0.9)
    assert (fast.form.precision, fast.form.profile) == ("f64", "portable") and fast.precision == "f64"
    assert sc.build(SVC().fit(X, Y), X, method="auto", agreement=0.9, precision="f32").precision == "f32"


def test_the_estimator_that_compiles() -> None:
    model = sc.Compiled(SVC(), method="reduced-set", options={"budget": 10})
    assert clone(model).get_params()["estimator__C"] == 1.0
    scores = cross_val_score(model, X, NAMES[Y], cv=2)
    assert scores.min() > 0.8
    search = GridSearchCV(sc.Compiled(SVC()), {"estimator__C": [0.01, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"estimator__C": 1.0} and (search.predict(X) == Y).mean() > 0.9
    fitted = search.best_estimator_
    assert fitted.program_.origin.method == "exact" and sc.compile(fitted) is fitted.program_
    assert fitted.n_features_in_ == 4 and fitted.classes_.tolist() == [0, 1, 2]
    assert not hasattr(fitted, "predict_proba") and hasattr(fitted, "decision_function")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    for rows in (X[:, :3], np.where(X > 5, np.nan, X), X[0]):  # as scikit-learn refuses them
        with pytest.raises(ValueError, match=r"expecting 4 features|contains NaN|Expected 2D"):
            fitted.predict(rows)
    with pytest.raises(NotFittedError):
        sc.Compiled(SVC()).predict(X)


def test_rows_with_gaps_go_where_the_estimator_fills_them() -> None:
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = sc.Compiled(make_pipeline(SimpleImputer(), SVC()), precision="f64").fit(gaps, Y)
    np.testing.assert_array_equal(model.predict(gaps), model.estimator_.predict(gaps))


def test_dir_and_clear_errors(svc: SVC) -> None:
    assert {"build", "compile", "emit", "Compiled", "OptionError"} <= {*dir(sc)}
    assert not {"Any", "importlib", "annotations"} & {*dir(sc)}
    with pytest.raises(OptionError, match=r"takes a program, not SVC: call sc\.compile first"):
        sc.emit(svc)
    with pytest.raises(OptionError, match=r"takes a program, not SVC"):
        sc.quantise(svc, "q7", X)

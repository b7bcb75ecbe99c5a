"""Pipelines of every transformer: original = interpreter = C = ONNX, missing features too."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import compare_case, rows_for
from preprocessing import MODELS, ROWS
from scipy.sparse import random_array
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.read.sklearn.features import TRANSFORMERS


@pytest.mark.compile
@pytest.mark.parametrize("name", MODELS)
def test_all_forms_agree(name, tmp_path):
    report = compare_case(MODELS[name](), tmp_path, ROWS)
    assert report.rows == ROWS >= 10_000
    assert report.rows_not_finite == 0
    assert len(report.comparisons) == 7
    for one in report.comparisons:
        assert not one.broken, one
        assert one.labels_differing_beyond_rounding == 0, one
        assert one.max_error_over_bound <= 1, one
        if one.precision == "f64":
            assert one.labels_differing == 0, one


def test_rows_have_missing_features_where_an_imputer_takes_them():
    case = MODELS["imputer-mean-svc"]()
    rows = rows_for(case, sc.compile(case.model), ROWS)
    assert np.isnan(rows).any(axis=1).mean() > 0.5


def test_the_models_have_the_transformers_a_user_may_have():
    met = {type(step).__name__ for make in MODELS.values() for step in _members(make().model)}
    rare = {"SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect", "RFECV"}
    rare |= {"SequentialFeatureSelector", "MissingIndicator", "FunctionTransformer"}
    assert set(TRANSFORMERS) - rare <= met


SPARSE = {
    "zeros-stay-zeros": (MaxAbsScaler(), SVC()),
    "normalized": (Normalizer(), SVC()),
    "selected": (SelectKBest(k=30), SVC()),
    "densified": (TruncatedSVD(8, random_state=0), StandardScaler(), LinearSVC()),
    "mapped": (Nystroem(gamma=0.1, n_components=20, random_state=0), LinearSVC()),
}


@pytest.mark.compile
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_may_be_given_whatever_the_steps_make_of_them(name, tmp_path):
    random = np.random.default_rng(0)
    X = random_array((400, 200), density=0.05, format="csr", random_state=0)
    y = (X @ random.normal(size=200) > 0).astype(int)
    model = make_pipeline(*SPARSE[name]).fit(X, y)
    program = sc.compile(model)
    wanted = model.decision_function(X)
    for target in ("c", "onnx"):
        sc.write(sc.emit(program, target, "m", "f64"), tmp_path / target)
        fast = sc.load(tmp_path / target)
        np.testing.assert_allclose(fast.decision_function(X), wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_frames_go_to_columns_by_name(tmp_path):
    pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    chosen = ColumnTransformer(
        [("a", StandardScaler(), ["alcohol", "proline"]), ("b", PCA(2), ["ash", "hue", "magnesium"])]
    )
    model = make_pipeline(chosen, SVC()).fit(X, y)
    sc.write(sc.emit(sc.compile(model), "onnx", "m", "f64"), tmp_path)
    np.testing.assert_array_equal(sc.load(tmp_path).predict(X), model.predict(X))
    assert sc.verify(tmp_path, model, X, y).ok


def _members(model):
    if hasattr(model, "steps"):
        return [one for _, step in model.steps for one in _members(step)]
    return [model]

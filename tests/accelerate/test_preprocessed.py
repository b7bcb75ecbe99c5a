"""Every method behind preprocessing: it fits what the kernel sees and reads what the user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.interpret import interpret
from svmcompile.lower import lower

METHODS: dict[str, dict[str, Any]] = {
    "exact": {},
    "reduced-set": {"budget": "20"},
    "metric-tree": {},
    "sv-tree": {},
    "anytime": {},
    "h1-tree": {},
    "linear": {},
    "proto": {"max_bytes": "4000", "steps": "400", "synthetic_rows": "500"},
}
PIPELINES = {
    "projected": (StandardScaler(), PCA(5)),
    "mapped": (StandardScaler(), Nystroem(gamma=0.02, n_components=15, random_state=0)),
    "sampled": (StandardScaler(), RBFSampler(gamma=0.01, n_components=15, random_state=0)),
    "powers": (StandardScaler(), SelectKBest(k=3), PolynomialFeatures(2)),
    "normalized": (StandardScaler(), Normalizer()),
    "columns": (
        ColumnTransformer([("a", StandardScaler(), [20, 3, 7, 27]), ("b", "passthrough", [4, 24])]),
    ),
    "united": (StandardScaler(), FeatureUnion([("a", PCA(3)), ("b", SelectKBest(k=3))])),
    "filled": (SimpleImputer(add_indicator=True), StandardScaler(), SelectKBest(k=8)),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_behind_preprocessing(method: str, name: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(*PIPELINES[name], SVC(C=10)).fit(X, y)
    program = sc.compile(model, method=method, X=X, y=y, **METHODS[method])
    assert program.n_features == 30
    same = program.predict(X) == model.predict(X)
    assert same.mean() >= (1.0 if method in ("exact", "anytime") else 0.9)
    if method == "anytime":  # its own tests look at its code
        return
    machine = lower(program, "f64")
    np.testing.assert_array_equal(interpret(machine, X)["label"], interpret(program, X)["label"])


def test_missing_features_may_be_in_the_data_a_method_fits() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    model = make_pipeline(SimpleImputer(), StandardScaler(), SVC()).fit(X, y)
    for method in ("metric-tree", "reduced-set", "sv-tree", "anytime", "linear"):
        program = sc.compile(model, method=method, X=X, y=y)
        assert (program.predict(X) == model.predict(X)).mean() >= 0.9, method

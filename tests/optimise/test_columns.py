"""Folds of preprocessing: what remains of pipelines, that it is less work and means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR

from svmcompile.accelerate.registry import accelerate
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.cost import flops
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.optimise import optimise
from svmcompile.read import read

FACTOR = 4.0  # as in `test_passes`: the tables a pass makes are rounded too
SCALED = ColumnTransformer(
    [("a", StandardScaler(), [5, 0, 3]), ("b", make_pipeline(MinMaxScaler(), RobustScaler()), [1, 2])],
    remainder="passthrough",
)
NESTED = make_pipeline(
    SCALED, ColumnTransformer([("c", StandardScaler(), [9, 2])], remainder=MinMaxScaler())
)
MAP = Nystroem(gamma=0.01, n_components=20, random_state=0)
LEFT: dict[str, tuple[Any, list[str]]] = {
    "scaled columns, linear": (make_pipeline(SCALED, LinearSVC()), ["Affine"]),
    "scaled columns, rbf": (make_pipeline(SCALED, SVC()), ["Scale", "KernelSum"]),
    "nested columns": (make_pipeline(NESTED, LinearSVC()), ["Affine"]),
    "selected": (make_pipeline(StandardScaler(), SelectKBest(k=4), SVC()), ["Pick", "Scale", "KernelSum"]),
    "selected twice": (
        make_pipeline(SelectKBest(k=9), MinMaxScaler(clip=True), SelectKBest(k=4), SVC()),
        ["Pick", "Scale", "Clip", "Scale", "KernelSum"],
    ),
    "selected components": (
        make_pipeline(PCA(8), SelectKBest(k=3), StandardScaler(), LinearSVC()),
        ["Affine"],
    ),
    "selected products": (
        make_pipeline(StandardScaler(), PolynomialFeatures(2), SelectKBest(k=5), SVC()),
        ["Scale", "Powers", "Scale", "KernelSum"],
    ),
    "projected": (make_pipeline(StandardScaler(), PCA(5, whiten=True), LinearSVC()), ["Affine"]),
    "kernel map": (make_pipeline(StandardScaler(), MAP, LinearSVC()), ["Scale", "KernelSum"]),
    "kernel map, scaled": (make_pipeline(MAP, StandardScaler(), LinearSVC()), ["Scale", "KernelSum"]),
    "kernel map of a linear kernel": (
        make_pipeline(Nystroem("linear", n_components=20, random_state=0), LinearSVC()),
        ["Affine"],
    ),
    "cosines": (
        make_pipeline(
            StandardScaler(), RBFSampler(n_components=9, random_state=0), StandardScaler(), LinearSVC()
        ),
        ["Affine", "AsFeatures", "Cosine", "Affine"],
    ),
    "norms": (
        make_pipeline(StandardScaler(), Normalizer(), StandardScaler(), LinearSVC()),
        ["Scale", "Normalize", "Affine"],
    ),
    "filled": (
        make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=3), LinearSVC()),
        ["Pick", "Fill", "Affine"],
    ),
    "everything twice": (
        make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", "passthrough")]), LinearSVC()),
        ["Pick", "Affine"],
    ),
}


def compiled(model: Any, X: Any, y: Any) -> tuple[Program, Program]:
    before = accelerate(read(model.fit(X, y)), None, "exact", {})
    return before, optimise(before)


@pytest.mark.parametrize("name", LEFT)
def test_what_remains_of_a_pipeline(name: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model, expected = LEFT[name]
    before, after = compiled(model, X[:, :12], y)
    kinds = [type(node).__name__ for node in after.body[:-1]]
    assert kinds == expected
    assert flops(after) <= flops(before) + 2 * 12  # kernels are centred
    old, new = (interpret(program, X[:, :12])["scores"] for program in (before, after))
    rounding = sum(error_bounds(program, X[:, :12], "f64").scores for program in (before, after))
    assert (np.abs(new - old) <= FACTOR * rounding).all()


def test_a_projection_stays_where_folding_does_not_pay() -> None:
    """45 pairs of classes would each take all 64 pixels instead of 5 components."""
    X, y = load_digits(return_X_y=True)
    _, after = compiled(make_pipeline(PCA(5), SVC(kernel="linear")), X[:300], y[:300])
    assert [type(node).__name__ for node in after.body[:3]] == ["Affine", "AsFeatures", "Affine"]
    _, after = compiled(make_pipeline(PCA(40), SVC(kernel="linear")), X[:300], y[:300])
    assert [type(node).__name__ for node in after.body[:1]] == ["Affine"]
    assert type(after.body[1]).__name__ != "AsFeatures"


def test_columns_that_are_not_picked_do_not_matter_even_if_they_are_no_numbers() -> None:
    X, y = load_wine(return_X_y=True)
    X = X[:, :12]
    model = make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [4, 1])], remainder="drop"), LinearSVC()
    )
    before, after = compiled(model, X, y)
    rows = X.copy()
    rows[:, 7] = np.nan
    for program in (before, after):
        np.testing.assert_array_equal(interpret(program, rows)["scores"], interpret(program, X)["scores"])
    rows[:, 4] = np.nan
    assert np.isnan(interpret(after, rows)["scores"]).all()


def test_a_regressor_of_scaled_columns_reads_the_row_itself() -> None:
    X, _ = load_wine(return_X_y=True)
    _, after = compiled(make_pipeline(SCALED, LinearSVR()), X, X[:, 0])
    (node,) = after.body
    assert type(node).__name__ == "Affine" and node.x == "x"

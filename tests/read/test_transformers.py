"""Transformers: fronts make of rows what scikit-learn makes of them, or the transformer is refused."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import blobs
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.feature_selection import (
    RFE,
    GenericUnivariateSelect,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import read

NYSTROEM = {"n_components": 9, "random_state": 0}
ALONE = {
    "standard": StandardScaler(),
    "standard-no-mean": StandardScaler(with_mean=False),
    "standard-idle": StandardScaler(with_mean=False, with_std=False),
    "minmax-clip": MinMaxScaler((-2, 3), clip=True),
    "maxabs": MaxAbsScaler(),
    "robust": RobustScaler(quantile_range=(10, 80), unit_variance=True),
    "robust-centre": RobustScaler(with_scaling=False),
    "robust-scale": RobustScaler(with_centering=False),
    "normalizer-l1": Normalizer("l1"),
    "normalizer-l2": Normalizer(),
    "normalizer-max": Normalizer("max"),
    "pca": PCA(3),
    "pca-whiten": PCA(whiten=True),
    "incremental-pca": IncrementalPCA(2, whiten=True),
    "svd": TruncatedSVD(2, random_state=0),
    "kbest": SelectKBest(k=2),
    "percentile": SelectPercentile(percentile=40),
    "generic": GenericUnivariateSelect(mode="k_best", param=3),
    "from-model": SelectFromModel(LinearSVC(), threshold="median"),
    "variance": VarianceThreshold(0.1),
    "rfe": RFE(LinearSVC(), n_features_to_select=2),
    "sequential": SequentialFeatureSelector(LinearSVC(), n_features_to_select=2, cv=2),
    "everything-selected": SelectKBest(k="all"),
    "poly": PolynomialFeatures(3),
    "poly-0": PolynomialFeatures(0),
    "poly-interactions": PolynomialFeatures(3, interaction_only=True, include_bias=False),
    "poly-range": PolynomialFeatures((2, 3)),
    "nystroem": Nystroem(**NYSTROEM),
    "nystroem-gamma": Nystroem(gamma=0.3, **NYSTROEM),
    "nystroem-params": Nystroem(kernel_params={"gamma": 0.2}, **NYSTROEM),
    "nystroem-poly": Nystroem("poly", degree=2, coef0=0.5, **NYSTROEM),
    "nystroem-polynomial": Nystroem("polynomial", **NYSTROEM),
    "nystroem-linear": Nystroem("linear", **NYSTROEM),
    "nystroem-laplacian": Nystroem("laplacian", **NYSTROEM),
    "nystroem-cosine": Nystroem("cosine", n_components=4, random_state=0),
    "kernel-pca": KernelPCA(3),
    "kernel-pca-rbf": KernelPCA(4, kernel="rbf", gamma=0.2),
    "kernel-pca-poly": KernelPCA(kernel="poly", degree=2, n_components=6),
    "kernel-pca-cosine": KernelPCA(2, kernel="cosine"),
    "nystroem-sigmoid": Nystroem("sigmoid", gamma=0.1, **NYSTROEM),
    "sampler": RBFSampler(n_components=7, random_state=0),
    "imputer-of-nothing": SimpleImputer(),
    "function": FunctionTransformer(),
    "union": FeatureUnion([("a", PCA(2)), ("b", "drop"), ("c", "passthrough")]),
    "union-weighted": FeatureUnion(
        [("a", MinMaxScaler()), ("b", PCA(1))], transformer_weights={"a": -0.5, "b": 3}
    ),
    "union-of-one": FeatureUnion([("a", PCA(2))]),
    "columns": ColumnTransformer([("a", StandardScaler(), [3, 1]), ("b", MinMaxScaler(), slice(0, 1))]),
    "columns-passthrough": ColumnTransformer([("a", PCA(1), [0, -1])], remainder="passthrough"),
    "columns-rest": ColumnTransformer([("a", "drop", [2])], remainder=RobustScaler()),
    "columns-mask": ColumnTransformer([("a", MaxAbsScaler(), [True, False, False, True, True])]),
    "columns-twice": ColumnTransformer([("a", StandardScaler(), [1, 2]), ("b", "passthrough", [2, 1])]),
    "columns-empty": ColumnTransformer([("a", PCA(), []), ("b", StandardScaler(), [0, 1])]),
    "columns-weighted": ColumnTransformer(
        [("a", "passthrough", [0]), ("b", PCA(1), [1, 2])], transformer_weights={"a": 2.0}
    ),
    "columns-chosen": ColumnTransformer([("a", PCA(2), lambda X: [0, 4])], remainder="passthrough"),
    "nested": FeatureUnion(
        [
            ("a", make_pipeline(StandardScaler(), FeatureUnion([("x", PCA(2)), ("y", "passthrough")]))),
            ("b", ColumnTransformer([("z", make_pipeline("passthrough", Normalizer()), [1, 3])])),
        ]
    ),
}


def prepared_like(transformer, X, y, rows):
    """The front of a pipeline with this transformer makes of rows what it makes of them itself."""
    pipeline = make_pipeline(transformer, SVC()).fit(X, y)
    svm = read(pipeline)
    expected = pipeline[0].transform(rows)
    expected = expected.toarray() if hasattr(expected, "toarray") else np.asarray(expected)
    assert svm.n_features == X.shape[1]
    assert svm.kernel_width == expected.shape[1]
    np.testing.assert_allclose(svm.prepared(np.asarray(rows)), expected, rtol=1e-9, atol=1e-12)
    return svm


@pytest.mark.parametrize("name", ALONE)
def test_rows_are_prepared_as_by_the_original(name):
    X, y = blobs(3, seed=2)
    prepared_like(ALONE[name], X, y, np.vstack([2 * X, np.zeros((1, 5)), np.full((1, 5), 1e-16)]))


def with_gaps(X, value=np.nan):
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = value
    return X


IMPUTERS = {
    "mean": (SimpleImputer(), np.nan),
    "median": (SimpleImputer(strategy="median"), np.nan),
    "frequent": (SimpleImputer(strategy="most_frequent"), np.nan),
    "constant": (SimpleImputer(strategy="constant", fill_value=-3), np.nan),
    "marker": (SimpleImputer(missing_values=-9), -9.0),
    "zero": (SimpleImputer(missing_values=0), 0.0),
    "indicator": (SimpleImputer(add_indicator=True), np.nan),
    "union": (FeatureUnion([("a", SimpleImputer()), ("b", MissingIndicator())]), np.nan),
    "some": (ColumnTransformer([("a", SimpleImputer(), [0, 1, 2, 3, 4])], remainder="drop"), np.nan),
}


@pytest.mark.parametrize("name", IMPUTERS)
def test_missing_features_are_filled_in(name):
    transformer, value = IMPUTERS[name]
    X, y = blobs(2, seed=3)
    prepared_like(transformer, with_gaps(X, value), y, with_gaps(2 * X, value))


@pytest.mark.parametrize("keep", [False, True])
def test_a_feature_that_was_always_missing(keep):
    X, y = blobs(2)
    X = with_gaps(X)
    X[:, 2] = np.nan
    transformer = SimpleImputer(keep_empty_features=keep, add_indicator=True)
    assert prepared_like(transformer, X, y, X).kernel_width == (10 if keep else 9)


def test_a_feature_that_never_varies():
    X, y = blobs(2)
    X[:, 1] = 7.0
    for transformer in (
        StandardScaler(),
        MinMaxScaler(),
        RobustScaler(),
        PCA(whiten=True),
        VarianceThreshold(),
    ):
        prepared_like(transformer, X, y, X + 1)


SPARSE = [
    MaxAbsScaler(), StandardScaler(with_mean=False), TruncatedSVD(3), Normalizer(), SelectKBest(k=2),
    Nystroem(**NYSTROEM), RBFSampler(n_components=5), PolynomialFeatures(2),
]  # fmt: skip


@pytest.mark.parametrize("transformer", SPARSE, ids=lambda transformer: type(transformer).__name__)
def test_transformers_fitted_on_sparse_rows(transformer):
    X, y = blobs(2, seed=5)
    X[np.abs(X) < 0.5] = 0.0
    pipeline = make_pipeline(transformer, SVC()).fit(csr_matrix(X), y)
    svm = read(pipeline)
    expected = pipeline[0].transform(csr_matrix(X)).astype(np.float64)
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    np.testing.assert_allclose(svm.prepared(X), expected, rtol=1e-9, atol=1e-12)


COLUMNS = {
    "names": [("a", StandardScaler(), ["d", "b"]), ("b", MinMaxScaler(), ["a"])],
    "one name": [("a", "passthrough", ["c"]), ("b", StandardScaler(), ["e"])],
    "slice of names": [("a", StandardScaler(), slice("b", "d"))],
    "by type": [("a", StandardScaler(), make_column_selector(pattern="[ace]"))],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_by_name(name):
    pandas = pytest.importorskip("pandas")
    X, y = blobs(2)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    for remainder in ("drop", "passthrough"):
        svm = prepared_like(ColumnTransformer(COLUMNS[name], remainder=remainder), frame, y, frame)
        assert svm.feature_names == tuple("abcde")


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


REFUSED = {
    "unknown": (Own(), "transformer Own cannot be compiled; apply it to the rows"),
    "flags": (Binarizer(), "Binarizer cannot be compiled"),
    "within": (FeatureUnion([("a", PCA(2)), ("b", Own())]), "Own cannot be compiled"),
    "deep": (
        ColumnTransformer([("a", make_pipeline(StandardScaler(), Own()), [0])]),
        "Own cannot be compiled",
    ),
    "function": (FunctionTransformer(np.exp), "runs a Python function"),
    "callable kernel": (
        Nystroem(kernel=lambda a, b: float(a @ b), **NYSTROEM),
        "kernel .* cannot be compiled",
    ),
    "half degree": (Nystroem("poly", degree=2.5, coef0=20, **NYSTROEM), "not a whole number"),
    "marker": (SimpleImputer(missing_values=0.1), "not a float32 number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why_and_give_a_way_out(name):
    transformer, message = REFUSED[name]
    X, y = blobs(2)
    with pytest.raises(UnsupportedError, match=message):
        read(make_pipeline(transformer, SVC()).fit(X, y))


def test_an_unfitted_transformer_is_refused():
    X, y = blobs(2)
    for transformer in (
        StandardScaler(),
        PCA(5),
        SelectKBest(k=5),
        Nystroem(),
        RBFSampler(),
        SimpleImputer(),
    ):
        pipeline = Pipeline([("a", transformer), ("b", SVC().fit(X, y))])
        with pytest.raises(UnsupportedError, match="not fitted"):
            read(pipeline)


DAMAGE = {
    "mean": (PCA(2), "mean_", np.zeros(3)),
    "variance": (PCA(2, whiten=True), "explained_variance_", np.zeros(7)),
    "components": (PCA(2), "components_", np.full((2, 5), np.nan)),
    "other width": (TruncatedSVD(2), "components_", np.zeros((3, 5))),
    "count": (SelectKBest(k=2), "n_features_in_", 6),
    "norm": (Normalizer(), "norm", "l3"),
    "degree": (PolynomialFeatures(2), "degree", "two"),
    "outputs": (PolynomialFeatures(2), "n_output_features_", 5),
    "offset": (RBFSampler(n_components=4), "random_offset_", np.zeros(3)),
    "weights": (Nystroem(n_components=4), "normalization_", np.zeros((4, 3))),
    "list": (FeatureUnion([("a", PCA(2))]), "transformer_list", 3),
    "entries": (ColumnTransformer([("a", PCA(2), [0, 1])]), "transformers_", [("a", 1)]),
    "column": (ColumnTransformer([("a", PCA(2), [0, 1])]), "transformers_", [("a", PCA(2), [9])]),
    "names": (ColumnTransformer([("a", PCA(2), [0, 1])]), "transformers_", [("a", PCA(2), ["q"])]),
    "factor": (FeatureUnion([("a", PCA(2))]), "transformer_weights", {"a": "much"}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_transformers_are_errors_that_name_the_place(name):
    transformer, attribute, value = DAMAGE[name]
    X, y = blobs(2)
    pipeline = make_pipeline(transformer, SVC()).fit(X, y)
    setattr(pipeline[0], attribute, value)
    with pytest.raises(ReadError, match=r"damaged|hold a NaN|takes|weights have shape|the kernel takes"):
        read(pipeline)


def test_what_contains_itself_is_refused():
    X, y = blobs(2)
    pipeline = make_pipeline(FeatureUnion([("a", PCA(2))]), SVC()).fit(X, y)
    pipeline[0].transformer_list.append(("b", pipeline[0]))
    with pytest.raises(ReadError, match="nested too deep"):
        read(pipeline)


def test_the_digest_follows_every_step():
    X, y = blobs(2)
    digests = {
        read(make_pipeline(transformer, SVC()).fit(X, y)).source.sha256
        for transformer in (
            PCA(2),
            PCA(2, whiten=True),
            Normalizer("l1"),
            Normalizer("max"),
            ALONE["nested"],
        )
    }
    assert len(digests) == 5


@pytest.mark.parametrize("sampler", [Nystroem, RBFSampler])
def test_many_features_of_a_kernel_say_what_they_cost(sampler):
    X, y = blobs(2)
    for count, machine, told in ((70, LinearSVC(), 1), (20, LinearSVC(), 0), (70, SVC(), 0)):
        model = make_pipeline(StandardScaler(), sampler(n_components=count), machine).fit(X, y)
        notes = [note for note in read(model).notes if "an SVM with 70 support vectors" in note]
        assert len(notes) == told

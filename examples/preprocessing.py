"""Pipelines of every transformer: does all that is emitted agree with scikit-learn on 10,000 rows each?

    python examples/preprocessing.py           the whole table
    python examples/preprocessing.py pca nys   models whose name contains one of the words

As `agreement.py`: C in both profiles and ONNX, in both precisions, on real rows, jittered copies
and rows pushed onto the decision boundary. Where an imputer comes first, rows have missing features.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from agreement import Case, print_table
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_regression,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM

ROWS = 10_000
LOAD = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}


def piped(name: str, *steps: Any, missing: float | None = None, sparse: bool = False) -> Callable[[], Case]:
    """A pipeline that is fitted, on the features as they come, when it is asked for.

    One feature in ten is `missing`; NaN, or another number that stands for it.
    """

    def fit() -> Case:
        from scipy.sparse import csr_matrix

        X, y = LOAD[name](return_X_y=True)
        X, y = X[:500].astype(np.float32).astype(np.float64), y[:500]
        if missing is not None:
            X[np.random.default_rng(0).random(X.shape) < 0.1] = missing
        return Case(make_pipeline(*steps).fit(csr_matrix(X) if sparse else X, y), X)

    return fit


def some(transformer: Any, *columns: int) -> tuple[str, Any, list[int]]:
    """One entry of a ColumnTransformer."""
    return f"{type(transformer).__name__}{columns[0]}", transformer, list(columns)


SCALE = StandardScaler()
MODELS: dict[str, Callable[[], Case]] = {
    "standard-svc": piped("wine", SCALE, SVC()),
    "minmax-clip-linearsvc": piped("wine", MinMaxScaler((-1, 1), clip=True), LinearSVC()),
    "maxabs-svr": piped("diabetes", MaxAbsScaler(), SVR(C=10)),
    "robust-poly-svc": piped("cancer", RobustScaler(), SVC(kernel="poly", coef0=1)),
    "normalizer-l2-svc": piped("digits", Normalizer(), SVC()),
    "normalizer-l1-linearsvc": piped("wine", Normalizer("l1"), MinMaxScaler(), LinearSVC()),
    "normalizer-max-svr": piped("diabetes", Normalizer("max"), SVR()),
    "pca-svc": piped("digits", PCA(12), SVC()),
    "pca-whiten-linearsvc": piped("cancer", SCALE, PCA(6, whiten=True), LinearSVC()),
    "incremental-pca-svr": piped("diabetes", IncrementalPCA(4), SVR(C=10)),
    "svd-sparse-svc": piped("digits", TruncatedSVD(10, random_state=0), SCALE, SVC(), sparse=True),
    "kbest-svc": piped("wine", SCALE, SelectKBest(k=5), SVC(kernel="sigmoid", gamma=0.05)),
    "percentile-svr": piped("diabetes", SelectPercentile(f_regression, percentile=50), SCALE, SVR()),
    "from-model-linearsvc": piped("cancer", SCALE, SelectFromModel(LinearSVC(C=0.1)), LinearSVC()),
    "variance-svc": piped("digits", VarianceThreshold(1.0), MaxAbsScaler(), SVC()),
    "rfe-svc": piped("wine", SCALE, RFE(LinearSVC(), n_features_to_select=4), SVC()),
    "poly2-linearsvc": piped("iris", SCALE, PolynomialFeatures(2), LinearSVC()),
    "poly3-interactions-svc": piped("iris", SCALE, PolynomialFeatures(3, interaction_only=True), SVC()),
    "poly-from-2-svr": piped(
        "diabetes", SCALE, PolynomialFeatures((2, 3), include_bias=False), LinearSVR()
    ),
    "nystroem-rbf-linearsvc": piped(
        "cancer", SCALE, Nystroem(gamma=0.02, n_components=50, random_state=0), LinearSVC()
    ),
    "nystroem-poly-linearsvc": piped(
        "wine", MinMaxScaler(), Nystroem("polynomial", n_components=20, random_state=0), LinearSVC()
    ),
    "nystroem-linear-svr": piped("diabetes", Nystroem("linear", n_components=9, random_state=0), SVR()),
    "nystroem-sigmoid-svc": piped(
        "wine", SCALE, Nystroem("sigmoid", gamma=0.03, coef0=0.2, n_components=15, random_state=0), SVC()
    ),
    "kernel-pca-rbf-svc": piped("wine", SCALE, KernelPCA(6, kernel="rbf", gamma=0.05), SVC()),
    "rbfsampler-linearsvc": piped(
        "wine", SCALE, RBFSampler(gamma=0.05, n_components=60, random_state=0), LinearSVC()
    ),
    "rbfsampler-svr": piped("diabetes", SCALE, RBFSampler(n_components=20, random_state=0), SVR()),
    "tfidf-linearsvc": piped("digits", TfidfTransformer(), LinearSVC(), sparse=True),
    "one-hot-linearsvc": piped("iris", OneHotEncoder(handle_unknown="ignore"), LinearSVC()),
    "one-hot-rare-linearsvc": piped(
        "iris", OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=8), LinearSVC()
    ),
    "ordinal-linearsvc": piped(
        "iris",
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        MaxAbsScaler(),
        LinearSVC(),
    ),
    "target-linearsvc": piped("iris", TargetEncoder(), LinearSVC()),
    "bins-linearsvc": piped(
        "wine", KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), LinearSVC()
    ),
    "bins-numbers-linearsvr": piped(
        "diabetes", KBinsDiscretizer(6, encode="ordinal", strategy="uniform"), LinearSVR()
    ),
    "yeo-johnson-svr": piped("diabetes", PowerTransformer(), SVR(C=10)),
    "box-cox-svc": piped("iris", MinMaxScaler((1, 9), clip=True), PowerTransformer("box-cox"), SVC()),
    "quantiles-svc": piped("wine", QuantileTransformer(n_quantiles=50), SVC()),
    "quantiles-repeated-linearsvc": piped("digits", QuantileTransformer(n_quantiles=100), LinearSVC()),
    "splines-linearsvc": piped("iris", SplineTransformer(extrapolation="linear"), LinearSVC()),
    "splines-quantiles-svr": piped(
        "diabetes", SplineTransformer(4, 2, knots="quantile", extrapolation="continue"), SVR(C=10)
    ),
    "normal-quantiles-svc": piped(
        "wine", QuantileTransformer(n_quantiles=50, output_distribution="normal"), SVC()
    ),
    "splines-periodic-linearsvc": piped("iris", SplineTransformer(extrapolation="periodic"), LinearSVC()),
    "splines-missing-linearsvc": piped(
        "iris", SplineTransformer(handle_missing="zeros"), LinearSVC(), missing=np.nan
    ),
    "imputer-mean-svc": piped("wine", SimpleImputer(), SCALE, SVC(), missing=np.nan),
    "imputer-median-indicator-linearsvc": piped(
        "wine", SimpleImputer(strategy="median", add_indicator=True), SCALE, LinearSVC(), missing=np.nan
    ),
    "imputer-constant-svr": piped(
        "diabetes", SimpleImputer(strategy="constant", fill_value=0.1), SCALE, SVR(), missing=np.nan
    ),
    "imputer-marker-svc": piped("iris", SimpleImputer(missing_values=-1.0), SVC(), missing=-1.0),
    "columns-svc": piped(
        "wine",
        ColumnTransformer(
            [
                some(SCALE, 0, 3, 5),
                some(make_pipeline(MinMaxScaler(), PCA(2)), 6, 7, 8),
                ("no", "drop", [1]),
            ],
            remainder=RobustScaler(),
        ),
        SVC(),
    ),
    "columns-scaled-linearsvc": piped(
        "cancer",
        ColumnTransformer(
            [some(SCALE, *range(9, -1, -1)), some(MinMaxScaler(), *range(10, 20))], remainder=MaxAbsScaler()
        ),
        LinearSVC(),
    ),
    "columns-imputed-svr": piped(
        "diabetes",
        ColumnTransformer(
            [some(make_pipeline(SimpleImputer(), PolynomialFeatures(2)), 2, 8, 3)],
            remainder=SimpleImputer(strategy="median"),
        ),
        SCALE,
        SVR(),
        missing=np.nan,
    ),
    "union-svc": piped(
        "wine",
        SCALE,
        FeatureUnion(
            [("pca", PCA(3)), ("all", "passthrough"), ("map", Nystroem(n_components=10, random_state=0))],
            transformer_weights={"pca": 2.0},
        ),
        SVC(),
    ),
    "nested-oneclass": piped(
        "iris",
        make_pipeline(make_pipeline(SCALE, "passthrough"), make_pipeline(PCA(3), Normalizer())),
        OneClassSVM(nu=0.2),
    ),
}


def main(words: list[str]) -> int:
    return print_table(MODELS, words, ROWS)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)

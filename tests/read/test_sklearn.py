"""scikit-learn estimators: what is read gives the estimator's own values and labels."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from read_cases import KERNELS, assert_same, blobs, program_of, queries
from scipy import sparse
from sklearn.decomposition import FastICA
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.model.svm import LabelRule
from svmcompile.read import read


def assert_same_as(estimator, rows=None):
    svm = read(estimator)
    rows = queries() if rows is None else rows
    assert_same(svm, estimator.predict, getattr(estimator, "decision_function", None), rows)
    return svm


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_classifiers(kind, kernel, n_classes, is_sparse):
    X, y = blobs(n_classes)
    options = {"nu": 0.3} if kind is NuSVC else {}
    for shape in ("ovr", "ovo"):
        estimator = kind(kernel=kernel, coef0=0.3, degree=3, decision_function_shape=shape, **options)
        svm = assert_same_as(estimator.fit(sparse.csr_matrix(X) if is_sparse else X, y))
        assert svm.n_sums == n_classes * (n_classes - 1) // 2


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [SVR, NuSVR, OneClassSVM])
def test_regressors_and_one_class(kind, kernel, is_sparse):
    X, _ = blobs(3)
    y = X @ np.arange(5) + np.sin(X[:, 0])
    estimator = kind(kernel=kernel, coef0=0.3, degree=2).fit(sparse.csr_matrix(X) if is_sparse else X, y)
    assert_same_as(estimator)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_linear_classifiers(n_classes, intercept):
    X, y = blobs(n_classes)
    for options in ({}, {"multi_class": "crammer_singer"}):
        estimator = LinearSVC(fit_intercept=intercept, random_state=0, C=0.1, max_iter=10000, **options)
        assert_same_as(estimator.fit(X, y))
    assert_same_as(estimator.fit(X, y).sparsify())


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_regressors(intercept):
    X, _ = blobs(3)
    assert_same_as(LinearSVR(fit_intercept=intercept, random_state=0).fit(X, X @ np.arange(5)))


def test_break_ties_changes_labels_and_is_followed():
    X, y = blobs(10, n_rows=300)
    rows = queries(3000)
    voted = SVC(break_ties=False).fit(X, y)
    broken = SVC(break_ties=True).fit(X, y)
    assert (voted.predict(rows) != broken.predict(rows)).any()
    assert assert_same_as(voted, rows).label_rule is LabelRule.VOTE
    assert assert_same_as(broken, rows).label_rule is LabelRule.ARGMAX


@pytest.mark.parametrize("n_classes", [2, 3])
def test_break_ties_with_ovo_is_refused_where_predict_fails(n_classes):
    X, y = blobs(n_classes)
    estimator = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="break_ties"):
        estimator.predict(X)
    with pytest.raises(UnsupportedError, match="break_ties"):
        read(estimator)


def test_break_ties_does_nothing_for_two_classes():
    X, y = blobs(2)
    assert assert_same_as(SVC(break_ties=True).fit(X, y)).label_rule is LabelRule.NEGATIVE_FIRST


LABELS = {
    "str": ["no", "yes", "perhaps"],
    "object": np.array(["b", "ä", ""], dtype=object),
    "numpy str in object": np.array([np.str_("b"), np.str_("c"), np.str_("d")], dtype=object),
    "negative": [-7, 0, 3],
    "float": [0.0, 1.0, 2.0],
    "int8": np.array([1, 2, 3], dtype=np.int8),
    "uint64": np.array([1, 2, 2**40], dtype=np.uint64),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_label_types(kind, name):
    X, y = blobs(3)
    assert_same_as(kind().fit(X, np.asarray(LABELS[name])[y]))


def test_bool_labels():
    X, y = blobs(2)
    assert assert_same_as(SVC().fit(X, y == 0)).labels.values == (False, True)


def test_one_class_labels():
    X, _ = blobs(2)
    svm = read(OneClassSVM().fit(X))
    assert svm.labels.values == (-1, 1)
    assert svm.label_rule is LabelRule.POSITIVE_SECOND


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_a_score_of_zero(kind):
    """The two libraries behind scikit-learn disagree about zero; so must we."""
    X = np.array([[-1.0, 0], [1, 0], [-1, 1], [1, 1]])
    options = {"kernel": "linear"} if kind is SVC else {"fit_intercept": False}
    estimator = kind(**options).fit(X, [0, 1, 0, 1])
    estimator.intercept_ = np.zeros(1)
    if kind is SVC:
        estimator._intercept_ = np.zeros(1)
    rows = np.zeros((1, 2))
    assert estimator.decision_function(rows)[0] == 0
    assert program_of(read(estimator)).predict(rows)[0] == estimator.predict(rows)[0] == (kind is SVC)


SCALERS = {
    "standard": [StandardScaler()],
    "mean": [StandardScaler(with_std=False)],
    "std": [StandardScaler(with_mean=False)],
    "idle": [StandardScaler(with_mean=False, with_std=False)],
    "minmax": [MinMaxScaler()],
    "range": [MinMaxScaler(feature_range=(-3, 5))],
    "clip": [MinMaxScaler(clip=True)],
    "many": ["passthrough", StandardScaler(), None, MinMaxScaler((-1, 1), clip=True), StandardScaler()],
}


@pytest.mark.parametrize("name", SCALERS)
def test_scalers(name):
    X, y = blobs(3)
    X = X * [1, 100, 1e-3, 1, 0] + [0, 1e4, 0, -5, 3]
    rows = queries() * [1, 100, 1e-3, 1, 1] + [0, 1e4, 0, -5, 3]
    estimator = make_pipeline(*copy.deepcopy(SCALERS[name]), SVC()).fit(X, y)
    svm = assert_same_as(estimator, rows)
    assert svm.source.kind.startswith("scikit-learn Pipeline(") and svm.source.kind.endswith("SVC)")


def test_pipeline_kinds():
    X, y = blobs(2)
    assert read(SVC().fit(X, y)).source.kind == "scikit-learn SVC"
    inner = make_pipeline(MinMaxScaler(), LinearSVC())
    nested = make_pipeline(StandardScaler(), inner).fit(X, y)
    expected = "scikit-learn Pipeline(StandardScaler, MinMaxScaler, LinearSVC)"
    assert assert_same_as(nested).source.kind == expected


def test_scale_too_small_for_a_factor():
    X, y = blobs(2)
    for scaler, attribute in ((StandardScaler(), "scale_"), (MinMaxScaler(), "scale_")):
        estimator = make_pipeline(scaler, SVC()).fit(X, y)
        getattr(estimator[0], attribute)[2] = 5e-324
        with pytest.raises(UnsupportedError, match="feature 2"):
            read(estimator)


def test_feature_names():
    X, y = blobs(3)
    frame = pd.DataFrame(X, columns=list("abcde"))
    assert read(make_pipeline(StandardScaler(), SVC()).fit(frame, y)).feature_names == tuple("abcde")
    assert read(SVC().fit(X, y)).feature_names == ()


def test_probabilities_are_kept():
    X, y = blobs(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        estimator = SVC(probability=True, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svm = assert_same_as(estimator)
    assert [part.shape for part in svm.platt] == [(3,), (3,)]
    assert svm.has_probabilities and not svm.notes
    assert read(SVC().fit(X, y)).platt is None


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_no_vectors_at_all(is_sparse):
    X, _ = blobs(3)
    estimator = SVR(epsilon=100.0).fit(sparse.csr_matrix(X) if is_sparse else X, X[:, 0])
    assert estimator.support_vectors_.shape[0] == 0
    assert_same_as(estimator)


def test_class_without_vectors():
    X, y = blobs(3)
    estimator = SVC().fit(X, y)
    counts = estimator._n_support.copy()
    keep = np.r_[: counts[0] + counts[1]]
    estimator.support_vectors_ = estimator.support_vectors_[keep]
    estimator.support_ = estimator.support_[keep]
    estimator.dual_coef_ = estimator._dual_coef_ = np.ascontiguousarray(estimator.dual_coef_[:, keep])
    estimator._n_support = np.array([counts[0], counts[1], 0], dtype=np.int32)
    assert assert_same_as(estimator).counts[2] == 0


def test_subclasses_are_read_as_their_base():
    class Mine(SVC):
        pass

    class Other(SVC):
        def predict(self, X):
            return np.zeros(len(X))

    X, y = blobs(3)
    assert assert_same_as(Mine().fit(X, y)).notes == ()
    assert "overrides predict" in read(Other().fit(X, y)).notes[0]


def test_other_libraries_with_the_same_name_are_refused():
    with pytest.raises(UnsupportedError, match="SVC cannot be compiled"):
        read(type("SVC", (), {"__module__": "cuml.svm"})())


def test_gamma_is_the_fitted_one():
    X, y = blobs(2)
    estimator = SVC(gamma="scale").fit(X, y)
    assert read(estimator).kernel.gamma == estimator._gamma
    del estimator._gamma
    estimator.gamma = 0.125
    assert read(estimator).kernel.gamma == 0.125


def test_reading_changes_nothing_and_shares_nothing():
    X, y = blobs(3)
    estimator = SVC().fit(X, y)
    before = estimator.support_vectors_.copy()
    svm = read(estimator)
    svm.vectors[:] = 0
    np.testing.assert_array_equal(estimator.support_vectors_, before)


def test_digest_follows_the_content():
    X, y = blobs(3)
    scaled = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    assert read(scaled).source == read(copy.deepcopy(scaled)).source
    scaled[0].mean_[0] += 1e-9
    assert read(scaled).source != read(make_pipeline(StandardScaler(), SVC()).fit(X, y)).source


UNSUPPORTED = {
    "GaussianNB": (GaussianNB(), "supported are SVC"),
    "transformer": (make_pipeline(FastICA(2), SVC()), "the transformer FastICA cannot be compiled"),
    "no svm": (make_pipeline(StandardScaler()), "StandardScaler is a transformer"),
    "callable": (SVC(kernel=lambda a, b: a @ b.T), "Python function"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_refusals_give_a_way_out(name):
    estimator, message = UNSUPPORTED[name]
    X, y = blobs(2)
    estimator = copy.deepcopy(estimator).fit(X, y)
    with pytest.raises(UnsupportedError, match=message):
        read(estimator)


def test_a_precomputed_kernel_is_read_by_the_numbers_of_its_points():
    X, y = blobs(2)
    estimator = SVC(kernel="precomputed").fit(X @ X.T, y)
    svm = read(estimator)
    assert svm.vectors[:, 0].tolist() == estimator.support_.tolist()
    assert svm.n_features == len(X)
    with pytest.raises(ReadError, match="scaled before a precomputed kernel"):
        read(make_pipeline(StandardScaler(), SVC(kernel="precomputed")).fit(X @ X.T, y))


NO_ESTIMATORS = [SVC, None, 3, {"model": 1}, np.zeros(3), object(), Pipeline([]), Pipeline([("a", None)])]


@pytest.mark.parametrize("thing", NO_ESTIMATORS)
def test_things_that_are_no_estimator(thing):
    with pytest.raises(UnsupportedError, match=r"class|cannot be compiled|no steps"):
        read(thing)


@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR])
def test_not_fitted(kind):
    for estimator in (kind(), make_pipeline(StandardScaler(), kind())):
        with pytest.raises(UnsupportedError, match="call fit first"):
            read(estimator)


def test_scaler_not_fitted():
    X, y = blobs(2)
    for scaler in (StandardScaler(), MinMaxScaler()):
        with pytest.raises(UnsupportedError, match="call fit first"):
            read(make_pipeline(scaler, SVC().fit(X, y)))


def test_n_features_must_match():
    X, y = blobs(2)
    estimator = SVC().fit(X, y)
    assert read(estimator, n_features=5).n_features == 5
    with pytest.raises(ReadError, match="5 features, n_features says 6"):
        read(estimator, n_features=6)


def test_public_attributes_edited_by_hand_are_refused():
    X, y = blobs(2)
    estimator = SVC().fit(X, y)
    estimator.intercept_ = estimator.intercept_ + 1
    with pytest.raises(ReadError, match="intercept_ was changed after fit"):
        read(estimator)

"""Ensembles of scikit-learn: labels, scores and probabilities on 10,000 rows each, also where votes tie."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from read_cases import blobs, queries
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import svmcompile as sc
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import read

pytestmark = pytest.mark.filterwarnings("ignore")
X, Y = blobs(4)
ROWS = queries(10_000)
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
MEMBERS = [("a", SVC()), ("b", LinearSVC()), ("c", LogisticRegression()), ("d", SVC(C=0.1, gamma=0.3))]
SURE = [("a", SCALED), ("b", "drop"), ("c", CalibratedClassifierCV(SVC(), cv=2))]
STACKED = [
    ("a", make_pipeline(StandardScaler(), SVC())),
    ("b", LinearSVC()),
    ("c", SCALED),
    ("d", SURE[2][1]),
]
CHANCES = CalibratedClassifierCV(LinearSVC(), cv=2)
SETTINGS = ((1, 0.1), (9, 2), (0.1, 1), (5, 0.5))
CASES = {
    "votes": VotingClassifier(MEMBERS),  # of four: ties go to the first class
    "weighed-votes": VotingClassifier(MEMBERS, weights=[0.1, 0.2, 0.3, 0.1]),
    "chances": VotingClassifier(SURE, voting="soft"),
    "weighed-chances": VotingClassifier(SURE, voting="soft", weights=[1, 7, 2]),
    "bagged-svc": BaggingClassifier(SVC(gamma=0.1), n_estimators=4, random_state=0),
    "bagged-columns": BaggingClassifier(LinearSVC(), n_estimators=4, max_features=3, random_state=0),
    "bagged-chances": make_pipeline(
        StandardScaler(), BaggingClassifier(LogisticRegression(), 3, random_state=0)
    ),
    "bagged-behind-columns": make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [2, 0]), ("b", "passthrough", [1])]),
        BaggingClassifier(SVC(), n_estimators=3, random_state=0),
    ),
    "boosted-svc": AdaBoostClassifier(SVC(C=0.1), n_estimators=4, random_state=0),
    "boosted-logistic": AdaBoostClassifier(LogisticRegression(C=0.01), n_estimators=6, random_state=0),
    "codes": OutputCodeClassifier(SVC(), code_size=2, random_state=0),
    "codes-of-chances": OutputCodeClassifier(CHANCES, code_size=2, random_state=1),
    "stack": StackingClassifier(STACKED, cv=2),
    "stack-passthrough": StackingClassifier(STACKED[:2], SVC(), passthrough=True, cv=2),
    "stack-labels": StackingClassifier(STACKED[:2], LinearSVC(), stack_method="predict", cv=2),
    "scaled-stack": make_pipeline(StandardScaler(), StackingClassifier(STACKED[:1], cv=2)),
    "rest-of-bags": OneVsRestClassifier(BaggingClassifier(LinearSVC(), n_estimators=3, random_state=0)),
}


def assert_same(model, estimator):
    np.testing.assert_array_equal(model.predict(ROWS), estimator.predict(ROWS))
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            wanted, found = (getattr(one, method)(ROWS) for one in (estimator, model))
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("names", [[0, 1, 0, 1], ["a", "b", "c", "d"]], ids=["two", "four"])
@pytest.mark.parametrize("name", CASES)
def test_answers(name, names, tmp_path):
    estimator = CASES[name].fit(X, np.array(names)[Y])
    assert_same(sc.compile(estimator), estimator)
    skops.io.dump(estimator, tmp_path / "a.skops")
    np.testing.assert_array_equal(sc.compile(tmp_path / "a.skops").predict(ROWS), estimator.predict(ROWS))


@pytest.mark.compile
@pytest.mark.parametrize(
    "name", ["votes", "weighed-chances", "boosted-svc", "codes", "stack", "stack-labels"]
)
def test_c_and_onnx(name, tmp_path):
    estimator = CASES[name].fit(X, Y)
    sc.write(sc.emit(sc.compile(estimator), ("c", "onnx"), "m", "f64"), tmp_path)
    for target in ("c", "onnx"):
        model = sc.load(tmp_path, target=target)
        assert_same(model, estimator)
        assert target == "onnx" or model.self_test() == 0
    sc.write(sc.emit(sc.compile(estimator), "c", "m", "f32", "device", soft_double=True), tmp_path / "f32")
    assert (sc.load(tmp_path / "f32").predict(ROWS) == estimator.predict(ROWS)).mean() > 0.999


def test_equal_votes_of_boosted_machines_stay_equal():
    estimator = AdaBoostClassifier(SVC(C=0.1), n_estimators=4, random_state=0).fit(X, Y % 2)
    estimator.estimators_ = [
        SVC(C=c, gamma=g).fit(X, Y % 2) for c, g in ((1, 0.1), (9, 2), (0.1, 1), (5, 0.5))
    ]
    estimator.estimator_weights_ = np.full(4, 0.7)
    scores = estimator.decision_function(ROWS)
    assert (scores == 0).any(), "some rows tie"
    assert_same(sc.compile(estimator), estimator)


def test_refused():
    with pytest.raises(UnsupportedError, match="GaussianNB cannot be compiled"):
        read(VotingClassifier([("a", GaussianNB())]).fit(X, Y))
    estimator = VotingClassifier(MEMBERS).fit(X, Y)
    estimator.estimators_[0] = SVC().fit(X[Y < 3], Y[Y < 3])
    with pytest.raises(UnsupportedError, match="without some of the classes"):
        read(estimator)


def test_stacked_regressors():
    members = [("a", SVR()), ("b", make_pipeline(StandardScaler(), SVR(gamma=0.2))), ("c", Ridge())]
    for options in ({}, {"final_estimator": SVR(), "passthrough": True}):
        estimator = StackingRegressor(members, cv=2, **options).fit(X, X[:, 0] + Y)
        np.testing.assert_allclose(sc.compile(estimator).predict(ROWS), estimator.predict(ROWS), atol=1e-9)


def test_stacks_that_are_refused():
    process = StackingClassifier([("a", GaussianProcessClassifier(optimizer=None))], cv=2).fit(X, Y % 2)
    with pytest.raises(UnsupportedError, match="Gaussian process cannot be compiled in a stack"):
        read(process)
    estimator = StackingClassifier(STACKED[:2], cv=2).fit(X, Y)
    estimator.stack_method_ = ["predict_proba", "other"]
    with pytest.raises(ReadError, match="no probabilities"):
        read(estimator)
    estimator.stack_method_ = ["decision_function", "other"]
    with pytest.raises(ReadError, match="stack_method_ has 'other'"):
        read(estimator)
    estimator.stack_method_ = ["decision_function"]
    with pytest.raises(ReadError, match="a method for each"):
        read(estimator)
    estimator = StackingClassifier(STACKED[:2], cv=2).fit(X, Y)
    estimator.estimators_[0] = estimator
    with pytest.raises(ReadError, match="nested too deep"):
        read(estimator)


def test_damaged():
    estimator = VotingClassifier(MEMBERS, voting="hard").fit(X, Y)
    estimator.voting = "soft"
    with pytest.raises(UnsupportedError, match="gives no probabilities"):
        read(estimator)
    estimator.voting, estimator.weights = "hard", [1, 2]
    with pytest.raises(ReadError, match="weights are not numbers"):
        read(estimator)
    estimator.weights = None
    estimator.estimators_ = [Ridge().fit(X, Y)]
    with pytest.raises(UnsupportedError, match="no classifier"):
        read(estimator)
    estimator.estimators_ = []
    with pytest.raises(ReadError, match="not a list of estimators"):
        read(estimator)
    estimator = BaggingClassifier(SVC(), n_estimators=2).fit(X, Y)
    estimator.estimators_features_ = [np.array([0, 9])] * 2
    with pytest.raises(ReadError, match="numbers of 5 columns"):
        read(estimator)
    estimator = OutputCodeClassifier(SVC(), random_state=0).fit(X, Y)
    estimator.code_book_ = estimator.code_book_[:2]
    with pytest.raises(ReadError, match="code_book_ has shape"):
        read(estimator)
    estimator = AdaBoostClassifier(SVC(), n_estimators=2).fit(X, Y)
    estimator.estimator_weights_ = np.full(2, np.nan)
    with pytest.raises(ReadError, match="a weight for each"):
        read(estimator)

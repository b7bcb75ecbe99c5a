"""Wrappers of scikit-learn: how their machines are put together, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from read_cases import blobs, program_of, queries
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDOneClassSVM
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.model.svm import LabelRule
from svmcompile.read import read

X, Y = blobs(4)


def fitted(estimator, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def assert_same_answers(estimator, atol=1e-10):
    svm, rows = read(estimator), queries()
    program = program_of(svm)
    np.testing.assert_array_equal(program.predict(rows), estimator.predict(rows))
    for method in ("decision_function", "predict_proba", "score_samples"):
        if hasattr(estimator, method):
            wanted = getattr(estimator, method)(rows)
            np.testing.assert_allclose(getattr(program, method)(rows), wanted, atol=atol)
    return svm


def test_machines_with_one_kernel_become_one():
    estimator = fitted(OneVsRestClassifier(SVC()))
    svm = assert_same_answers(estimator)
    assert not svm.parts and svm.head is None and svm.label_rule is LabelRule.ARGMAX
    assert svm.n_vectors < sum(len(one.support_) for one in estimator.estimators_)
    assert len(np.unique(svm.vectors, axis=0)) == svm.n_vectors
    assert svm.source.kind == "scikit-learn OneVsRestClassifier(SVC)"


def test_machines_with_kernels_of_their_own_stand_side_by_side():
    svm = assert_same_answers(fitted(OneVsOneClassifier(SVC())))  # gamma="scale" differs by pair
    assert len(svm.parts) == 6 and svm.n_sums == 6
    assert svm.n_vectors == sum(part.n_vectors for part in svm.parts)


def test_equal_scalers_are_one_and_others_are_not():
    svm = assert_same_answers(fitted(make_pipeline(StandardScaler(), OneVsOneClassifier(SVC()))))
    assert len({id(part.front) for part in svm.parts}) == 1
    scales = [node for node in program_of(svm).body if isinstance(node, ir.Scale)]
    assert len(scales) == 1
    svm = assert_same_answers(fitted(OneVsOneClassifier(make_pipeline(StandardScaler(), SVC(gamma=0.1)))))
    assert len({id(part.front) for part in svm.parts}) == 6


@pytest.mark.parametrize("y", [Y, Y % 2], ids=["four", "two"])
@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestClassifier(LinearSVC()),
        OneVsOneClassifier(LinearSVC()),
        OneVsOneClassifier(SVC(gamma=0.2)),
        OneVsRestClassifier(SVC(probability=True, random_state=0)),
        CalibratedClassifierCV(SVC(gamma=0.2), cv=3),
        CalibratedClassifierCV(SVC(decision_function_shape="ovo"), cv=3, method="isotonic"),
        CalibratedClassifierCV(SVC(), ensemble=False),
        CalibratedClassifierCV(OneVsOneClassifier(LinearSVC()), cv=2),
        CalibratedClassifierCV(CalibratedClassifierCV(LinearSVC(), cv=2), cv=2),
        OneVsRestClassifier(CalibratedClassifierCV(SVC(), cv=2)),
        OneVsRestClassifier(make_pipeline(StandardScaler(), SGDClassifier(random_state=0))),
        GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 5]}, cv=2),
        RandomizedSearchCV(OneVsRestClassifier(SVC()), {"estimator__C": [1, 5]}, n_iter=2, cv=2),
        SGDClassifier(loss="squared_hinge", random_state=0),
        OneVsRestClassifier(LogisticRegression()),
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        LinearSVC(multi_class="crammer_singer"),
    ],
    ids=lambda one: str(one).replace("\n", "").replace(" ", "")[:60],
)
def test_answers(estimator, y):
    assert_same_answers(fitted(estimator, y), atol=1e-8)


def test_text_labels_and_one_class():
    assert_same_answers(fitted(CalibratedClassifierCV(SVC(), cv=2), np.array(list("abcd"))[Y]))
    for estimator in (SGDOneClassSVM(random_state=0), OneClassSVM(nu=0.2)):
        assert_same_answers(estimator.fit(X))


def test_frozen_estimators():
    frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn before 1.6 has none")
    inner = fitted(SVC())
    estimator = CalibratedClassifierCV(frozen.FrozenEstimator(inner)).fit(X, Y)
    svm = assert_same_answers(estimator)
    assert svm.counts, "one machine, its vectors grouped by class"


def test_exact_ties_between_pairs():
    """A score of zero votes for the second class of an SVC and the first of a LinearSVC."""
    for inner in (SVC(kernel="linear"), LinearSVC()):
        estimator = fitted(OneVsOneClassifier(inner))
        for one in estimator.estimators_:
            if isinstance(one, LinearSVC):
                one.coef_, one.intercept_ = np.zeros_like(one.coef_), np.zeros(1)
            else:
                one.dual_coef_ = one._dual_coef_ = np.zeros_like(one.dual_coef_)
                one._intercept_, one.intercept_ = np.zeros(1), np.zeros(1)
        assert_same_answers(estimator)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GridSearchCV(SVC(), {"C": [1]}, refit=False, cv=2), "refit=True"),
        (OneVsRestClassifier(GaussianNB()), "GaussianNB cannot be compiled"),
        (
            OneVsOneClassifier(CalibratedClassifierCV(LinearSVC(), cv=2)),
            "OneVsOneClassifier inside",
        ),
        (make_pipeline(StandardScaler(), GaussianNB()), "GaussianNB cannot be compiled"),
    ],
)
def test_refused(estimator, message):
    with pytest.raises(UnsupportedError, match=message):
        read(fitted(estimator))


def test_refused_by_what_it_was_trained_for():
    with pytest.raises(UnsupportedError, match="not fitted"):
        read(CalibratedClassifierCV(SVC()))
    with pytest.raises(UnsupportedError, match="two classes apart"):
        read(fitted(OneVsRestClassifier(SVR())))
    kernel = X @ X.T
    with pytest.raises(UnsupportedError, match="columns of its own"):
        read(OneVsOneClassifier(SVC(kernel="precomputed")).fit(kernel, Y))


def tempered(inner, y=Y, **options):
    try:
        return fitted(CalibratedClassifierCV(inner, method="temperature", **options), y)
    except ValueError:
        pytest.skip("this scikit-learn has no calibration by temperature")


def test_temperature():
    for y in (Y, Y % 2, np.array(list("abcd"))[Y]):
        assert_same_answers(tempered(SVC(), y, cv=3))
        assert_same_answers(tempered(LinearSVC(), y, ensemble=False))
    with pytest.raises(UnsupportedError, match="gives probabilities alone"):
        read(tempered(CalibratedClassifierCV(SVC(), cv=2), cv=2))
    estimator = tempered(SVC(), cv=2)
    estimator.calibrated_classifiers_[0].calibrators[0].beta_ = -1.0
    with pytest.raises(ReadError, match="beta_ is -1"):
        read(estimator)


def test_damaged():
    estimator = fitted(CalibratedClassifierCV(LinearSVC(), cv=2))
    estimator.calibrated_classifiers_[0].calibrators[0].a_ = np.nan
    with pytest.raises(ReadError, match="not finite"):
        read(estimator)
    estimator = fitted(OneVsRestClassifier(LinearSVC()))
    estimator.estimators_ = estimator.estimators_[:2]
    with pytest.raises(ReadError, match="list of 4"):
        read(estimator)


def test_the_digest_is_over_heads_and_parts():
    one, two = (fitted(CalibratedClassifierCV(LinearSVC(C=0.1), cv=2)) for _ in range(2))
    assert read(one).source.sha256 == read(two).source.sha256
    two.calibrated_classifiers_[0].calibrators[0].b_ += 0.1
    assert read(one).source.sha256 != read(two).source.sha256


def test_methods_take_what_they_can():
    estimator = fitted(CalibratedClassifierCV(SVC(), ensemble=False))
    program = sc.compile(estimator, method="reduced-set", budget=40)
    assert np.abs(program.predict_proba(X) - estimator.predict_proba(X)).mean() < 0.02  # votes jump
    with pytest.raises(UnsupportedError, match="post-processes its sums"):
        sc.compile(estimator, method="anytime")
    with pytest.raises(UnsupportedError, match="one kernel machine"):
        sc.compile(fitted(OneVsOneClassifier(SVC())), method="reduced-set")
    plain = fitted(SVC(probability=True, random_state=0))
    program = sc.compile(plain, method="anytime", force=True)
    assert program.output("probabilities") is None
    assert any("probabilities" in note or "left out" in note for note in program.origin.notes)
    assert (program.predict(X) == plain.predict(X)).all()


def test_labels_by_probability():
    estimator = fitted(SVC(probability=True, random_state=0, C=0.1))
    rows = queries(2000)
    program = sc.compile(estimator, most_probable=True)
    wanted = estimator.predict_proba(rows).argmax(axis=1)
    np.testing.assert_array_equal(program.predict(rows), wanted)
    assert (wanted != estimator.predict(rows)).any(), "the vote is another rule"
    np.testing.assert_array_equal(sc.compile(estimator).predict(rows), estimator.predict(rows))
    with pytest.raises(OptionError, match="no probabilities"):
        sc.compile(fitted(SVC()), most_probable=True)


def test_names_of_preprocessing_and_of_wrappers_are_kept_apart():
    binned = make_column_transformer(
        (KBinsDiscretizer(3, strategy="uniform"), [0]),
        (KBinsDiscretizer(4, strategy="uniform"), [2]),
        (StandardScaler(), [1]),
    )
    voters = [(str(C), SVC(C=C)) for C in (1, 9, 20, 30)]
    estimator = fitted(make_pipeline(binned, VotingClassifier(voters)))
    assert {"columns", "columns2", "columns3"} <= {*estimator_tables(estimator)}
    assert_same_answers(estimator)


def estimator_tables(estimator):
    """Names of tables before and behind the machines."""
    svm = read(estimator)
    assert svm.head
    return [*svm.front.tables, *svm.head.tables]

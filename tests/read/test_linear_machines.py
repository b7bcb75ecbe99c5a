"""Linear machines of scikit-learn: labels, scores, probabilities and values on 10,000 rows each."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import blobs, queries
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline

import svmcompile as sc
from svmcompile.commands.support import OF_SEVERAL, make
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.model.svm import Link
from svmcompile.read import read
from svmcompile.read.sklearn.linear import LINEAR_MACHINES

pytestmark = pytest.mark.filterwarnings("ignore")  # of training that did not converge
LOSSES = (
    "hinge", "squared_hinge", "perceptron", "log_loss", "modified_huber", "squared_error", "huber",
    "epsilon_insensitive", "squared_epsilon_insensitive",
)  # fmt: skip
METHODS = ("predict", "decision_function", "predict_proba", "score_samples")


def assert_same(estimator, rows):
    program = sc.compile(estimator)
    for method in METHODS:
        if hasattr(estimator, method):
            wanted, found = (getattr(one, method)(rows) for one in (estimator, program))
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert (program.output("probabilities") is None) == (not hasattr(estimator, "predict_proba"))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LINEAR_MACHINES)
def test_every_estimator(name, n_classes):
    X, y = blobs(n_classes)
    y = np.stack([y, X[:, 0]], axis=1) if name in OF_SEVERAL else y
    assert_same(make(name).fit(X, y), queries(10_000))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss(loss, n_classes):
    """Rows that no class wants have equal probabilities, far ones those of 0 and 1."""
    estimator = SGDClassifier(loss=loss, random_state=0).fit(*blobs(n_classes))
    assert_same(estimator, 3 * queries(10_000))


def test_labels_of_every_type_behind_a_kernel_map():
    X, y = blobs(3)
    for names in (["a", "b", "c"], [-1.0, 0.0, 2.0], [7, -3, 0]):
        estimator = make_pipeline(Nystroem(n_components=20, random_state=0), LogisticRegression())
        estimator.fit(X, np.array(names)[y])
        program, rows = sc.compile(estimator), queries(10_000)
        np.testing.assert_array_equal(program.predict(rows), estimator.predict(rows))
        np.testing.assert_allclose(program.predict_proba(rows), estimator.predict_proba(rows), atol=1e-9)


def test_links():
    """Older estimators say how many classes were trained; newer ones always use the softmax."""
    estimator = LogisticRegression().fit(*blobs(3))
    assert read(estimator).link is Link.SOFTMAX
    estimator.multi_class = "ovr"
    assert read(estimator).link is Link.LOGISTIC
    estimator.multi_class = "other"
    with pytest.raises(ReadError, match="multi_class is 'other'"):
        read(estimator)
    estimator = LogisticRegression().fit(*blobs(2))
    assert read(estimator).link is Link.LOGISTIC
    estimator.multi_class = "multinomial"
    with pytest.raises(UnsupportedError, match="twice the score"):
        read(estimator)


def test_links_are_part_of_the_digest():
    log, huber = (SGDClassifier(loss=loss, random_state=0).fit(*blobs(2)) for loss in LOSSES[3:5])
    huber.coef_, huber.intercept_ = log.coef_, log.intercept_
    assert read(log).source.sha256 != read(huber).source.sha256


def test_refused():
    with pytest.raises(UnsupportedError, match="not fitted"):
        read(Ridge())


def test_whole_numbers_leave_probabilities_out():
    estimator = LogisticRegression().fit(*blobs(3))
    files = sc.emit(sc.compile(estimator), "c", "m", "q15", "device", ranges=(-9, 9))
    assert "predict_proba" not in str(files["m.h"])


def test_sql_and_the_most_probable_class():
    X, y = blobs(3)
    estimator, rows = LogisticRegression().fit(X, y), queries(50)
    model = sc.build(estimator, target="sql")
    np.testing.assert_allclose(model.predict_proba(rows), estimator.predict_proba(rows), atol=1e-12)
    program = sc.compile(estimator, most_probable=True)
    np.testing.assert_array_equal(program.predict(rows), estimator.predict(rows))

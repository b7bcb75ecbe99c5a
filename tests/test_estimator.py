"""DTSVMClassifier: scikit-learn's own checks, and the way to a compiled program."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmcompile as sc
from svmcompile.accelerate.dtsvm.options import TrainOptions


@parametrize_with_checks(
    [
        sc.DTSVMClassifier(),
        sc.DTSVMClassifier(mode="1ao", C=10, gamma=1),
        sc.DTSVMClassifier(ceiling=40, C="1,10", gamma=1, min_leaf=5, max_ceiling=40),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_parameters_are_the_training_options():
    signature = inspect.signature(sc.DTSVMClassifier).parameters
    options = TrainOptions()
    assert set(signature) == {field.name for field in fields(options)}
    for name, parameter in signature.items():
        assert str(parameter.default) == str(getattr(options, name))


def test_one_leaf_is_the_plain_svm_and_compiles_as_such():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {label}" for label in range(10)])
    model = sc.DTSVMClassifier(C=5, gamma=0.001, scale=False, ceiling=2000).fit(X[:900], names[y[:900]])
    plain = SVC(C=5, gamma=0.001).fit(X[:900], names[y[:900]])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.score(X[900:], names[y[900:]]) == plain.score(X[900:], names[y[900:]])
    assert sc.compile(model) is model.program_
    with pytest.raises(sc.OptionError, match="compiled already"):
        sc.compile(model, method="metric-tree", X=X)


def test_a_tree_of_leaves_scores_as_it_predicts():
    X, y = make_moons(600, noise=0.2, random_state=0)
    model = sc.DTSVMClassifier(C=10, gamma=1, ceiling=100, max_ceiling=100).fit(X, y)
    assert model.program_.origin.details["leaves"] > 3
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_bad_parameters_are_value_errors_as_scikit_learn_has_them():
    X, y = make_moons(60, random_state=0)
    with pytest.raises(ValueError, match="kernel='magic' is unknown"):
        sc.DTSVMClassifier(kernel="magic").fit(X, y)

"""The field of an SVM: values as scikit-learn has them, derivatives as differences show them."""

from __future__ import annotations

import numpy as np
import pytest
from metric_cases import KERNELS, machine, points
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmcompile.accelerate.fitting import field as field_module
from svmcompile.accelerate.fitting.field import Field
from svmcompile.read import read

STEP = 1e-5


def differences(function, places):
    """Central differences of function(places) along every feature, as the last axis."""
    steps = STEP * np.eye(places.shape[1])
    return np.stack([(function(places + e) - function(places - e)) / (2 * STEP) for e in steps], axis=-1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 4])
def test_gradient_is_that_of_central_differences(kernel, classes):
    field, places = Field(read(machine(kernel, classes)[0])), points(20, 3, seed=1)
    found, meant = field.gradients(places), differences(field.values, places)
    assert np.abs(found - meant).max() <= 1e-6 * np.abs(meant).max()
    values, slopes = field.values_and_gradients(places)
    assert np.array_equal(slopes, found) and np.array_equal(values, field.values(places))
    some = [1, 4] if classes == 4 else [0]
    values, slopes = field.expansion(places[3], some)
    np.testing.assert_allclose(values, field.values(places)[3], atol=1e-12)
    np.testing.assert_allclose(slopes, found[3, some], atol=1e-12 * np.abs(found).max())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_hessian_is_that_of_central_differences(kernel, classes):
    field, places = Field(read(machine(kernel, classes)[0])), points(8, 3, seed=1)
    found, meant = field.hessians(places), differences(field.gradients, places)
    assert np.abs(found - meant).max() <= 1e-6 * np.abs(meant).max()


@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_the_decision_function(kernel):
    model, X = machine(kernel, 3)
    model.decision_function_shape = "ovo"
    np.testing.assert_allclose(
        Field(read(model)).values(X), model.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_blocks_change_nothing(monkeypatch):
    model, X = machine()
    field = Field(read(model))
    whole = field.values_and_gradients(X)
    monkeypatch.setattr(field_module, "BLOCK_VALUES", 7 * len(field.vectors))
    for found, meant in zip(field.values_and_gradients(X), whole, strict=True):
        np.testing.assert_allclose(found, meant, rtol=1e-12, atol=1e-12)


def test_preprocessing_comes_first():
    X = points(100, 3) * [1, 100, 0.01] + 7
    model = make_pipeline(StandardScaler(), SVC()).fit(X, X[:, 0] > 7)
    svm = read(model)
    np.testing.assert_allclose(Field(svm).values(svm.prepared(X))[:, 0], model.decision_function(X))

"""What is tried: methods that a person names are among it, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR

from svmcompile.choose.candidates import candidates
from svmcompile.choose.wishes import read_wishes
from svmcompile.errors import OptionError
from svmcompile.read.sklearn.estimators import read_estimator


@pytest.mark.parametrize("method", ["certified", "h1-tree", "linear", "proto", "reduced-set"])
def test_a_named_method_is_tried(method: str) -> None:
    svm = read_estimator(SVC().fit(*load_iris(return_X_y=True)), "SVC")
    tried = {one.method for one in candidates(svm, read_wishes({"methods": method}))}
    assert tried == {"exact", method}


def test_one_of_those_named_is_enough() -> None:
    svm = read_estimator(SVR().fit(*load_iris(return_X_y=True)), "SVR")
    tried = {one.method for one in candidates(svm, read_wishes({"methods": "certified,linear"}))}
    assert tried == {"exact", "linear"}


@pytest.mark.parametrize(
    ("estimator", "wishes"),
    [
        (SVC(), {"methods": "h1-tree", "same_labels": True}),
        (SVC(kernel="linear"), {"methods": "linear"}),
        (SVC(), {"methods": "certified", "precision": "q7", "cpu": "cortex-m4f"}),
        (SVR(), {"methods": "certified"}),
    ],
)
def test_a_named_method_that_cannot_be_tried_is_refused(estimator: Any, wishes: dict[str, Any]) -> None:
    svm = read_estimator(estimator.fit(*load_iris(return_X_y=True)), "the model")
    with pytest.raises(OptionError, match=f"method '{wishes['methods']}' cannot be tried"):
        candidates(svm, read_wishes(wishes))

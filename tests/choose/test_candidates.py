"""What is tried: methods that a person names are among it, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR

from svmcompile.choose.candidates import candidates
from svmcompile.choose.search import grouped
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


@pytest.mark.parametrize(
    ("wishes", "precisions"),
    [
        ({"cpu": "cortex-m4f", "flash": "8K"}, {"f32", "q15", "q7"}),
        ({"cpu": "cortex-m4f", "flash": "8K", "precision": "q7"}, {"q7"}),
        ({"max_bytes": "8K", "targets": "c,onnx"}, {"f32"}),
        ({"max_bytes": "8K", "precision": "f64"}, {"f64"}),
    ],
)
def test_what_counts_its_bytes_in_a_number_type_is_trained_for_each(
    wishes: dict[str, Any], precisions: set[str]
) -> None:
    svm = read_estimator(SVC().fit(*load_iris(return_X_y=True)), "SVC")
    found = candidates(svm, read_wishes({"methods": "proto,reduced-set", **wishes}))
    trained = [group for group in grouped(found) if group[0].method == "proto"]
    assert len(trained) == 2 * len(precisions), "each of two sizes once in each number type"
    assert {one.precision for group in trained for one in group} == precisions
    for one in (one for group in trained for one in group):
        assert one.tuned["precision"] == one.precision
        assert one.tuned["tune"] == ("portable" if "cpu" in wishes else "host")
        assert one.precision == "f32" or one.title.endswith(one.precision)
    others = [group for group in grouped(found) if group[0].method == "reduced-set"]
    assert len(others) == len({tuple(one.options.items()) for group in others for one in group})


def test_sizes_leave_room_for_code_and_small_ones_come_where_labels_limit_them() -> None:
    svm = read_estimator(SVC().fit(*load_iris(return_X_y=True)), "SVC")

    def sizes(**wishes: Any) -> list[int]:
        asked = read_wishes({"methods": "proto", "precision": "q7", "cpu": "cortex-m0+", **wishes})
        return [one.options["max_bytes"] for one in candidates(svm, asked) if one.method == "proto"]

    assert sizes() == [2048, 8192]
    assert sizes(flash="9K") == sizes(max_bytes="8K") == sizes(flash="64K", max_bytes="8K") == [2048, 8192]
    assert sizes(flash="9K", agreement=0.97) == [2048, 8192, 512]
    assert sizes(flash="1K") == [128, 512]

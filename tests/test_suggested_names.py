"""Names are taken in any case, with dashes or underscores; a misspelt one is answered with the nearest."""

from __future__ import annotations

import re

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.registry import METHODS
from svmcompile.errors import OptionError, find_name


@pytest.fixture(scope="module")
def model() -> SVC:
    return SVC().fit(*load_iris(return_X_y=True))


def test_case_and_dashes_do_not_matter(model: SVC) -> None:
    assert find_name("Metric_Tree", METHODS, "method") == "metric-tree"
    program = sc.compile(model, method="Reduced_Set", Budget=5, synthetic_rows=10)
    assert program.origin.method == "reduced-set" and dict(program.origin.options)["budget"] == 5
    files = sc.emit(program, "C", "iris", "F64", "Portable", kit="CMake")
    assert "iris.c" in files and any(path.startswith("cmake/") for path in files)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"method": "reduced"}, "unknown method 'reduced' (did you mean 'reduced-set'?); known: "),
        ({"method": "reduced-set", "bugdet": 3}, "no option 'bugdet' (did you mean 'budget'?); it has: "),
        ({"method": "auto", "X": [[0.0] * 4] * 30, "agrement": 0.9}, "(did you mean 'agreement'?)"),
        (
            {"method": "anytime", "ordering": "minwz"},
            "is unknown (did you mean 'min-wz'?)",
        ),
        ({"method": "abacus"}, "unknown method 'abacus'; known: "),
    ],
)
def test_misspelt_methods_and_options(model: SVC, call: dict[str, object], words: str) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        sc.compile(model, **call)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ({"target": "onx"}, "onnx"),
        ({"precision": "float32"}, "f32"),
        ({"profile": "portabel"}, "portable"),
        ({"tables": "sprase"}, "sparse"),
        ({"kit": "arduno", "profile": "device"}, "arduino"),
    ],
)
def test_misspelt_forms(model: SVC, call: dict[str, str], meant: str) -> None:
    with pytest.raises(OptionError, match=f"did you mean '{meant}'"):
        sc.emit(sc.compile(model), **call)

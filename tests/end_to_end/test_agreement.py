"""Original = interpreter = C = ONNX, on every kind of model, with rows on the decision boundary."""

from __future__ import annotations

import numpy as np
import pytest

import svmcompile as sc
from examples.agreement import MODELS, ROWS, compare_case, rows_for
from svmcompile.read import read

FEWER = 10_000  # rows than the example's; as many of them on the boundary
RELATIVE = 1e-9  # of the sum of absolute coefficients times the largest kernel value, in float64


def test_there_are_enough_models():
    assert len(MODELS) >= 20 and ROWS >= 20_000


@pytest.mark.compile
@pytest.mark.parametrize("name", MODELS)
def test_all_forms_agree(name, tmp_path):
    case = MODELS[name]()
    report = compare_case(case, tmp_path, FEWER)
    tolerance = RELATIVE * _scale(case)
    for one in report.comparisons:
        assert one.rows == FEWER
        assert not one.broken, one
        assert one.labels_differing_beyond_rounding == 0, one
        assert one.max_error_over_bound <= 1, one
        if one.precision == "f64":
            assert one.labels_differing == 0, one
            assert one.max_decision_error <= tolerance, one
    forms = [(one.backend, one.precision) for one in report.comparisons]
    assert forms == [
        ("interpreter", "f64"),
        ("host c", "f64"),
        ("portable c", "f64"),
        ("onnx", "f64"),
        ("host c", "f32"),
        ("portable c", "f32"),
        ("onnx", "f32"),
    ]


def _scale(case) -> float:
    """Sum of absolute coefficients, times the largest kernel value where kernels exceed one."""
    svm = read(case.model)
    largest = max(1.0, float(np.abs(svm.kernel.values(svm.prepared(case.X), svm.vectors)).max()))
    return largest * float(np.abs(svm.coefficients).sum(axis=1).max())


def test_rows_really_reach_the_boundary():
    case = MODELS["svc-rbf-2"]()
    program = sc.compile(case.model)
    values = np.abs(program.decision_function(rows_for(case, program)))
    assert (values < 1e-4).sum() >= 1_000


@pytest.mark.compile
def test_a_wrong_model_is_found_out(tmp_path):
    """The comparison itself must be able to fail."""
    case, other = MODELS["svc-rbf-2"](), MODELS["svc-rbf-2-negative-labels"]()
    program = sc.compile(case.model)
    sc.write(sc.emit(program, ("c", "onnx"), "model", "f64"), tmp_path)
    report = sc.verify(tmp_path, other.model, rows_for(case, program, 2_000))
    assert not report.ok and all(one.broken for one in report.comparisons)

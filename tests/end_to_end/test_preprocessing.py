"""Pipelines of every transformer: original = interpreter = C = ONNX, missing features too."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import compare_case, rows_for
from preprocessing import MODELS, ROWS

import svmcompile as sc
from svmcompile.read.transformers import TRANSFORMERS


@pytest.mark.compile
@pytest.mark.parametrize("name", MODELS)
def test_all_forms_agree(name, tmp_path):
    report = compare_case(MODELS[name](), tmp_path, ROWS)
    assert report.rows == ROWS >= 10_000
    assert report.rows_not_finite == 0
    assert len(report.comparisons) == 7
    for one in report.comparisons:
        assert not one.broken, one
        assert one.labels_differing_beyond_rounding == 0, one
        assert one.max_error_over_bound <= 1, one
        if one.precision == "f64":
            assert one.labels_differing == 0, one


def test_rows_have_missing_features_where_an_imputer_takes_them():
    case = MODELS["imputer-mean-svc"]()
    rows = rows_for(case, sc.compile(case.model), ROWS)
    assert np.isnan(rows).any(axis=1).mean() > 0.5


def test_the_models_have_the_transformers_a_user_may_have():
    met = {type(step).__name__ for make in MODELS.values() for step in _members(make().model)}
    rare = {"SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect", "RFECV"}
    rare |= {"SequentialFeatureSelector", "MissingIndicator", "FunctionTransformer"}
    assert set(TRANSFORMERS) - rare <= met


def _members(model):
    if hasattr(model, "steps"):
        return [one for _, step in model.steps for one in _members(step)]
    return [model]

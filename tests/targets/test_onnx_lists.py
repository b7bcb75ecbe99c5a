"""Lists of half-spaces in ONNX: the interpreter's answers, one chain of tests per list."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from programs.lists import RECIPES, list_program, list_rows
from targets.onnx_cases import NUMBERS, PRECISIONS, agree, content, outputs

from svmcompile.ir.interpret import interpret

each_precision = pytest.mark.parametrize("precision", PRECISIONS)


@each_precision
@pytest.mark.parametrize("case", RECIPES)
def test_scores_and_labels(case: str, precision: str) -> None:
    program = list_program(RECIPES[case])
    rows = list_rows(RECIPES[case], program, 3000, precision)
    assert agree(program, rows, precision) < 30
    assert agree(program, rows[:500], precision, onnx_form="plain") < 30


@each_precision
@pytest.mark.parametrize("case", RECIPES)
def test_few_rows_or_none(case: str, precision: str) -> None:
    program = list_program(RECIPES[case])
    for count in (1, 0):
        rows = list_rows(RECIPES[case], program, count, precision)
        found = outputs(program, rows, precision)
        assert found["label"].tolist() == interpret(program, rows)["label"].tolist()


@each_precision
@pytest.mark.parametrize("case", ["one", "pairs", "dag", "int8"])
def test_nan_is_held_by_no_half_space(case: str, precision: str) -> None:
    program = list_program(RECIPES[case])
    rows = list_rows(RECIPES[case], program, 6, precision)
    rows[:3, 0], rows[3:, 1] = np.nan, np.inf
    found, meant = outputs(program, rows.astype(NUMBERS[precision]), precision), interpret(program, rows)
    assert np.array_equal(found["scores"].reshape(meant["scores"].shape), meant["scores"])
    assert found["label"].tolist() == meant["label"].tolist()


def test_one_operator_walks_all_lists() -> None:
    model = onnx.load_from_string(content(list_program(RECIPES["pairs"]), "f32"))
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("TreeEnsembleRegressor") == 1
    assert kinds.count("Gemm") == 2  # the planes, and the votes


def test_int8_planes_stay_bytes() -> None:
    model = onnx.load_from_string(content(list_program(RECIPES["wide int8"]), "f32"))
    bytes_of = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT8]
    assert [t.dims[1] for t in bytes_of] == [70]

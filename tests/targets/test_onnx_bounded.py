"""Bounded sums and votes in ONNX: every label is the original's, whatever the batch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from bounded_cases import (
    TOLERANCE,
    labelled_rows,
    machine,
    odd_rows,
    regressor,
    sums,
    value_program,
    votes,
)
from onnx_cases import NUMBERS, PRECISIONS, content, outputs
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.program import Program
from svmcompile.runtime.onnx import load_onnx
from svmcompile.targets.onnx.nodes.bounded import _chunks

PROGRAMS = [*(f"rbf_{shape}" for shape in ("all", "odd", "none", "few", "some")), "poly_all", "poly_few"]


def program_of(name: str) -> Program:
    kind = name.partition("_")[0]
    return sums(kind)[name]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_labels_of_bounded_sums(name: str, precision: Any) -> None:
    program, kind = program_of(name), name.partition("_")[0]
    rows, wanted = labelled_rows(kind)
    found = outputs(program, rows.astype(NUMBERS[precision]), precision)
    assert list(found) == ["label"]
    assert (program.labels.array()[found["label"]] == wanted).all()  # type: ignore[union-attr]
    odd = odd_rows(rows.shape[1]).astype(NUMBERS[precision])
    labels = outputs(program, odd, precision)["label"]
    assert (program.labels.array()[labels] == sc.compile(machine(kind)).predict(odd)).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["iris", "poly"])
def test_labels_of_bounded_votes(kind: str, precision: Any) -> None:
    rows, wanted = labelled_rows(f"vote {kind}")
    for program in votes(kind).values():
        found = outputs(program, rows.astype(NUMBERS[precision]), precision)["label"]
        assert (program.labels.array()[found] == wanted).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_values_within_a_tolerance(precision: Any) -> None:
    rows = labelled_rows("rbf")[0].astype(NUMBERS[precision])
    program = value_program()
    found = outputs(program, rows, precision)["value"].ravel()
    assert np.abs(found - regressor().predict(rows)).max() <= TOLERANCE
    assert np.abs(found - program.predict(rows)).max() <= 2 * TOLERANCE
    assert np.isnan(outputs(program, odd_rows(rows.shape[1])[:3], precision)["value"]).all()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_batches_of_few_rows(count: int) -> None:
    rows, wanted = labelled_rows("rbf")
    program = program_of("rbf_some")
    found = outputs(program, rows[:count], "f32")["label"]
    assert (program.labels.array()[found] == wanted[:count]).all()  # type: ignore[union-attr]
    undecided = np.flatnonzero(program.trace(rows.astype(np.float64)).stop < 0)[:count]
    labels = outputs(program, rows[undecided], "f32")["label"]
    assert len(undecided) == count
    assert (program.labels.array()[labels] == wanted[undecided]).all()  # type: ignore[union-attr]


def test_chunks_grow_and_end_with_stages() -> None:
    assert _chunks(np.array([4, 8, 12, 16, 20, 40, 64])) == [2, 6]
    assert _chunks(np.array([3])) == [0]
    assert _chunks(np.arange(1, 2000)) == [11, 47, 191, 1998]


def test_equal_programs_give_equal_files() -> None:
    assert content(program_of("rbf_few"), "f32") == content(program_of("rbf_few"), "f32")


@pytest.mark.parametrize("method", ["anytime", "certified"])
def test_stages_without_rows_are_not_run_and_the_report_says_so(method: str) -> None:
    """Alone, together and none at all: each row gets the label of the original."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 1200)
    X = (random.normal(size=(1200, 4)) + 1.2 * y[:, None]).astype(np.float32).astype(np.float64)
    model = SVC(gamma=0.05).fit(X, y)
    program = sc.compile(model, method=method, X=X)
    files = sc.emit(program, "onnx", "m")
    graph = onnx.load_from_string(bytes(files["m.onnx"])).graph  # type: ignore[arg-type]
    assert "If" in {node.op_type for node in graph.node}
    told = json.loads(str(files["m.json"]))["graph"]
    assert "once they are decided" in told["early"] and told["operators"] > len(graph.node)
    found = load_onnx(bytes(files["m.onnx"]), program.labels, 4)  # type: ignore[arg-type]
    rows = (random.normal(size=(2000, 4)) + 0.6).astype(np.float32).astype(np.float64)
    assert (found.predict(rows) == model.predict(rows)).all()
    assert [found.predict(row[None])[0] for row in rows[:100]] == model.predict(rows[:100]).tolist()
    assert found.predict(rows[:0]).shape == (0,)

"""SVMClassifier in our graphs: scikit-learn's labels and values where it serves; where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from sklearn.svm import SVC, SVR
from targets.onnx_cases import agree, content

import svmcompile as sc
from svmcompile.ir.interpret import interpret
from svmcompile.runtime.onnx import load_onnx

D = 3


def cloud(classes: int, rows: int, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, rows)
    return (random.normal(size=(rows, D)) + y[:, None]).astype(np.float32).astype(np.float64), y


def operators(program: Any, form: str, precision: str = "f32") -> list[str]:
    nodes = onnx.load_from_string(content(program, precision, onnx_form=form)).graph.node
    return [node.op_type for node in nodes if node.domain]


def loaded(program: Any, form: str = "operator") -> Any:
    return load_onnx(content(program, "f32", onnx_form=form), program.labels, program.n_features)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_sums_labels_and_probabilities(classes: int) -> None:
    X, y = cloud(classes, 80)
    model = SVC(C=2, probability=True, random_state=0).fit(X, y)
    program, rows = sc.compile(model), cloud(classes, 2000, 1)[0]
    assert operators(program, "operator") == ["SVMClassifier"] * 2
    for form in ("auto", "operator"):
        found = loaded(program, form)
        assert (found.predict(rows) == model.predict(rows)).all()
        assert np.abs(found.decision_function(rows) - model.decision_function(rows)).max() < 1e-5
        assert np.abs(found.predict_proba(rows) - model.predict_proba(rows)).max() < 1e-5
    agree(sc.compile(SVC(C=2).fit(X, y)), rows, "f32", onnx_form="operator")


@pytest.mark.parametrize("break_ties", [False, True])
def test_rows_on_the_boundary(break_ties: bool) -> None:
    """Labels without a pattern: often each class has one vote. The first row is as far from each vector."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2)).astype(np.float32).astype(np.float64)
    model = SVC(gamma=2.0, break_ties=break_ties).fit(X, np.arange(60) % 3)
    program = sc.compile(model)
    rows = np.vstack([np.full((1, 2), 1e6), random.normal(size=(3000, 2)).astype(np.float32)])
    votes = np.sort(np.eye(3)[_winners(model, rows)].sum(axis=1), axis=1)
    assert (votes[:, 2] == 1).sum() > 10
    for form in ("auto", "plain", "operator"):
        agree(program, rows, "f32", onnx_form=form)


def _winners(model: SVC, rows: Any) -> Any:
    """The class that wins each pair."""
    model.decision_function_shape, pairs = "ovo", np.array([(0, 1), (0, 2), (1, 2)])
    ahead = model.decision_function(rows) > 0
    model.decision_function_shape = "ovr"
    return np.where(ahead, pairs[:, 0], pairs[:, 1])


def test_a_score_of_zero_is_of_the_second_class() -> None:
    X = np.array([[-1.0], [1.0]])
    model = SVC(gamma=0.5).fit(X, [7, 9])
    found = loaded(sc.compile(model))
    assert found.decision_function([[0.0]]).tolist() == [0.0]
    assert found.predict([[0.0], [-0.1], [0.1]]).tolist() == model.predict([[0.0], [-0.1], [0.1]]).tolist()


@pytest.mark.parametrize("features", [1, 3, 70])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_that_are_not_finite_have_no_score(features: int, classes: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, features)).astype(np.float32).astype(np.float64)
    program = sc.compile(SVC().fit(X, np.arange(40) % classes))
    rows = X[:5].copy()
    rows[0, 0], rows[1, -1], rows[2, 0], rows[3] = np.inf, np.nan, 1e30, -3e38
    found, wanted = loaded(program).outputs(rows), interpret(program, rows)
    assert (np.isnan(found["scores"]) == np.isnan(wanted["scores"].reshape(found["scores"].shape))).all()
    assert found["label"].tolist() == program.predict(rows).tolist()


def test_where_the_operator_serves() -> None:
    X, y = cloud(3, 60)
    small, large = sc.compile(SVC().fit(X, y)), sc.compile(SVC().fit(*cloud(3, 600)))
    assert [operators(small, form) for form in ("auto", "operator", "plain")] == [["SVMClassifier"]] * 2 + [
        []
    ]
    assert [operators(large, form) for form in ("auto", "operator")] == [[], ["SVMClassifier"]]
    assert operators(small, "operator", "f64") == []
    assert operators(sc.compile(SVC(kernel="poly").fit(X, y)), "operator") == []
    assert operators(sc.compile(SVR().fit(X, y)), "operator") == ["SVMClassifier"]


def test_a_graph_of_one_row_has_the_operator_for_larger_models() -> None:
    program = sc.compile(SVC().fit(*cloud(3, 600)))
    graph = onnx.load_from_string(content(program, "f32", onnx_batch=1)).graph
    assert "SVMClassifier" in {node.op_type for node in graph.node}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "labels", [np.array([-3, 70_000, 5]), np.array(["b", "é", "a"])], ids=["int", "str"]
)
def test_probabilities_and_labels_come_from_one_operator(classes: int, labels: Any) -> None:
    """Of rows far from zero too, which the operator takes as they come or less their centre."""
    X, y = cloud(classes, 80)
    for offset in (0.5, 1000.0):
        model = SVC(C=2, gamma=0.5, probability=True, random_state=0).fit(X + offset, labels[y])
        program = sc.compile(model)
        graph = content(program, "f32", onnx_form="operator", onnx_outputs="label,probabilities")
        kinds = [node.op_type for node in onnx.load_from_string(graph).graph.node]
        assert kinds == ["Sub"] * (offset == 1000.0) + ["SVMClassifier", "Gemm"]
        found = load_onnx(graph, program.labels, program.n_features)
        rows = (cloud(classes, 10_000, 1)[0] + offset).astype(np.float32).astype(np.float64)
        sure = np.abs(np.atleast_2d(model.decision_function(rows).T)).min(axis=0) > 1e-4
        assert sure.mean() > 0.99 and (found.predict(rows) == model.predict(rows))[sure].all()
        assert np.abs(found.predict_proba(rows) - model.predict_proba(rows)).max() < 1e-4
        rows[0, 0] = np.inf
        assert np.isnan(found.outputs(rows[:2])["probabilities"]).tolist() == [
            [True] * classes,
            [False] * classes,
        ]

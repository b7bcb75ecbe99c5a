"""anytime: one-vs-one machines keep the vote's label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.bounds.program import fit_guess
from svmcompile.accelerate.registry import accelerate
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Labels
from svmcompile.model.svm import SVM, LabelRule, Source

OPTIONS: dict[str, Any] = {"force": True, "tune": "flops", "block": 8, "k_max": 24}


def rows_between(X: Any, count: int) -> Any:
    random = np.random.default_rng(0)
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    return np.concatenate([X, first + random.uniform(-0.5, 1.5, size=(count, 1)) * (second - first)])


def test_ten_classes() -> None:
    X, _, model = digits()
    program = sc.compile(model, method="anytime", X=X[:600], **OPTIONS)
    rows = rows_between(X, 600)
    assert program.claim is Claim.SAME_LABEL
    assert (program.predict(rows) == model.predict(rows)).all()
    cost = program.cost(X[600:])
    assert cost.mean_kernel_evaluations < 0.3 * cost.max_kernel_evaluations
    assert cost.mean_flops < 0.5 * cost.exact_flops


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_three_classes_behind_a_scaler(load: Any, kernel: str, shape: str) -> None:
    X, y = load(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    svc = SVC(kernel=kernel, coef0=1.0, decision_function_shape=shape)
    model = make_pipeline(StandardScaler(), svc).fit(X, names)
    program = sc.compile(model, method="anytime", X=X, **{**OPTIONS, "k_max": 4, "block": 2})
    rows = rows_between(X, 2000)
    assert (program.predict(rows) == model.predict(rows)).all()
    assert not error_bounds(program, rows, "f32").unstable.any()


def cyclic() -> SVM:
    """0 beats 1, 1 beats 2, 2 beats 0, near the origin; far out as well."""
    random = np.random.default_rng(0)
    return SVM(
        Kernel("rbf", 0.5),
        random.normal(size=(9, 2)),
        0.05 * random.normal(size=(2, 9)),
        np.array([0.4, -0.4, 0.4]),
        LabelRule.VOTE,
        Source("made up", "0" * 64),
        Labels((0, 1, 2), "<i8"),
        counts=(3, 3, 3),
    )


def test_a_cycle_of_pairs_goes_to_the_vote() -> None:
    svm = cyclic()
    rows = np.random.default_rng(1).normal(size=(300, 2)) * 3
    exact = accelerate(svm, None, "exact", {})
    program = accelerate(svm, None, "anytime", {"force": True, "block": 1, "k_max": 3})
    labels = exact.predict(rows)
    signs = exact.decision_function(rows) > 0
    assert (signs == [True, False, True]).all(axis=1).any()
    assert (program.predict(rows) == labels).all()


def test_pairs_that_stay_unsure_are_exact() -> None:
    svm = cyclic()
    flat = SVM(
        svm.kernel, svm.vectors, svm.coefficients * 1e-9, np.zeros(3), svm.label_rule, svm.source,
        svm.labels, counts=svm.counts,
    )  # fmt: skip
    rows = np.random.default_rng(1).normal(size=(200, 2)) * 8
    program = accelerate(flat, None, "anytime", {"force": True, "block": 1, "k_max": 3})
    assert (program.predict(rows) == accelerate(flat, None, "exact", {}).predict(rows)).all()


def test_a_bad_guess_costs_but_changes_nothing() -> None:
    X, _, model = digits()
    program = sc.compile(model, method="anytime", X=X[:600], **OPTIONS)
    node = next(node for node in program.body if isinstance(node, ir.Affine))
    worse = {**program.tables, node.weights: -program.tables[node.weights]}
    wrong = program.replace(tables=worse)
    assert (wrong.predict(X) == model.predict(X)).all()
    assert wrong.cost(X).mean_flops > program.cost(X).mean_flops


def test_the_guess_is_mostly_right() -> None:
    X, y, _ = digits()
    guess = fit_guess(X[:600], y[:600], 10)
    scores = (X[600:] - guess.centre) @ guess.weights.T + guess.bias
    assert (scores.argmax(axis=1) == y[600:]).mean() > 0.85
    assert guess.centre.astype(np.float32).astype(np.float64).tolist() == guess.centre.tolist()


def test_where_pairs_do_not_pay_the_exact_sum_is_emitted() -> None:
    X = np.random.default_rng(0).normal(size=(90, 10))
    y = np.repeat([0, 1, 2], 30)
    model = SVC(C=100.0, gamma=2.0).fit(X, y)
    program = sc.compile(model, method="anytime", X=X, tune="flops")
    assert program.origin.details["emitted"] == "exact"
    assert program.claim is Claim.SAME_LABEL

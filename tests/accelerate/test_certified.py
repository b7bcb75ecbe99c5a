"""Method certified: no label changes, whatever is chosen; what is promised of memory and reports holds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import svmcompile as sc
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Claim, Program

FORMS: dict[str, dict[str, Any]] = {
    "chosen": {},
    "first": {"order": 1},
    "second": {"order": 2, "leaves": 3, "max_bytes": 100_000},
    "few axes": {"order": 3, "rank": 2, "max_bytes": 100_000},
    "stops": {"fallback": "anytime"},
    "plain": {"fallback": "direct", "tune": "portable", "cells": 4},
    "jets": {"fallback": "jets", "tune": "portable", "order": 1, "max_bytes": 100_000},
}


@cache
def moons() -> tuple[Any, SVC]:
    X, y = make_moons(300, noise=0.2, random_state=0)
    return X, SVC(gamma=0.5, C=2.0).fit(X, y)


@cache
def cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return X, make_pipeline(StandardScaler(), SVC(gamma=0.01)).fit(X, y)


@cache
def inliers() -> tuple[Any, OneClassSVM]:
    X, _ = moons()
    return X, OneClassSVM(nu=0.3, gamma=0.3).fit(X)


MODELS = {"moons": moons, "cancer": cancer, "one class": inliers}


def queries(X: Any, model: Any, count: int) -> Any:
    """Rows near the data, far from it, and where the label changes, to the last float32 bit."""
    random = np.random.default_rng(1)
    low, high = (
        (X[random.integers(len(X), size=count)] + random.normal(size=(count, X.shape[1])) * X.std(axis=0))
        .astype(np.float32)
        .astype(np.float64)
        for _ in range(2)
    )
    own = model.predict(low)
    differ = own != model.predict(high)
    low, high, own, plain = low[differ], high[differ], own[differ], np.concatenate([low, 100 * high])
    for _ in range(35):
        middle = ((low + high) / 2).astype(np.float32).astype(np.float64)
        same = (model.predict(middle) == own)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([plain, low, high])


@cache
def compiled(model: str, form: str) -> Program:
    X, fitted = MODELS[model]()
    return sc.compile(fitted, method="certified", X=X, force=True, **FORMS[form])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_no_label_changes(model: str, form: str) -> None:
    X, fitted = MODELS[model]()
    program, rows = compiled(model, form), queries(X, fitted, 2500)
    assert program.origin.claim is Claim.SAME_LABEL
    assert (program.predict(rows) == fitted.predict(rows)).all()


@pytest.mark.compile
@pytest.mark.parametrize(
    "model, form, profile",
    [
        ("moons", "chosen", "host"),
        ("cancer", "few axes", "host"),
        ("cancer", "stops", "portable"),
        ("one class", "second", "portable"),
        ("cancer", "jets", "portable"),
    ],
)
def test_no_label_changes_in_c_and_onnx(model: str, form: str, profile: str, tmp_path: Path) -> None:
    X, fitted = MODELS[model]()
    program, rows = compiled(model, form), queries(X, fitted, 4000)
    expected = fitted.predict(rows)
    sc.write(sc.emit(program, ["c", "onnx"], "model", profile=profile), tmp_path)
    for target in ("c", "onnx"):
        assert (sc.load(tmp_path, target=target).predict(rows.astype(np.float32)) == expected).all()


def test_polynomials_decide_most_rows() -> None:
    X, _ = cancer()
    program = compiled("cancer", "chosen")
    stages = program.origin.details["stages"]
    assert sum(stage["share"] for stage in stages) == pytest.approx(1, abs=1e-4)
    assert stages[-1]["share"] < 0.3
    cost = program.cost(X)
    assert cost.mean_flops < 0.5 * cost.exact_flops


def test_the_front_end_keeps_to_its_memory() -> None:
    X, fitted = moons()
    for most in (300, 900, 5000):
        program = sc.compile(fitted, method="certified", X=X, force=True, max_bytes=most)
        front = [table for name, table in program.tables.items() if is_front(name) and table.size > 1]
        assert 4 * sum(table.size for table in front) <= most
    with_less = sc.compile(fitted, method="certified", X=X, force=True, max_bytes=60)
    assert with_less.origin.details["emitted"] == "exact"
    assert "raise max_bytes" in with_less.origin.notes[-1]


def is_front(table: str) -> bool:
    return table.startswith(("taylor_", "leaf_")) and table != "leaf_centre"


def test_equal_input_gives_equal_programs() -> None:
    X, fitted = moons()
    one, other = (sc.compile(fitted, method="certified", X=X, force=True) for _ in range(2))
    assert sc.emit(one, "c", "m") == sc.emit(other, "c", "m")


def test_votes_choose_their_axes_and_take_given_ones() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 4] / 16, y[y < 4]
    model = SVC(gamma=0.03).fit(X, y)
    settings = {
        "method": "certified",
        "X": X,
        "force": True,
        "order": 2,
        "leaves": 1,
        "max_bytes": 1_000_000,
    }
    chosen = sc.compile(model, **settings).origin.details["choice"]
    assert chosen["rank"] in (8, 16, 32)  # not all 64 features
    assert sc.compile(model, rank=4, **settings).origin.details["choice"]["rank"] == 4


def test_without_data_rows_are_made_up_between_vectors() -> None:
    X, fitted = moons()
    program = sc.compile(fitted, method="certified", force=True)
    rows = queries(X, fitted, 500)
    assert (program.predict(rows) == fitted.predict(rows)).all()
    assert any(isinstance(node, ir.TaylorSum) for node in program.body)


def test_where_it_does_not_pay_the_exact_sum_is_emitted_and_said_so() -> None:
    X, y = make_moons(40, noise=0.3, random_state=0)
    program = sc.compile(SVC(gamma=50.0).fit(X, y), method="certified", X=X)
    assert program.origin.claim is Claim.SAME_LABEL
    assert "certified emits the exact sum" in program.origin.notes[-1]
    linear = sc.compile(SVC(kernel="linear").fit(X, y), method="certified", X=X)
    assert linear.origin.details["emitted"] == "exact"


def test_calibrated_bounds_are_smaller_and_claim_less() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, (3, 8))] / 16, y[np.isin(y, (3, 8))]
    fitted = SVC(gamma=0.1).fit(X, y)
    settings = {"leaves": 1, "order": 1, "cells": 8, "max_bytes": 100_000, "force": True}
    proven = sc.compile(fitted, method="certified", X=X, **settings)
    measured = sc.compile(fitted, method="certified", X=X, mode="calibrated", **settings)
    assert measured.origin.claim is Claim.APPROXIMATE
    assert (measured.tables["taylor_gaps"] <= proven.tables["taylor_gaps"]).all()
    assert measured.tables["taylor_gaps"].sum() < 0.95 * proven.tables["taylor_gaps"].sum()
    assert "labels may change" in " ".join(measured.origin.notes)
    assert (measured.predict(X) == fitted.predict(X)).all()


@pytest.mark.parametrize(
    "options",
    [
        {"order": 4},
        {"leaves": -1},
        {"mode": "sure"},
        {"fallback": "none"},
        {"blocks": 65},
        {"blocks": 1},
        {"tune": "fast"},
        {"cells": 5000},
        {"sample": 1},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    X, fitted = moons()
    with pytest.raises(OptionError, match=next(iter(options))):
        sc.compile(fitted, method="certified", X=X, **options)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_polynomial_kernels_keep_their_labels(degree: int) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :6]
    model = SVC(kernel="poly", degree=degree, coef0=1.0, gamma=0.1, C=0.1).fit(X, y)
    program = sc.compile(model, method="certified", X=X, tune="flops")
    rows = queries(X, model, 1000)
    assert (program.predict(rows) == model.predict(rows)).all()
    cost = program.cost(X)
    assert cost.mean_flops < 0.5 * cost.exact_flops


def test_models_it_cannot_serve_are_refused_with_a_way_out() -> None:
    X, fitted = moons()
    y = fitted.predict(X)
    three = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    for model, reason in (
        (SVR().fit(X, X[:, 0]), "regressor"),
        (SVC(kernel="sigmoid").fit(X, y), "sigmoid"),
        (SVC(break_ties=True, decision_function_shape="ovr").fit(X, three), "break_ties"),
        (OneVsRestClassifier(SVC(kernel="poly")).fit(X, three), "one-vs-rest"),
    ):
        with pytest.raises(UnsupportedError, match=reason):
            sc.compile(model, method="certified", X=X)
    with pytest.raises(OptionError, match="calibrated"):
        sc.compile(SVC().fit(X, three), method="certified", X=X, mode="calibrated")

"""One-vs-rest machines by `certified`: every label is that of the largest sum, ties and all."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits
from sklearn.datasets import load_wine, make_blobs
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.bounds.sums import join_parts
from svmcompile.accelerate.certified.votes.pairs import as_pairs
from svmcompile.accelerate.fitting.rows import kernel_sums
from svmcompile.accelerate.registry import accelerate
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Claim, Program
from svmcompile.ir.vote_walk import Votes
from svmcompile.read import read
from tests.programs.taylor_votes import node_of
from tests.targets.bounded_cases import boundary, odd_rows


@cache
def machine(kind: str) -> tuple[Any, Any]:
    """A fitted machine and its rows: sums that share vectors, a scaler before it, sums that share none."""
    if kind == "digits":
        X, y, _ = digits()
        return OneVsRestClassifier(SVC(C=5.0, gamma=0.05)).fit(X[:600], y[:600]), X
    if kind == "wine":
        X, y = load_wine(return_X_y=True)
        names = np.array(["a", "b", "c"])[y]
        return make_pipeline(StandardScaler(), OneVsRestClassifier(SVC(gamma=0.05))).fit(X, names), X
    X, y = make_blobs(900, centers=6, n_features=5, cluster_std=4.0, random_state=3)
    model = OneVsRestClassifier(SVC(gamma=0.01, C=2.0)).fit(X, y)
    for own, estimator in enumerate(model.estimators_):
        estimator.fit(X[own::6], y[own::6] == own)
    return model, X


@cache
def program_of(kind: str) -> Program:
    model, X = machine(kind)
    options = {"force": True, "rank": 8, "leaves": 2, "max_bytes": 1 << 20, "tune": "flops"}
    return sc.compile(model, method="certified", X=X[:600], **options)


@cache
def hard_rows(kind: str, count: int) -> tuple[Any, Any]:
    """Rows, rows between and beyond them, far ones and rows on the border of two classes; float32."""
    model, X = machine(kind)
    random = np.random.default_rng(0)
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    between = first + random.uniform(-0.5, 1.5, size=(count, 1)) * (second - first)
    rows = np.concatenate([X, between, *boundary(model, between[: count // 2]), 40 * X[:20]])
    rows = rows.astype(np.float32).astype(np.float64)
    return rows, model.predict(rows)


@pytest.mark.parametrize("kind", ["digits", "wine", "blobs"])
def test_labels_are_those_of_the_largest_sum(kind: str) -> None:
    program, (rows, labels) = program_of(kind), hard_rows(kind, 1500)
    assert program.claim is Claim.SAME_LABEL and isinstance(node_of(program), ir.TaylorVote)
    assert (program.predict(rows) == labels).all()


@pytest.mark.compile
@pytest.mark.parametrize("kind, count", [("digits", 1500), ("wine", 8000), ("blobs", 6000)])
def test_code_keeps_every_label(kind: str, count: int, tmp_path: Path) -> None:
    program, (rows, labels) = program_of(kind), hard_rows(kind, count)
    for target, profile in (("c", "host"), ("c", "portable"), ("onnx", "host")):
        folder = tmp_path / f"{target}_{profile}"
        sc.write(sc.emit(program, target, "model", profile=profile), folder)
        found = sc.load(folder, target=target).predict(rows.astype(np.float32))
        assert (found == labels).all()


def test_few_rows_meet_their_vectors() -> None:
    X = machine("digits")[1]
    cost = program_of("digits").cost(X[600:])
    assert cost.mean_kernel_evaluations < 0.1 * cost.max_kernel_evaluations


@pytest.mark.parametrize("kind", ["digits", "blobs"])
def test_what_polynomials_are_sure_of_is_so(kind: str) -> None:
    """Signs of every champion's pairs, against the sums of the machine."""
    program = program_of(kind)
    node, rows = node_of(program), hard_rows(kind, 1500)[0][::2]
    values = interpret_values(program, rows, {node.x, "exact_sums"})
    sums, votes, sure = values["exact_sums"], Votes(At(node, program.tables), values[node.x]), 0
    for own in range(votes.k):
        _, state = votes._taylor(np.arange(len(rows)), own)
        difference = sums[:, [own]] - np.delete(sums, own, axis=1)
        assert (state * np.sign(difference) >= 0).all()
        sure += int((state != 0).sum())
    assert sure > 0.03 * votes.k * (votes.k - 1) * len(rows)


def test_pairs_are_differences_whether_vectors_are_shared_or_not() -> None:
    for kind, parts in (("digits", 0), ("blobs", 6)):
        model, X = machine(kind)
        svm = read(model)
        assert len(svm.parts) == parts
        sums, pairs = kernel_sums(join_parts(svm), X), kernel_sums(as_pairs(join_parts(svm)), X)
        wanted = [sums[:, i] - sums[:, j] for i, j in pair_indices(sums.shape[1])]
        np.testing.assert_allclose(pairs, np.stack(wanted, axis=1), atol=1e-9)


def test_of_equal_sums_the_first_wins() -> None:
    """Two classes with the same sum tie in every row."""
    svm = read(machine("wine")[0])
    order = [0, 1, 1]
    twins = replace(svm, coefficients=svm.coefficients[order], intercepts=svm.intercepts[order])
    rows = machine("wine")[1]
    exact = accelerate(twins, None, "exact", {})
    program = accelerate(twins, None, "certified", {"force": True})
    assert (exact.predict(rows) == "b").any() and not (exact.predict(rows) == "c").any()
    assert (program.predict(rows) == exact.predict(rows)).all()


def test_rows_that_are_not_finite_have_the_label_of_the_exact_program() -> None:
    rows = odd_rows(64).astype(np.float64)
    exact = accelerate(read(machine("digits")[0]), None, "exact", {})
    assert (program_of("digits").predict(rows) == exact.predict(rows)).all()


@pytest.mark.parametrize("kind", ["wine", "blobs"])
def test_certificates_are_confirmed(kind: str) -> None:
    pytest.importorskip("flint", reason="the extra `proof` is not installed")
    model, X = machine(kind)
    rows = np.concatenate([X[:4], hard_rows(kind, 1500)[0][-30:-22]])
    report = sc.check_certificate(program_of(kind), rows, model)
    assert report.ok and report.confirmed > len(rows) / 2


def test_where_polynomials_do_not_pay_it_is_the_exact_sum() -> None:
    model, X = machine("blobs")
    program = sc.compile(model, method="certified", X=X, max_bytes=100)
    assert program.claim is Claim.SAME_LABEL and any("exact sum" in note for note in program.origin.notes)
    np.testing.assert_allclose(program.decision_function(X), model.decision_function(X), atol=1e-9)


def test_kernels_of_their_own_are_refused_with_a_way_out() -> None:
    X = machine("wine")[1]
    y = load_wine(return_X_y=True)[1]
    model = OneVsRestClassifier(SVC()).fit(X, y)
    for estimator, gamma in zip(model.estimators_, (0.1, 0.2, 0.1), strict=True):
        estimator._gamma = gamma
    with pytest.raises(UnsupportedError, match="one kernel, gamma a number"):
        sc.compile(model, method="certified")
    with pytest.raises(OptionError, match="calibrated"):
        sc.compile(machine("digits")[0], method="certified", mode="calibrated")

"""Labels that rounding cannot change: on rows bisected onto the boundary, in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from certain_cases import KERNELS, boundary_rows, machine
from sklearn.svm import SVC, SVR

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError
from svmcompile.extras import install
from svmcompile.flow.form import Form
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.node import At, operands
from svmcompile.ir.program import Claim, Program
from svmcompile.lower import lower

KINDS = [
    (kind, classes) for kind in (*KERNELS, "scaled", "scaled-poly", "linear-svc") for classes in (2, 4)
]
KINDS += [
    ("ties", 4),
    ("rest", 4),
    ("nu", 4),
    ("one-class", 1),
    ("zeros", 2),
    ("zeros-poly", 2),
    ("normalised", 2),
]
FORMS = [("c", "host"), ("c", "portable"), ("c", "device"), ("onnx", "host"), ("wasm", "portable")]


def certain(kind: str, classes: int) -> tuple[Any, Any, Program]:
    X, model = machine(kind, classes)
    return X, model, sc.compile(model, labels="certain")


def built(program: Program, target: str, profile: str) -> Any:
    return Form(program, "model", target, "f32", profile).build()


def node_of(program: Program) -> ir.Certain | None:
    return next((node for node in program.body if isinstance(node, ir.Certain)), None)


@pytest.mark.parametrize(("kind", "classes"), KINDS)
def test_no_label_on_the_boundary_changes_in_machine_programs(kind: str, classes: int) -> None:
    """The interpreter of the float32 program; the plain sum does change some."""
    X, model, program = certain(kind, classes)
    rows = boundary_rows(model, X)
    meant = model.predict(rows)
    assert program.claim is Claim.SAME_LABEL
    assert (program.predict(rows) == meant).all()
    for profile in ("host", "portable", "device"):
        assert (lower(program, "f32", profile).predict(rows) == meant).all()
    plain = lower(sc.compile(model), "f32", "portable")
    assert (plain.predict(rows) != meant).sum() > len(rows) / 50


@pytest.mark.parametrize(
    ("kind", "classes"),
    [("rbf", 4), ("scaled-poly", 2), ("rest", 4), ("zeros", 2), ("linear", 2), ("linear", 4)],
)
@pytest.mark.parametrize(("target", "profile"), FORMS)
def test_nor_in_code(kind: str, classes: int, target: str, profile: str) -> None:
    """In batches and row by row; rows given by their non-zero features too."""
    if target == "wasm":
        pytest.importorskip("wasmtime", reason=f"wasmtime runs the modules: {install('wasm')}")
    X, model, program = certain(kind, classes)
    rows = boundary_rows(model, X)
    meant, code = model.predict(rows), built(program, target, profile)
    assert (code.predict(rows.astype(np.float32)) == meant).all()
    if target == "c":
        some = slice(None, None, 11)
        alone = [code.predict(row[None].astype(np.float32))[0] for row in rows[some]]
        assert (np.array(alone) == meant[some]).all()
    if kind == "zeros" and target == "c":
        held = scipy.sparse.csr_matrix(rows.astype(np.float32))
        assert (code.predict(held) == meant).all()


@pytest.mark.parametrize(
    ("kind", "classes"),
    [("rbf", 2), ("poly", 4), ("square", 2), ("sigmoid", 2), ("zeros", 2), ("linear", 2), ("linear", 4)],
)
def test_widths_are_above_the_rounding_of_each_row(kind: str, classes: int) -> None:
    """And not by so much that ordinary rows are in doubt."""
    X, _, program = certain(kind, classes)
    machine_program = lower(program, "f32")
    node = node_of(machine_program)
    assert node
    rows = np.concatenate([X, 3 * X, 0 * X[:1]]).astype(np.float32)
    values = interpret_values(machine_program, rows, set(operands(node)))
    at = At(node, machine_program.tables, values)
    scores = node_of(program).scores  # type: ignore[union-attr]
    meant = interpret_values(program, rows.astype(np.float64), {scores})[scores]
    assert (np.abs(at.scores[:, : meant.shape[1]] - meant).max(axis=1) < node.width_of(at)).all()
    ordinary = {name: value[: len(X)] for name, value in values.items()}
    assert node.needs_lazy(At(node, machine_program.tables, ordinary)).mean() < 0.05


def test_numbers_beyond_float32_are_in_doubt() -> None:
    """Scores that overflow have no sign to go by."""
    X, model, program = certain("poly", 2)
    rows = np.concatenate([1e14 * X, 1e30 * X]).astype(np.float32).astype(np.float64)
    found = lower(program, "f32").predict(rows)
    assert (found == model.predict(rows)).all()
    bad = X[:2].copy()
    bad[:, 0] = [np.nan, np.inf]
    assert (
        built(program, "c", "host").predict(bad, allow_nan=True) == interpret(program, bad)["label"]
    ).all()


def test_double_is_what_it_was() -> None:
    _, model, program = certain("rbf", 4)
    one, other = (lower(item, "f64", "host") for item in (program, sc.compile(model)))
    assert [type(node) for node in one.body if not isinstance(node, ir.OvrScores)] == [
        type(node) for node in other.body if not isinstance(node, ir.OvrScores)
    ]
    assert set(one.tables) == set(other.tables)


def test_scores_and_probabilities_stay() -> None:
    X, model = machine("rbf", 4)
    program = sc.compile(model, labels="certain")
    np.testing.assert_allclose(program.decision_function(X), model.decision_function(X), atol=1e-9)
    code = built(program, "c", "host")
    np.testing.assert_allclose(
        code.decision_function(X.astype(np.float32)), model.decision_function(X), atol=1e-3
    )


def test_verification_bounds_are_those_of_double() -> None:
    X, model, program = certain("rbf", 2)
    rows = boundary_rows(model, X)
    assert error_bounds(program, rows, "f32").unstable.mean() < 0.5
    assert error_bounds(sc.compile(model), rows, "f32").unstable.mean() > 0.5


@pytest.mark.parametrize("method", ["certified", "anytime"])
def test_methods_that_do_not_pay_keep_every_label(method: str) -> None:
    """Sharp machines, whose exact sum is emitted."""
    X, _ = machine("rbf", 4)
    for classes in (2, 4):
        y = machine("rbf", classes)[1].predict(X)
        model = SVC(C=10.0, gamma=1.0).fit(X, y)
        program = sc.compile(model, method=method, X=X)
        assert program.origin.details["emitted"] == "exact" and program.claim is Claim.SAME_LABEL
        rows = boundary_rows(model, X, 60)
        assert (
            built(program, "c", "portable").predict(rows.astype(np.float32)) == model.predict(rows)
        ).all()


def test_what_cannot_be_promised_is_refused() -> None:
    X, _, program = certain("rbf", 2)
    with pytest.raises(OptionError, match="a regressor has no labels"):
        sc.compile(SVR().fit(X, X[:, 0]), labels="certain")
    with pytest.raises(OptionError, match="labels"):
        sc.compile(machine("rbf")[1], labels="sure")
    with pytest.raises(OptionError, match="q15 does not have: use --precision f32"):
        sc.emit(program, "c", precision="q15", X=X)
    with pytest.raises(EmitError, match="leave out --tables f16"):
        sc.emit(program, "c", profile="host", tables="f16")
    with pytest.raises(EmitError, match="--soft-double"):
        sc.emit(program, "c", profile="device")

"""Taylor polynomials of rows that are mostly zeros in C: no label changes, in any instruction set."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
    LEVELS,
    SANITIZE,
    WARNINGS,
    build,
    compile_quietly,
    compilers,
    run,
    sanitizing_compiler,
    write_all,
)
from c_cases import real_type
from onnx_cases import outputs
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.certified.fallback import guard_sum, guard_width
from svmcompile.accelerate.taylor.front import Centres, insert_front, shares
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.optimise import optimise
from svmcompile.read import read

pytestmark = pytest.mark.compile

FORMS = {"first": (40, 1, 0), "few": (40, 3, 6), "vectors": (50, 2, 14), "many": (260, 3, 17)}
TWICE = "many"  # few directions come first there


@cache
def fitted(d: int) -> tuple[Any, SVC]:
    """Two clouds of images, so to speak: each has its own features that are often not zero."""
    generator = np.random.default_rng(d)
    y = np.arange(120) % 2
    often = np.where(generator.random((2, d)) < 0.3, 0.6, 0.1)[y]
    X = (generator.random((120, d)) * (generator.random((120, d)) < often)).astype(np.float32)
    return X.astype(np.float64), SVC(gamma=3.0 / d, C=3.0).fit(X.astype(np.float64), y)


@cache
def programs() -> dict[str, Program]:
    return {name: made(*form, twice=name == TWICE) for name, form in FORMS.items()}


def made(d: int, order: int, rank: int, twice: bool) -> Program:
    """Sparse polynomials about one centre before the guarded sum; `twice`: few directions before them."""
    X, model = fitted(d)
    svm = read(model)
    weights, gamma = svm.coefficients[0], svm.kernel.gamma
    norm = float(weights @ svm.kernel.values(svm.vectors, svm.vectors) @ weights)
    whole = RbfSum(svm.vectors, weights, float(svm.intercepts[0]), gamma, norm, (0.0, 0.0))
    local, tree = Local(whole, X, 4, 0), Centres([np.arange(len(X))])
    program = guard_sum(svm, guard_width(svm))
    program = insert_front(svm, program, whole, tree, [local.expansion(order, rank, sparse=True)])
    if twice:
        program = insert_front(svm, program, whole, tree, [local.expansion(2, 4, sparse=True)], name="few")
    return optimise(check(program))


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    """Rows like the data, rows without a zero, on both sides of the boundary and not finite; and labels."""
    X, model = fitted(FORMS[name][0])
    generator = np.random.default_rng(5)
    mixed = np.where(generator.random((210, X.shape[1])) < 0.5, X[:70].repeat(3, 0), X[50:].repeat(3, 0))
    f = model.decision_function(X)
    a, b = (X[generator.choice(np.flatnonzero(side), 300)] for side in (f > 0, f <= 0))
    for _ in range(40):
        middle = (a + b) / 2
        above = model.decision_function(middle)[:, None] > 0
        a, b = np.where(above, middle, a), np.where(above, b, middle)
    rows = np.vstack([X, mixed, X[:50] + 0.01, 40 * X[:50], 0 * X[:2], a, b])
    rows = rows.astype(np.float32).astype(np.float64)
    odd = rows[:4].copy()
    odd[0, 3], odd[1, -1], odd[2, 0], odd[3] = np.nan, np.inf, -np.inf, 3e38
    expected = np.concatenate([model.predict(rows), interpret(programs()[name], odd)["label"]])
    return np.vstack([rows, odd]), expected


def test_polynomials_decide_rows() -> None:
    for name, program in programs().items():
        assert any(isinstance(node, ir.TaylorSum) and node.sparse for node in program.body)
        assert shares(program, fitted(FORMS[name][0])[0])[-1] < 0.7, name


WAYS = [("f64", "portable"), ("f32", "portable"), ("f64", "avx2"), *(("f32", level) for level in LEVELS)]


@pytest.mark.parametrize(("number", "level"), WAYS)
def test_no_label_changes(number: Any, level: str, tmp_path: Path) -> None:
    profile = "portable" if level == "portable" else "host"
    without = [f"-D{name.upper()}_NO_{isa}" for name in FORMS for isa in LEVELS.get(level, [])]
    compiler = [*compilers().values()][-1 if level == "avx2" else 0]
    binary = build(programs(), tmp_path, number, compiler, "-O1", *without, profile=profile)
    for name, program in programs().items():
        rows, expected = rows_of(name)
        found = run(binary, name, program, rows.astype(real_type(number)), number).labels
        assert (found == expected).all(), name


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_label_changes_in_onnx(number: Any) -> None:
    for name, program in programs().items():
        rows, expected = rows_of(name)
        found = outputs(program, rows[:-4].astype(real_type(number)), number)["label"]
        assert (found == expected[:-4]).all(), name


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_the_picked_node_means_the_same(number: Any, profile: Any) -> None:
    for name, program in programs().items():
        machine = lower(program, number, profile)
        assert any(isinstance(node, ir.PickedTaylor) for node in machine.body)
        rows = rows_of(name)[0][-200:]
        assert (interpret(machine, rows)["label"] == interpret(program, rows)["label"]).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("compiler", compilers())
def test_no_compiler_complains(compiler: str, profile: Any, tmp_path: Path) -> None:
    write_all(programs(), tmp_path, "f32", profile=profile)
    compile_quietly(compilers()[compiler], tmp_path, "-std=c99", "-O0", *WARNINGS, "all.c")


def test_no_step_is_undefined(tmp_path: Path) -> None:
    some = {name: programs()[name] for name in ("few", "vectors")}
    for profile in ("portable", "host"):
        binary = build(some, tmp_path, "f32", sanitizing_compiler(), *SANITIZE, profile=profile)
        for name, program in some.items():
            rows, expected = rows_of(name)
            found = run(binary, name, program, rows[-60:].astype(np.float32), "f32").labels
            assert (found == expected[-60:]).all(), name


def test_tables_of_a_guarded_sum_are_not_rounded() -> None:
    with pytest.raises(sc.errors.EmitError, match="no support vectors left"):
        sc.emit(programs()["few"], "c", "model", profile="host", tables="f16")


def test_rows_that_few_directions_leave_come_to_all() -> None:
    rows, program = rows_of(TWICE)[0][:-4], programs()[TWICE]
    alone = made(*FORMS[TWICE], twice=False)
    assert sum(isinstance(node, ir.TaylorSum) for node in program.body) == 2
    assert 0 < shares(program, rows)[-1] <= shares(alone, rows)[-1]
    assert program.cost(rows).mean_flops != alone.cost(rows).mean_flops


def test_certificates_of_both_are_checked() -> None:
    pytest.importorskip("flint", reason="the extra `proof` is not installed")
    report = sc.check_certificate(programs()[TWICE], fitted(FORMS[TWICE][0])[0][:3])
    assert report.ok and report.rows == 3

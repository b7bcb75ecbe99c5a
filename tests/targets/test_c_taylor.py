"""Taylor polynomials about centres in C and ONNX: every label of the original, near the boundary too."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
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
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.accelerate.taylor.front import add_front, grow_centres
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.optimise import optimise
from svmcompile.read import read

pytestmark = pytest.mark.compile

CASES = {  # leaves, order, axes, gates
    "one_1": (1, 1, 0, ()),
    "one_2": (1, 2, 0, ()),
    "six_2": (6, 2, 0, (0.7,)),
    "six_3": (6, 3, 0, (0.5, 0.5)),
    "one_axis_2": (1, 2, 1, (0.5,)),
    "one_axis_3": (6, 3, 1, ()),
}


@cache
def fitted() -> tuple[Any, Any]:
    X, y = make_moons(300, noise=0.2, random_state=0)
    return X, SVC(gamma=1.0, C=2.0).fit(X, y)


@cache
def taylor_program(leaves: int, order: int, rank: int, gates: tuple[float, ...]) -> Program:
    """Polynomials, and the exact sum in double for rows they are not sure of."""
    X, model = fitted()
    svm = read(model)
    builder, weights = Builder(svm), svm.coefficients[0]
    norm = float(weights @ svm.kernel.values(svm.vectors, svm.vectors) @ weights)
    whole = RbfSum(svm.vectors, weights, float(svm.intercepts[0]), svm.kernel.gamma, norm, (0.0, 0.0))
    exact = builder.exact_in_double()
    tree = grow_centres(X, leaves)
    found = [Local(whole, X[part], 8).expansion(order, rank) for part in tree.parts]
    front = add_front(builder, whole, builder.preprocess(), exact, tree, found, gates)
    builder.body.extend(head_nodes(svm, front))
    return optimise(check(builder.program([Output("label", "label")], "taylor", Claim.SAME_LABEL)))


PROGRAMS = {case: taylor_program(*recipe) for case, recipe in CASES.items()}


def rows(count: int) -> Any:
    """Rows near the data, far from it, and on both sides of the boundary as close as float32 has them."""
    X, model = fitted()
    generator = np.random.default_rng(3)
    near = X[generator.integers(0, len(X), count)] + generator.normal(0, 0.4, (count, 2))
    f = model.decision_function(X)
    a, b = (X[generator.choice(np.flatnonzero(side), 1000)] for side in (f > 0, f <= 0))
    for _ in range(40):
        middle = (a + b) / 2
        above = model.decision_function(middle)[:, None] > 0
        a, b = np.where(above, middle, a), np.where(above, b, middle)
    return np.vstack([near, 50 * near[:100], a, b]).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_label_changes_in_c(number: Any, profile: str, tmp_path: Path) -> None:
    binary = build(PROGRAMS, tmp_path, number, next(iter(compilers().values())), "-O2", profile=profile)
    queries = rows(10_000)
    expected = fitted()[1].predict(queries)
    odd = np.array([[np.nan, 0.0], [np.inf, 0.0], [0.0, -np.inf], [3e38, -3e38]])
    for case, program in PROGRAMS.items():
        assert (
            run(binary, case, program, queries.astype(real_type(number)), number).labels == expected
        ).all()
        assert (
            run(binary, case, program, odd.astype(real_type(number)), number).labels
            == interpret(program, odd)["label"]
        ).all()


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_label_changes_in_onnx(number: Any) -> None:
    queries = rows(10_000)
    for program in PROGRAMS.values():
        assert (
            outputs(program, queries.astype(real_type(number)), number)["label"]
            == fitted()[1].predict(queries)
        ).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_no_step_is_undefined_and_no_compiler_complains(profile: str, tmp_path: Path) -> None:
    write_all({case: PROGRAMS[case] for case in ("one_1", "six_3", "one_axis_2")}, tmp_path, "f32", profile)
    for compiler in compilers().values():
        compile_quietly(compiler, tmp_path, "-std=c99", *WARNINGS, "all.c", profile=profile)
    command = sanitizing_compiler()
    binary = build(PROGRAMS, tmp_path, "f32", command, *SANITIZE, profile=profile)
    for case, program in PROGRAMS.items():
        run(binary, case, program, np.vstack([rows(100), [[np.nan, np.inf]]]).astype(np.float32), "f32")

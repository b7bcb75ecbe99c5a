"""Sums in blocks with jets in C and ONNX: every label of the original, near the boundary too."""

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
from programs.jets import jet_sum, jets_program
from programs.taylor import Sum
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import jet_blocks
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.optimise import optimise

pytestmark = pytest.mark.compile
CASES = {"two": 2, "five": 5, "six": 6}  # parts


@cache
def fitted() -> tuple[Sum, SVC]:
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = SVC(gamma=2.0, C=20.0).fit(X, y)
    return Sum.of(model, X), model


@cache
def programs() -> dict[str, Program]:
    return {case: optimise(jets_program(fitted()[0], parts)) for case, parts in CASES.items()}


def rows() -> Any:
    given = fitted()[0]
    random = np.random.default_rng(3)
    near = given.rows[random.integers(0, len(given.rows), 4000)] + random.normal(0, 0.3, (4000, 2))
    return np.vstack([near.astype(np.float32), 50 * near[:100], given.on_the_boundary(1000)])


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_label_changes_in_c(number: Any, profile: str, tmp_path: Path) -> None:
    binary = build(programs(), tmp_path, number, next(iter(compilers().values())), "-O2", profile=profile)
    queries = rows().astype(real_type(number))
    expected = fitted()[1].predict(queries.astype(np.float64))
    odd = np.array([[np.nan, 0.0], [np.inf, 0.0], [0.0, -np.inf], [3e38, -3e38]])
    for case, program in programs().items():
        assert (run(binary, case, program, queries, number).labels == expected).all()
        seen = run(binary, case, program, odd.astype(real_type(number)), number).labels
        assert (seen == interpret(program, odd)["label"]).all()


def test_no_label_changes_in_onnx() -> None:
    queries = rows().astype(np.float32)
    expected = fitted()[1].predict(queries.astype(np.float64))
    for program in programs().values():
        assert (outputs(program, queries, "f32")["label"] == expected).all()


def test_no_step_is_undefined_and_no_compiler_complains(tmp_path: Path) -> None:
    """Of the profile portable; code for a host is that of other sums."""
    for compiler in compilers().values():
        write_all(programs(), tmp_path, "f32", profile="portable")
        compile_quietly(compiler, tmp_path, "-std=c99", *WARNINGS, "all.c")
    binary = build(programs(), tmp_path, "f32", sanitizing_compiler(), *SANITIZE, profile="portable")
    some = np.vstack([rows()[::50], [[np.nan, np.inf]]]).astype(np.float32)
    for case, program in programs().items():
        run(binary, case, program, some, "f32")


def test_lowering_keeps_jets_where_vectors_are_met_one_by_one() -> None:
    program = programs()["five"]
    portable, host = (lower(program, "f32", profile) for profile in ("portable", "host"))
    assert any(isinstance(node, ir.JetSum) for node in portable.body)
    assert any(isinstance(node, ir.BoundedSum) for node in host.body)
    queries = rows()[::20]
    for machine in (portable, host):
        assert (interpret(machine, queries)["label"] == interpret(program, queries)["label"]).all()
    node = jet_sum(portable)
    found = jet_blocks(At(node, portable.tables), queries)
    assert (found.stop < found.scores.shape[1] - 1).mean() > 0.1  # some rows stop before all vectors


def test_a_device_has_jets_if_it_may_add_up_in_double(tmp_path: Path) -> None:
    program = programs()["five"]
    with pytest.raises(EmitError, match="soft-double"):
        sc.emit(program, "c", "model", profile="device")
    sc.write(sc.emit(program, "c", "model", profile="device", soft_double=True), tmp_path)
    for compiler in compilers().values():
        compile_quietly(compiler, tmp_path, "-std=c99", *WARNINGS, "model.c")
    queries = rows().astype(np.float32)
    found = sc.load(tmp_path, target="c").predict(queries)
    assert (found == fitted()[1].predict(queries.astype(np.float64))).all()

"""Votes of Taylor polynomials in C and ONNX: every label of the original, near boundaries too."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from bounded_cases import hard_rows, odd_rows, voting_machine
from c_build import (
    LEVELS,
    SANITIZE,
    WARNINGS,
    build,
    compile_c,
    compilers,
    run,
    sanitizing_compiler,
    write_all,
)
from c_cases import real_type
from onnx_cases import content, outputs

import svmcompile as sc
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.targets.c.node import scratch_bytes
from svmcompile.targets.onnx.nodes import votes
from tests.programs.taylor_votes import cyclic, tangled, vote_of

pytestmark = pytest.mark.compile

CASES: dict[str, tuple[str, int, int, int]] = {  # machine, centres, order, axes
    "iris_1": ("iris", 1, 1, 0),
    "iris_2": ("iris", 3, 2, 0),
    "many_1": ("many", 3, 1, 0),
    "many_2": ("many", 1, 2, 0),
    "many_axes": ("many", 2, 2, 3),
    "wide_axes": ("wide", 1, 2, 5),
    "wide_1": ("wide", 3, 1, 0),
    "sparse_axes": ("sparse", 1, 2, 5),
}
BEST, PROFILES = next(iter(LEVELS)), ("portable", "host")
BUILDS = [
    ("portable", BEST, "f32"),
    ("portable", BEST, "f64"),
    *(("host", level, "f32") for level in LEVELS),
    ("host", BEST, "f64"),
]


@cache
def program_of(case: str) -> Program:
    kind, leaves, order, rank = CASES[case]
    return vote_of(*voting_machine(kind), leaves=leaves, order=order, rank=rank)


def programs(*cases: str) -> dict[str, Program]:
    return {case: program_of(case) for case in cases or CASES}


@cache
def labelled(kind: str) -> tuple[Any, Any]:
    """Hard rows and odd ones, and the labels of the original (of the exact program for odd ones)."""
    model, X = voting_machine(kind)
    rows, odd = hard_rows(model, X, 4000), odd_rows(X.shape[1])
    labels = np.concatenate([model.predict(rows.astype(np.float64)), sc.compile(model).predict(odd)])
    return np.vstack([rows, odd]), labels


def agree(chosen: dict[str, Program], folder: Path, build_of: tuple[str, str, str], command: Any) -> None:
    profile, level, number = build_of
    flags = [f"-D{name.upper()}_NO_{left_out}" for name in chosen for left_out in LEVELS[level]]
    driver = build(chosen, folder, number, command, "-O1", *flags, profile=profile)
    for name, program in chosen.items():
        rows, labels = labelled(CASES[name][0])
        found = run(driver, name, program, rows.astype(real_type(number)), number).labels
        given = program.labels.array()[found]  # type: ignore[union-attr]
        assert (given == labels).all(), (name, np.flatnonzero(given != labels)[:5])


@pytest.mark.parametrize("build_of", BUILDS, ids="-".join)
def test_labels_in_c(build_of: Any, tmp_path: Path) -> None:
    agree(programs(), tmp_path, build_of, next(iter(compilers().values())))


@pytest.mark.parametrize("compiler", compilers())
def test_labels_with_every_compiler(compiler: str, tmp_path: Path) -> None:
    agree(programs("wide_axes"), tmp_path, ("host", BEST, "f32"), compilers()[compiler])


@pytest.mark.parametrize("case", ["many_axes", "sparse_axes", "iris_2"])
def test_a_row_alone_has_the_label_it_has_in_a_batch(case: str, tmp_path: Path) -> None:
    sc.write(sc.emit(program_of(case), "c", "model", profile="host"), tmp_path)
    model, (rows, labels) = sc.load(tmp_path), labelled(CASES[case][0])
    rows, labels = rows[::8].astype(np.float32), labels[::8]
    alone = np.concatenate([model.predict(row[None], allow_nan=True) for row in rows])
    assert (alone == labels).all()
    assert (model.predict(rows, allow_nan=True) == labels).all()


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("case", ["iris_2", "many_1", "many_axes"])
def test_labels_in_onnx(case: str, number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = labelled(CASES[case][0])
    program, operators = program_of(case), []
    for leaves_early in (True, False):
        monkeypatch.setattr(votes, "pays", lambda *given, early=leaves_early: early)
        found = outputs(program, rows.astype(real_type(number)), number)["label"]
        assert (program.labels.array()[found] == labels).all()  # type: ignore[union-attr]
        operators.append(len(onnx.load_from_string(content(program, number)).graph.node))
    assert operators[0] > operators[1]


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("machine", [cyclic, tangled])
def test_classes_that_beat_each_other_go_to_the_vote(machine: Any, profile: str, tmp_path: Path) -> None:
    rows = (np.random.default_rng(1).normal(size=(3000, 2)) * 3).astype(np.float32)
    program = vote_of(machine(), rows[:200].astype(np.float64), leaves=2)
    driver = build(
        {"cycle": program}, tmp_path, "f32", next(iter(compilers().values())), "-O1", profile=profile
    )
    wanted = interpret_values(program, rows, {"exact_label"})["exact_label"]
    assert (run(driver, "cycle", program, rows, "f32").labels == wanted).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_machine_programs_mean_the_same(profile: Any) -> None:
    rows, labels = labelled("many")
    numbers: tuple[Any, ...] = ("f32", "f64")
    for number in numbers:
        for program in programs("many_1", "many_axes").values():
            machine = lower(program, number, profile)
            assert (interpret(machine, rows[::9])["label"] == labels[::9]).all()
            assert scratch_bytes(machine) > 4 * sum(voting_machine("many")[0].n_support_)


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_no_step_is_undefined_and_no_compiler_complains(profile: str, tmp_path: Path) -> None:
    standard, chosen = ("-std=c99",) if profile == "portable" else (), programs("iris_1", "many_axes")
    for number in ("f32", "f64"):
        write_all(chosen, tmp_path, number, profile=profile)
        for compiler in compilers().values():
            compile_c(compiler, tmp_path, "-fsyntax-only", *standard, *WARNINGS, "all.c")
    driver = build(chosen, tmp_path, "f32", sanitizing_compiler(), *SANITIZE, profile=profile)
    for name, program in chosen.items():
        rows = labelled(CASES[name][0])[0]
        run(driver, name, program, np.vstack([rows[::50], rows[-7:]]), "f32")


def test_direct_sums_pass_over_zeros_on_hosts_alone() -> None:
    texts = {
        profile: sc.emit(program_of("sparse_axes"), "c", "m", profile=profile)["m.c"]
        for profile in PROFILES
    }
    assert ["_picked_many_" in texts[profile] for profile in PROFILES] == [False, True]
    assert "_picked_many_" not in sc.emit(program_of("wide_axes"), "c", "m", profile="host")["m.c"]

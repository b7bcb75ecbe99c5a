"""Bounded sums and votes in C: every label is the original's, in every profile and number type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bounded_cases import (
    TOLERANCE,
    labelled_rows,
    machine,
    odd_rows,
    regressor,
    sums,
    two_classes,
    value_program,
    votes,
    voting_machine,
)
from c_build import (
    LEVELS,
    SANITIZE,
    WARNINGS,
    attempt,
    build,
    compile_c,
    compilers,
    run,
    sanitizing_compiler,
    write_all,
    write_c,
)

import svmcompile as sc
from svmcompile.ir.nodes import BoundedSum, BoundedVote
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.runtime.c import CModel

pytestmark = pytest.mark.compile

REAL = {"f32": np.float32, "f64": np.float64}
BEST = next(iter(LEVELS))
BUILDS = [
    ("portable", "base", "f32"),
    ("portable", "base", "f64"),
    *(("host", level, "f32") for level in LEVELS),
    ("host", BEST, "f64"),
]
FEW_SUMS = ("rbf_some", "rbf_none", "poly_few")


def few() -> dict[str, Program]:
    """Programs that hold, together, what templates have branches for."""
    found = {name: (sums("rbf") | sums("poly"))[name] for name in FEW_SUMS}
    return found | {"vote": votes("iris")["iris_odd"], "powers": votes("poly")["poly_quads"]}


def agree(
    programs: dict[str, Program], kind: str, folder: Path, build_of: tuple[str, str, str], command: Any
) -> None:
    """Labels are the original's, and those of the exact program where a row is not finite."""
    profile, level, precision = build_of
    flags = [f"-D{name.upper()}_NO_{left_out}" for name in programs for left_out in LEVELS[level]]
    driver = build(programs, folder, precision, command, "-O1", *flags, profile=profile)
    rows, wanted = labelled_rows(kind)
    model = voting_machine(kind[5:])[0] if kind.startswith("vote ") else machine(kind)
    odd = odd_rows(rows.shape[1])
    every = np.vstack([rows, odd]).astype(REAL[precision])
    wanted = np.concatenate([wanted, sc.compile(model).predict(odd)])
    for name, program in programs.items():
        found = run(driver, name, program, every, precision)
        labels = program.labels.array()[found.labels]  # type: ignore[union-attr]
        assert (labels == wanted).all(), (name, np.flatnonzero(labels != wanted)[:5])


@pytest.mark.parametrize("build_of", BUILDS, ids="-".join)
@pytest.mark.parametrize("kind", ["rbf", "poly"])
def test_labels_of_bounded_sums(kind: str, build_of: Any, tmp_path: Path) -> None:
    agree(sums(kind), kind, tmp_path, build_of, next(iter(compilers().values())))


@pytest.mark.parametrize("build_of", BUILDS, ids="-".join)
@pytest.mark.parametrize("kind", ["iris", "many", "poly"])
def test_labels_of_bounded_votes(kind: str, build_of: Any, tmp_path: Path) -> None:
    agree(votes(kind), f"vote {kind}", tmp_path, build_of, next(iter(compilers().values())))


@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("profile", ["portable", "host"])
def test_labels_with_every_compiler(compiler: str, profile: str, tmp_path: Path) -> None:
    programs = {"rbf_some": sums("rbf")["rbf_some"]}
    agree(programs, "rbf", tmp_path, (profile, BEST, "f32"), compilers()[compiler])


@pytest.mark.parametrize("build_of", BUILDS, ids="-".join)
def test_values_within_a_tolerance(build_of: Any, tmp_path: Path) -> None:
    (profile, level, precision), program = build_of, value_program()
    flags = [f"-DMODEL_NO_{left_out}" for left_out in LEVELS[level]]
    command = next(iter(compilers().values()))
    driver = build({"model": program}, tmp_path, precision, command, "-O1", *flags, profile=profile)
    rows = labelled_rows("rbf")[0].astype(REAL[precision])
    found = run(driver, "model", program, rows, precision).scores[:, 0]
    stops = program.trace(rows.astype(np.float64)).stop
    assert (stops < len(program.tables["ends"])).mean() > 0.1, "estimates are not tested"
    assert np.abs(found - regressor().predict(rows)).max() <= TOLERANCE
    odd = odd_rows(rows.shape[1])[:3].astype(REAL[precision])
    assert np.isnan(run(driver, "model", program, odd, precision).scores).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_the_code_is_clean(profile: str, precision: str, tmp_path: Path) -> None:
    standard = ("-std=c99",) if profile == "portable" else ()
    write_all(few() | {"value": value_program()}, tmp_path, precision, profile)
    for command in compilers().values():
        compile_c(command, tmp_path, "-fsyntax-only", *standard, *WARNINGS, "all.c")


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_no_step_beyond_an_array(profile: str, tmp_path: Path) -> None:
    command = sanitizing_compiler()
    programs = few()
    driver = build(programs, tmp_path, "f32", command, *SANITIZE, profile=profile)
    for name, program in programs.items():
        rows = np.random.default_rng(0).normal(size=(200, program.n_features)).astype(np.float32)
        run(driver, name, program, np.vstack([rows, odd_rows(program.n_features)[:3]]), "f32")


SCALED = (
    "weights",
    "bias",
    "projection",
    "exact_weights",
    "exact_bias",
    "residuals",
    "margins",
    "rounding",
)


def test_small_weights_keep_their_sign() -> None:
    """Numbers below float's smallest are not rounded to zero: the exact sum settles such rows."""
    program = sums("rbf")["rbf_all"]
    tables = {
        name: table * (1e-42 if name in SCALED else 1) if table.dtype.kind == "f" else table
        for name, table in program.tables.items()
    }
    small = program.replace(tables=tables)
    rows, wanted = labelled_rows("rbf", 500)
    for profile in ("portable", "host"):
        files = sc.emit(small, "c", "small", "f32", profile)
        model = CModel("small", str(files["small.c"]), str(files["small.h"]), small.labels)
        assert (model.predict(rows) == wanted).all()


def test_batches_and_threads_agree_with_single_rows() -> None:
    program = votes("iris")["iris_quads"]
    files = sc.emit(program, "c", "m", "f32", "host")
    one, two = (
        CModel("m", str(files["m.c"]), str(files["m.h"]), program.labels, n_jobs=jobs) for jobs in (1, 2)
    )
    rows, _ = labelled_rows("vote iris", 400)
    single = np.concatenate([one.predict(row[None]) for row in rows])
    assert (one.predict(rows) == single).all() and (two.predict(rows) == single).all()


def test_stored_rows_are_tested_by_their_label(tmp_path: Path) -> None:
    X, _ = two_classes()
    program = sums("rbf")["rbf_all"].replace(probes=X[:8])
    write_c(program, tmp_path, "model", "f32")
    (tmp_path / "main.c").write_text('#include "model.h"\nint main(void) { return model_self_test(); }\n')
    text = (tmp_path / "model.c").read_text()
    assert "model_predict(inputs[i]) != labels[i]" in text and "expected" not in text
    command = next(iter(compilers().values()))
    compile_c(command, tmp_path, "main.c", "model.c", "-o", "main")
    assert attempt((str(tmp_path / "main"),), tmp_path).returncode == 0


def test_layouts() -> None:
    for program in (*sums("rbf").values(), *votes("iris").values()):
        for profile, lanes in (("portable", 1), ("host", 16)):
            machine_program = lower(program, "f32", profile)  # type: ignore[arg-type]
            (node,) = (n for n in machine_program.body if isinstance(n, (BoundedSum, BoundedVote)))
            assert machine_program.tables[node.vectors].shape[2] == lanes
            wide = {name for name, table in machine_program.tables.items() if table.dtype == np.float64}
            assert wide and all("exact" in name for name in wide)

"""Profile device: plain C99 without double that means what the program means, hostile rows included."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bounded_cases import boundary
from c_build import (
    SANITIZE,
    assert_no_warnings,
    build,
    compile_c,
    compilers,
    run,
    sanitizing_compiler,
    write_c,
)
from c_cases import CASES, FEATURES, RBF, as_it_is, dense, optimised, program_of
from programs import probabilities as chance_programs
from programs.leaves import RECIPES as LEAVES
from programs.leaves import leaf_program
from programs.lists import RECIPES as LISTS
from programs.lists import list_program
from programs.paths import RECIPES as PATHS
from programs.paths import path_program
from programs.routes import RECIPES as TREES
from programs.routes import tree_program
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.model.svm import LabelRule
from svmcompile.optimise.centre import uncentre
from svmcompile.targets.templating import name_from

pytestmark = pytest.mark.compile

KINDS: Any = (
    ("tree", TREES, tree_program),
    ("leaf", LEAVES, leaf_program),
    ("list", LISTS, list_program),
    ("path", PATHS, path_program),
)
EVERY = 4  # other tests hold the rest of the recipes to the profiles that share most of the code
ALIKE = ("rbf_ties", "rbf_pair", "rbf_one_class", "poly_value", "sigmoid_two", "affine_two", "quadratic")
SINGLE = [case for case in CASES if case not in ALIKE]
ODD = (np.nan, np.inf, -np.inf, 3e38, -1e30, 1e20, 1e-40, 0.0)


def _programs() -> dict[str, Program]:
    """Every kind of node the profile can write, under names fit for C."""
    found = {case: program_of(case) for case in SINGLE}
    for kind, recipes, make in KINDS:
        some = islice(recipes.items(), 0, None, EVERY)
        found |= {name_from(f"{kind}_{key}"): make(recipe) for key, recipe in some}
    chances = {k: v for k, v in chance_programs.PROGRAMS.items() if not k.startswith("coupled")}
    found |= {name_from(f"chance_{key}"): program for key, program in chances.items()}
    return {
        key: program for key, program in found.items() if program.output("scores") or not program.labels
    }


PROGRAMS = _programs()


def rows_of(program: Program, count: int = 400) -> Any:
    """Rows about the program's own, or about zero."""
    rng = np.random.default_rng(8)
    probes = program.probes.reshape(-1, program.n_features)
    rows = rng.normal(size=(count, program.n_features)) * rng.choice([0.3, 1.0, 3.0], size=(count, 1))
    return (rows + (probes.mean(axis=0) if len(probes) else 0)).astype(np.float32)


def odd_rows(program: Program) -> Any:
    rng = np.random.default_rng(9)
    rows = rows_of(program, 200)
    strewn = np.where(rng.random(rows.shape) < 0.3, rng.choice(ODD, size=rows.shape), rows)
    return strewn.astype(np.float32)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs in one that stops at the first undefined step."""
    folder = tmp_path_factory.mktemp("device")
    return build(PROGRAMS, folder, "f32", sanitizing_compiler(), *SANITIZE, profile="device")


@pytest.mark.parametrize("name", PROGRAMS)
def test_scores_within_the_bounds(driver: Path, name: str) -> None:
    program = PROGRAMS[name]
    rows = rows_of(program)
    found = run(driver, name, program, rows, "f32")
    assert found.failed == 0
    meant = interpret(program, rows.astype(np.float64))
    bounds = error_bounds(uncentre(program), rows, "f32")
    stable = ~bounds.unstable
    assert stable.mean() > 0.9
    expected = meant["scores" if "scores" in meant else "value"]
    assert (np.abs(found.scores - expected) <= 1.001 * bounds.scores + 1e-30)[stable].all()
    if program.labels:
        assert (found.labels == meant["label"])[stable].all()


@pytest.mark.parametrize("name", [case for case in SINGLE if case.startswith(("rbf", "sigmoid"))])
def test_rows_that_are_not_finite_or_huge_are_as_in_the_interpreter(driver: Path, name: str) -> None:
    program = PROGRAMS[name]
    rows = odd_rows(program)
    found = run(driver, name, program, rows, "f32")
    meant = interpret(lower(program, "f32"), rows)
    expected = meant["scores" if "scores" in meant else "value"]
    assert (np.isnan(found.scores) == np.isnan(expected)).all()
    assert np.isnan(expected).any() and not np.isnan(expected).all()


@pytest.mark.parametrize("compiler", compilers())
def test_no_warnings(compiler: str, tmp_path: Path) -> None:
    assert_no_warnings(compiler, PROGRAMS, tmp_path, "f32", "device")


def test_float_code_has_no_double_and_two_headers() -> None:
    for name, program in PROGRAMS.items():
        files = sc.emit(program, "c", name, "f32", "device")
        code = str(files[f"{name}.c"]) + str(files[f"{name}.h"])
        text = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
        label_type = program.labels is not None and program.labels.kind == "float"
        assert label_type or not re.search(r"\bdouble\b", text), name
        assert set(re.findall(r"#include <(.*?)>", text)) == {"stddef.h", "stdint.h"}


def test_wide_sums_are_refused_unless_asked_for() -> None:
    program = chance_programs.PROGRAMS["coupled-3"]
    with pytest.raises(EmitError, match=r"coupling of probabilities needs double precision.*--soft-double"):
        sc.emit(program, "c", "m", "f32", "device")
    files = sc.emit(program, "c", "m", "f32", "device", soft_double=True)
    assert "an AVR does not have" in str(files["m.c"])


@pytest.mark.parametrize("classes", [2, 5])
def test_rows_that_go_on_to_double_keep_their_labels(classes: int, tmp_path: Path) -> None:
    """Rows on the boundary, and vectors that are read as they are: no shift comes before the kernel."""
    X, y = make_blobs(300, centers=5, n_features=4, cluster_std=4.0, random_state=3)
    model = SVC(gamma=0.01, C=2.0).fit(X, y % classes)
    rows = np.concatenate(boundary(model, X)).astype(np.float32)
    for method in ("certified", "anytime"):
        program = sc.compile(model, method=method, X=X, force=True)
        sc.write(sc.emit(program, "c", "m", "f32", "device", soft_double=True), tmp_path / method)
        assert (sc.load(tmp_path / method).predict(rows) == model.predict(rows.astype(np.float64))).all()


def test_sparse_tables_are_refused() -> None:
    with pytest.raises(OptionError, match="scratch memory, which devices lack"):
        sc.emit(program_of("rbf_sparse"), "c", "m", "f32", "device", "sparse")


def test_self_test_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    write_c(program_of("rbf_two"), tmp_path, "m", "f32", "device")
    (tmp_path / "main.c").write_text(
        '#include "m.h"\nint main(void) { return m_self_test() == WANTED ? 0 : 1; }\n'
    )
    command = next(iter(compilers().values()))
    for define, wanted in (("-DOTHER", "-1"), ("-DM_SELF_TEST", "0")):
        compile_c(command, tmp_path, define, f"-DWANTED={wanted}", "main.c", "m.c", "-o", "main")
        assert subprocess.run([tmp_path / "main"]).returncode == 0


def test_tables_go_to_a_section_of_the_users(tmp_path: Path) -> None:
    write_c(program_of("rbf_ovo"), tmp_path, "m", "f32", "device")
    section = '-DM_TABLE=__attribute__((section(".model")))'
    compile_c(next(iter(compilers().values())), tmp_path, "-std=c99", section, "-O2", "-c", "m.c")
    from elftools.elf.elffile import ELFFile

    with (tmp_path / "m.o").open("rb") as stream:
        placed = ELFFile(stream).get_section_by_name(".model")
        assert placed is not None and placed["sh_size"] >= 40 * FEATURES * 4


def test_rows_are_read_as_they_come_unless_features_have_a_large_mean() -> None:
    near = optimised(dense(RBF, LabelRule.NONE, None))
    svm = dense(RBF, LabelRule.NONE, None)
    far = optimised(replace(svm, vectors=svm.vectors + 1e4))
    assert "float sums_z[" not in str(sc.emit(near, "c", "m", "f32", "device")["m.c"])
    assert "float sums_z[" in str(sc.emit(far, "c", "m", "f32", "device")["m.c"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_uncentring_keeps_the_meaning(name: str) -> None:
    program = PROGRAMS[name]
    rows = rows_of(program, 50)
    one, other = (interpret(item, rows.astype(np.float64)) for item in (program, uncentre(program)))
    for key in one:
        np.testing.assert_allclose(one[key], other[key], rtol=1e-9, atol=1e-9)


def test_a_program_that_was_not_optimised_is_taken_too() -> None:
    program = as_it_is(dense(RBF, LabelRule.NONE, None))
    with pytest.raises(EmitError, match="optimise the program first"):
        sc.emit(program, "c", "m", "f32", "device")

"""Vectors stored by feature: C, its interpreter and the math program agree; sizes are what was promised."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import LEVELS, SANITIZE, build, compile_c, compilers, run, sanitizing_compiler, write_c
from c_cases import voting
from scipy.sparse import csr_matrix, random_array

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.errors import CheckError, EmitError
from svmcompile.flow.program import compile_svm
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import SparseSum
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.lower import lower
from svmcompile.lower.sparse import LAYOUTS, Layout
from svmcompile.model.front import scale
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.optimise import optimise
from svmcompile.targets.c.node import scratch_bytes

pytestmark = pytest.mark.compile

WIDTH = 70  # not a whole number of words of 32 features
ROWS = 2600  # of each of four densities
KERNELS = {
    "rbf": Kernel("rbf", 0.3),
    "poly": Kernel("poly", 0.5, 1.0, 3),
    "sigmoid": Kernel("sigmoid", 0.3, 0.1),
}
WARNINGS = (
    "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion -Wshadow -Wmissing-prototypes -Werror"
).split()


def rows_of(count: int, density: float, seed: int = 0, width: int = WIDTH) -> Any:
    """Sparse rows of float32 numbers, and the same ones dense in float64."""
    generator = np.random.default_rng(seed)
    found = random_array((count, width), density=density, rng=generator, data_sampler=generator.normal)
    rows = csr_matrix(found).astype(np.float32)
    return rows, rows.toarray().astype(np.float64)


def vectors_of(count: int, seed: int = 1, width: int = WIDTH) -> Any:
    """A few features that most vectors have, many that few have, some that none has."""
    vectors = rows_of(count, 0.06, seed, width)[1]
    vectors[:, 3] = np.random.default_rng(seed).normal(size=count)
    vectors[:, [0, 33, width - 1]] = 0
    return vectors


def model(kernel: str, classes: int = 7, vectors: int = 120) -> Program:
    """Classes of uneven sizes, one of them without vectors where there are several."""
    generator = np.random.default_rng(classes)
    counts = generator.multinomial(vectors, np.full(classes, 1 / classes))
    if classes > 2:
        counts[0], counts[1] = counts[0] + counts[1], 0
    return voting(KERNELS[kernel], vectors_of(vectors), tuple(map(int, counts)), generator)


def value_model(width: int, vectors: int, **more: Any) -> SVM:
    """One sum over vectors of ten features each."""
    generator = np.random.default_rng(0)
    found = np.zeros((vectors, width))
    for vector in found:
        vector[generator.choice(width, 10, replace=False)] = generator.normal(size=10)
    weights = generator.normal(size=(1, vectors))
    rule = LabelRule.NONE
    return SVM(Kernel("rbf", 0.1), found, weights, np.zeros(1), rule, Source("test", "0" * 64), **more)


def sparse_node(program: Program) -> SparseSum:
    (node,) = (node for node in program.body if isinstance(node, SparseSum))
    return node


@pytest.mark.parametrize("profile", ["host", "portable"])
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_c_and_both_interpreters_agree(kernel: str, number: Any, profile: Any, tmp_path: Path) -> None:
    for classes in (2, 7):
        program = model(kernel, classes)
        folder = tmp_path / str(classes)
        sc.write(sc.emit(program, "c", "model", number, profile, "sparse"), folder)
        fast, machine = sc.load(folder), lower(program, number, profile, storage="sparse")
        assert fast.self_test() == 0 and sparse_node(machine).counts
        for density in (0.0, 0.03, 0.3, 1.0):
            rows, whole = rows_of(ROWS // 2, density, 2)
            bounds = error_bounds(program, whole, number)
            meant = interpret(program, whole)
            held = interpret(machine, whole)["scores"]
            assert (np.abs(held - meant["scores"]) <= 2 * bounds.scores).all()
            for given in (rows, whole, rows[:1], whole[:1]):
                count = given.shape[0]
                scores = fast.decision_function(given).reshape(count, -1)
                assert (np.abs(scores - meant["scores"][:count]) <= 2 * bounds.scores[:count]).all()
                wrong = fast.predict(given) != program.labels.array()[meant["label"][:count]]  # type: ignore[union-attr]
                assert not (wrong & ~bounds.unstable[:count]).any()


@pytest.mark.parametrize("profile", ["host", "portable"])
def test_several_segments(profile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes that begin and end within segments, the last segment cut off."""
    monkeypatch.setitem(LAYOUTS, profile, Layout(32, LAYOUTS[profile].full))
    for classes in (3, 7):
        program = model("rbf", classes, 150)
        machine = lower(program, "f32", profile, storage="sparse")
        assert len(machine.tables[sparse_node(machine).starts]) >= 5
        sc.write(sc.emit(program, "c", "model", "f32", profile, "sparse"), tmp_path)
        for density in (0.05, 0.6):
            rows, whole = rows_of(500, density, 3)
            bounds = error_bounds(program, whole, "f32").scores
            meant = program.decision_function(whole)
            assert (np.abs(machine.decision_function(whole) - meant) <= 2 * bounds).all()
            for given in (rows, whole):
                error = np.abs(sc.load(tmp_path).decision_function(given) - meant)
                assert (error <= 2 * bounds).all()


@pytest.mark.parametrize("profile", ["host", "portable"])
def test_factors_by_feature(profile: Any, tmp_path: Path) -> None:
    """A scaling without a shift stays with the row, its numbers in a table."""
    scaling = scale(np.zeros(90), np.linspace(0.5, 2.0, 90))
    program = compile_svm(value_model(90, 40, front=scaling), "exact", None, {})
    machine = lower(program, "f32", profile, storage="sparse")
    assert machine.tables[sparse_node(machine).factor].shape == (90,)
    sc.write(sc.emit(program, "c", "model", "f32", profile, "sparse"), tmp_path)
    rows, whole = rows_of(300, 0.1, 4, 90)
    bounds = error_bounds(program, whole, "f32").scores[:, 0]
    for given in (rows, whole):
        assert (np.abs(sc.load(tmp_path).predict(given) - program.predict(whole)) <= 2 * bounds).all()


def test_rows_that_are_shifted_cannot_be_sparse() -> None:
    scaling = scale(np.ones(90), np.ones(90))
    program = compile_svm(value_model(90, 40, front=scaling), "exact", None, {})
    assert sc.emit(program, "c", "model")
    with pytest.raises(EmitError, match="--tables"):
        sc.emit(program, "c", "model", tables="sparse")
    with pytest.raises(sc.OptionError, match="table type"):
        sc.emit(program, "c", "model", tables="thin")


@pytest.mark.parametrize("profile", ["host", "portable"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_sanitizers_and_rows_that_are_not_finite(profile: Any, number: Any, tmp_path: Path) -> None:
    command = sanitizing_compiler()
    models = {f"{kernel}_sum": model(kernel, 3, 3000) for kernel in KERNELS}  # several segments if portable
    machines = {name: lower(program, number, profile) for name, program in models.items()}
    assert all(sparse_node(machine) for machine in machines.values())
    driver = build(models, tmp_path, number, command, *SANITIZE, profile=profile)
    rows = rows_of(130, 0.2, 5)[1].astype(np.float32 if number == "f32" else np.float64)
    rows[3, 0], rows[5, 1], rows[7, 69], rows[11] = np.nan, np.inf, -np.inf, np.finfo(rows.dtype).tiny / 4
    rows[13, 4], rows[15, 5] = np.finfo(rows.dtype).max, -0.0
    bad = ~np.isfinite(rows).all(axis=1)
    for name, machine in machines.items():
        found = run(driver, name, models[name], rows, number)
        meant = interpret(machine, rows)
        assert found.failed == 0
        assert np.isnan(found.scores[bad]).all() and np.isnan(meant["scores"][bad]).all()
        assert (found.labels == meant["label"])[bad].all()
        if name == "rbf_sum":  # other kernels may leave the number type where a feature is that large
            assert np.isfinite(found.scores[~bad]).all()


SHAPES = (("rbf", 2), ("rbf", 3), ("rbf", 7), ("poly", 3), ("sigmoid", 7))  # kernels, numbers of classes


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set_stays_within_the_bounds(level: str, number: Any, tmp_path: Path) -> None:
    models = {f"{kernel}_{n}": model(kernel, n, 3000) for kernel, n in SHAPES}
    machines = {name: lower(program, number, "host") for name, program in models.items()}
    assert all(sparse_node(machine) for machine in machines.values())
    flags = [f"-D{name.upper()}_NO_{left_out}" for name in models for left_out in LEVELS[level]]
    command = next(iter(compilers().values()))
    driver = build(models, tmp_path, number, command, "-O2", *flags, profile="host")
    rows = rows_of(200, 0.1, 6)[1].astype(np.float32 if number == "f32" else np.float64)
    for name, program in models.items():
        found = run(driver, name, program, rows, number)
        meant = interpret(program, rows.astype(np.float64))["scores"]
        error = np.abs(found.scores.astype(np.float64) - meant)
        assert found.failed == 0 and (error <= 2 * error_bounds(program, rows, number).scores).all()


DRIVER = r"""
#include "model.h"
int main(void)
{
    const int32_t indices[7] = {7, -1, 69, 70, INT32_MAX, INT32_MIN, 4};
    const float values[7] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 0.5f};
    float whole[MODEL_N_FEATURES] = {0};
    float a[MODEL_N_SCORES], b[MODEL_N_SCORES];
    int differ = 0;
    whole[4] = 0.5f;
    whole[7] = 1.0f;
    whole[69] = 3.0f;
    model_decision_function_sparse(indices, values, 7, a);
    model_decision_function(whole, b);
    for (int i = 0; i < MODEL_N_SCORES; i++)
        differ += a[i] < b[i] - 1e-4f || a[i] > b[i] + 1e-4f;
    differ += model_predict_sparse(indices, values, 7) != model_predict(whole);
    differ += model_predict_sparse(indices, values, 0) < 0;
    return differ;
}
"""


@pytest.mark.parametrize("profile", ["host", "portable"])
def test_any_order_and_indices_out_of_range(profile: str, tmp_path: Path) -> None:
    command = sanitizing_compiler()
    write_c(model("rbf"), tmp_path, "model", "f32", profile, "sparse")
    (tmp_path / "driver.c").write_text(DRIVER)
    compile_c(command, tmp_path, *SANITIZE, "driver.c", "model.c", "-o", "driver")
    compile_c((str(tmp_path / "driver"),), tmp_path)


@pytest.mark.parametrize("name", compilers())
def test_no_warning(name: str, tmp_path: Path) -> None:
    for kernel, number, profile in (
        ("rbf", "f32", "host"),
        ("poly", "f64", "host"),
        ("sigmoid", "f32", "portable"),
    ):
        write_c(model(kernel), tmp_path, kernel, number, profile, "sparse")
    (tmp_path / "all.c").write_text("".join(f'#include "{kernel}.c"\n' for kernel in KERNELS))
    for level in ("-O0", "-O2"):
        compile_c(compilers()[name], tmp_path, *WARNINGS, level, "-S", "all.c", "-o", os.devnull)


def test_the_choice_goes_by_density_and_the_report_tells(tmp_path: Path) -> None:
    thin = compile_svm(value_model(5000, 200), "exact", None, {})
    report = json.loads(sc.emit(thin, "c", "model")["model.json"])
    entries, features = 2000, int((value_model(5000, 200).vectors != 0).any(axis=0).sum())
    # Entries, where each feature's begin, and per word of features its bits and their rank.
    stored = entries * (4 + 2) + 2 * (features + 1) + 157 * (4 + 2)
    assert report["vectors"] == {"storage": "sparse", "bytes": stored}
    blocks = 224 * (4 + 4)  # weights and offsets, filled up to whole blocks
    assert report["cost"]["table_bytes"] == stored + blocks + 4  # and bias; the factor stands in the code
    forced = json.loads(sc.emit(thin, "c", "model", tables="dense")["model.json"])
    assert forced["vectors"] == {"storage": "dense", "bytes": 224 * 5000 * 4}
    thick = voting(
        KERNELS["rbf"], np.random.default_rng(0).normal(size=(90, 8)), (40, 50), np.random.default_rng(1)
    )
    for profile in ("host", "portable"):
        report = json.loads(sc.emit(thick, "c", "model", profile=profile)["model.json"])
        assert report["vectors"]["storage"] == "dense"
    assert json.loads(sc.emit(thin, "onnx", "model")["model.json"])["vectors"] is None


def test_many_features_make_small_tables() -> None:
    """What a dense table would keep in 102 MB takes some tens of KB."""
    width, vectors = 200_000, 64
    svm = value_model(width, vectors)
    features = int((svm.vectors != 0).any(axis=0).sum())
    stored = 10 * vectors * (8 + 2) + 2 * (features + 1) + width // 32 * (4 + 2)
    program = optimise(accelerate(svm, None, "exact", {}))
    for profile in ("host", "portable"):
        machine = lower(program, "f64", profile)  # type: ignore[arg-type]
        assert machine.cost().table_bytes == stored + vectors * (8 + 8) + 8 + 8 < 50_000
        assert scratch_bytes(machine) < 3000
    assert width * vectors * 8 == 102_400_000


def test_many_features_make_small_code(tmp_path: Path) -> None:
    """The rows of the self-test are stored by feature as well."""
    program = compile_svm(value_model(200_000, 12), "exact", None, {})
    assert len(program.probes)
    for profile in ("host", "portable"):
        sc.write(sc.emit(program, "c", "model", "f32", profile), tmp_path)
        assert (tmp_path / "model.c").stat().st_size < 300_000
        fast = sc.load(tmp_path)
        rows, whole = rows_of(3, 0.001, 0, 200_000)
        assert fast.self_test() == 0 and (fast.predict(rows) == fast.predict(whole)).all()


def test_scratch_is_bounded() -> None:
    for profile in ("host", "portable"):
        few, many = (
            scratch_bytes(lower(model("rbf", 3, count), "f32", profile, storage="sparse"))  # type: ignore[arg-type]
            for count in (9_000, 20_000)
        )
        assert few == many < 20_000


def test_stored_and_damaged() -> None:
    machine = lower(model("rbf"), "f32", storage="sparse")
    assert from_bytes(to_bytes(machine)) == machine and "sparse_sum" in machine.text()
    node = sparse_node(machine)
    damages: dict[str, Any] = {
        node.indices: lambda t: t + 100,
        node.starts: lambda t: t + 1,
        node.ranks: lambda t: t + 1,
        node.marks: lambda t: t | np.uint32(1 << 31),
        node.values: lambda t: t[:-1],
        node.factor: lambda t: np.repeat(t, 2),
    }
    for name, damage in damages.items():
        with pytest.raises(CheckError):
            check(machine.replace(tables={**machine.tables, name: damage(machine.tables[name])}))
    swapped = machine.tables[node.indices].copy()
    first = int(np.flatnonzero(np.diff(machine.tables[node.starts][0].astype(int)) > 1)[0])
    at = int(machine.tables[node.starts][0, first])
    swapped[[at, at + 1]] = swapped[[at + 1, at]]
    with pytest.raises(CheckError, match="ascend"):
        check(machine.replace(tables={**machine.tables, node.indices: swapped}))
    with pytest.raises(CheckError, match="limit"):
        body = tuple(replace(item, limit=-1.0) if item == node else item for item in machine.body)
        check(machine.replace(body=body))

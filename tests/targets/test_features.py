"""Nodes of preprocessing in C and ONNX against the interpreter: odd numbers, missing ones, every width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import compile_quietly, compilers, write_c
from onnx_cases import outputs
from programs.strategies import origin

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Output, Program
from svmcompile.optimise import optimise

D = 5
PRECISIONS = ("f32", "f64")
FORMS = (("c", "portable"), ("c", "host"), ("onnx", "host"))
NODES: dict[str, Any] = {
    "as-features": [ir.Affine("s", "x", "w", "b", "c"), ir.AsFeatures("z", "s")],
    "pick": [ir.Pick("z", "x", "columns")],
    "l1": [ir.Normalize("z", "x", "l1", 2e-15)],
    "l2": [ir.Normalize("z", "x", "l2", 2e-15)],
    "max": [ir.Normalize("z", "x", "max", 2e-15)],
    "powers": [ir.Powers("z", "x", "factors")],
    "cosine": [ir.Cosine("z", "x", 0.7)],
    "logs": [ir.Pick("y", "x", "one"), ir.LogCounts("z", "y")],
    "equal": [ir.Matches("z", "x", "columns", "edges", "equal")],
    "least": [ir.Matches("z", "x", "columns", "edges", "least")],
    "pieces": [ir.Pick("y", "x", "columns"), ir.Pieces("z", "y", "starts", "knots", "levels", "cubics")],
    "periodic-pieces": [
        ir.Pick("y", "x", "columns"),
        ir.PeriodicPieces("z", "y", "starts", "circle", "levels", "lines", "origins", "periods"),
    ],
    "normal": [ir.Pick("y", "x", "pairs"), ir.NormalQuantile("z", "y")],
    "box-cox": [ir.Pick("y", "x", "one"), ir.BoxCox("z", "y", "power", False)],
    "yeo-johnson": [ir.BoxCox("z", "x", "exponents", True)],
    "fill": [ir.Fill("z", "x", "values", True, 0.0)],
    "fill-marker": [ir.Fill("z", "x", "values", False, -2.0)],
    "missing": [ir.Missing("z", "x", True, 0.0)],
    "missing-marker": [ir.Missing("z", "x", False, -2.0)],
    "join": [ir.Pick("p", "x", "columns"), ir.Join("z", "x", "p")],
    "map": [ir.KernelSum("s", "x", "v", "wv", "b", Kernel("rbf", 0.3)), ir.AsFeatures("z", "s")],
    "two-maps": [
        ir.KernelSum("s", "x", "v", "wv", "b", Kernel("rbf", 0.3)),
        ir.AsFeatures("y", "s"),
        ir.KernelSum("t", "y", "u", "wu", "bu", Kernel("poly", 0.5, 1.0, 3)),
        ir.AsFeatures("q", "t"),
        ir.Join("z", "q", "x"),
    ],
}


def program_of(name: str) -> Program:
    """The features of a node, added up with weights of their own."""
    random = np.random.default_rng(4)
    tables: dict[str, Any] = {
        "w": random.normal(size=(3, D)),
        "b": random.normal(size=3),
        "c": np.zeros(D),
        "columns": np.array([4, 0, 4], np.int32),
        "one": np.array([2], np.int32),
        "power": np.array([-0.3]),
        "exponents": np.array([0.0, 2.0, 0.4, -1.5, 1e-3]),
        "starts": np.array([0, 2, 3, 6], np.int32),
        "knots": np.array([-2.0, 0.25, 0.3, -2.0, 0.1, 4.0]),  # the last three are steps
        "levels": random.normal(size=(6, 2)),
        "cubics": random.normal(size=(9, 8)) * np.repeat([1.0, 0.1, 0.01, 1e-4], 2),
        "circle": np.array([0.0, 2.0, 0.5, 0.0, 0.25, 3.0]),
        "lines": random.normal(size=(9, 2)),  # steps, also where a period ends
        "origins": np.array([-2.0, 0.1, 0.25]),
        "periods": np.array([2.0, 0.0, 3.0]),
        "pairs": np.array([0, 1, 4, 3], np.int32),
        "edges": np.array([-2.0, 0.25, 0.3]),
        "factors": np.array([[5, 5], [0, 5], [1, 2], [3, 3], [5, 4]], np.int32),
        "values": random.normal(size=D),
        "v": random.normal(size=(7, D)),
        "wv": random.normal(size=(3, 7)),
        "u": random.normal(size=(4, 3)),
        "wu": random.normal(size=(2, 4)),
        "bu": np.zeros(2),
    }
    body = [*NODES[name]]
    known = {table for node in body for table in ir.table_names(node)}
    tables = {table: tables[table] for table in tables if table in known}
    width = _width(body, tables)
    tables |= {
        "slopes": random.uniform(0.5, 2, size=(1, width)),
        "bias": np.ones(1),
        "zero": np.zeros(width),
    }
    body.append(ir.Affine("value", "z", "slopes", "bias", "zero"))
    return check(Program(Input(D), tuple(body), (Output("value", "value"),), tables, None, origin()))


def _width(body: Any, tables: Any) -> int:
    env: dict[str, Any] = {"x": np.zeros((1, D))}
    for node in body:
        env[node.out] = ir_run(node, env, tables)
    return int(env["z"].shape[1])


def ir_run(node: Any, env: Any, tables: Any) -> Any:
    from svmcompile.ir.node import run

    return run(node, env, tables)


def rows(precision: str) -> Any:
    """Usual rows, and rows with zeros, markers, NaN, infinities, small and large numbers."""
    random = np.random.default_rng(5)
    found = 3 * random.normal(size=(400, D))
    found[random.random(found.shape) < 0.1] = -2.0
    odd = [np.nan, np.inf, -np.inf, 0.0, 1e-20, 1e-12, 0.25, 0.5, 1e6, 2.0**24, -3e9]
    for index, value in enumerate(odd * 3):
        found[index, index % D] = value
    found[50], found[51], found[52] = 0.0, 1e-17, np.nan
    number = np.float32 if precision == "f32" else np.float64
    return found.astype(number).astype(np.float64)


def loaded(program: Program, precision: str, target: str, profile: str, folder: Path) -> Any:
    sc.write(sc.emit(program, target, "m", precision, profile), folder)
    return sc.load(folder)


@pytest.mark.compile
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NODES)
def test_every_form_gives_what_the_interpreter_gives(name: str, precision: Any, tmp_path: Path) -> None:
    program, given = optimise(program_of(name)), rows(precision)
    wanted = interpret(program, given)["value"][:, 0]
    bounds = error_bounds(program, given, precision)
    steady = ~bounds.unstable
    for target, profile in FORMS:
        found = loaded(program, precision, target, profile, tmp_path / target / profile)
        found = found.predict(given, allow_nan=True)
        np.testing.assert_array_equal(np.isnan(found)[steady], np.isnan(wanted)[steady], err_msg=target)
        kept = steady & np.isfinite(wanted)
        error = np.abs(found - wanted)[kept]
        assert (error <= bounds.scores[kept, 0]).all(), (target, profile)
    assert steady.mean() > 0.9


def test_rows_that_are_missing_or_not_finite_mean_what_is_documented() -> None:
    """Filled features and those not picked do not matter; norms and maps of a bad row are NaN."""
    given = np.ones((3, D))
    given[0, 1], given[1, 1], given[2, 4] = np.nan, np.inf, np.nan
    expected = {
        "fill": [False, True, False],
        "missing": [False, False, False],
        "pick": [False, False, True],
        "l2": [True, True, True],
        "max": [True, True, True],
        "map": [True, True, True],
        "powers": [True, True, True],
        "cosine": [True, True, True],
    }
    for name, bad in expected.items():
        assert np.isnan(interpret(program_of(name), given)["value"][:, 0]).tolist() == bad, name


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NODES)
def test_onnx_passes_its_checker(name: str, precision: Any) -> None:
    program = program_of(name)
    assert len(outputs(program, np.zeros((0, D)), precision)["value"]) == 0
    assert len(outputs(program, np.ones((2, D)), precision)["value"]) == 2


@pytest.mark.compile
@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_c_compiles_without_a_warning(precision: str, profile: str, tmp_path: Path) -> None:
    from c_build import WARNINGS

    for name in NODES:
        stem = f"m_{name.replace('-', '_')}"
        write_c(optimise(program_of(name)), tmp_path, stem, precision, profile)
    (tmp_path / "all.c").write_text("".join(f'#include "m_{name.replace("-", "_")}.c"\n' for name in NODES))
    standard = "-std=c99" if profile == "portable" else "-std=gnu99"
    for command in compilers().values():
        compile_quietly(command, tmp_path, standard, *WARNINGS, "all.c", profile=profile)

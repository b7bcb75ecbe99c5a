"""Kernels of differences in C and ONNX: as the interpreter, up to the stated error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs.strategies import origin

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.differences import TERMS
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Output, Program

KERNELS = {
    "laplacian": Kernel("laplacian", gamma=0.5),
    "chi2": Kernel("chi2", gamma=0.7),
    "additive-chi2": Kernel("additive-chi2"),
    "intersection": Kernel("intersection"),
    "matern-1": Kernel("matern", gamma=0.8, degree=0),
    "matern-3": Kernel("matern", gamma=0.8, degree=1),
    "matern-5": Kernel("matern", gamma=1.8, degree=2),
    "rational": Kernel("rational", gamma=0.3, coef0=1.7),
    "rational-slow": Kernel("rational", gamma=3.0, coef0=0.1),
}
WIDTH = 5


def program(kernel: Kernel) -> Program:
    random = np.random.default_rng(0)
    tables = {
        "v": np.abs(random.normal(size=(40, WIDTH))).astype(np.float32).astype(np.float64),
        "w": random.normal(size=(1, 40)),
        "b": np.array([0.3]),
    }
    node = ir.DifferenceSum("sums", "x", "v", "w", "b", kernel)
    return check(Program(Input(WIDTH), (node,), (Output("value", "sums"),), tables, None, origin()))


def rows() -> Any:
    """Near and far rows, a vector itself, and two that are not finite."""
    found = np.abs(np.random.default_rng(1).normal(size=(1000, WIDTH))).astype(np.float32)
    found[0], found[1] = 0, program(KERNELS["chi2"]).tables["v"][0]
    found[2] *= 1e10
    found[3] *= 1e-10
    found[-2, 0], found[-1, 1] = np.nan, np.inf
    return found.astype(np.float64)


def test_every_kernel_is_here() -> None:
    assert {kernel.kind for kernel in KERNELS.values()} == set(TERMS)


@pytest.mark.compile
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("name", KERNELS)
def test_as_the_interpreter(name: str, number: Any, tmp_path: Any) -> None:
    meant, x = program(KERNELS[name]), rows()
    bound = error_bounds(meant, x[:-2], number).scores[:, 0]
    assert np.isfinite(bound).all() and np.median(bound) < (1e-3 if number == "f32" else 1e-11)
    values = meant.predict(x)
    for profile in ("portable", "host", "device"):
        sc.write(sc.emit(meant, ("c", "onnx"), "m", number, profile), tmp_path / profile)
        for target in ("c", "onnx") if profile == "host" else ("c",):
            model = sc.load(tmp_path / profile, target=target)
            found = model.predict(x, allow_nan=True)
            assert np.isnan(found[-2:]).all(), "rows that are not finite"
            assert (np.abs(found - values)[:-2] <= bound).all(), (profile, target)
            assert target == "onnx" or model.self_test() == 0


def test_many_features_go_in_parts(tmp_path: Any) -> None:
    random = np.random.default_rng(0)
    kernel, vectors = KERNELS["laplacian"], random.normal(size=(6, 130))
    tables = {"v": vectors, "w": random.normal(size=(2, 6)), "b": np.zeros(2)}
    nodes = (ir.DifferenceSum("sums", "x", "v", "w", "b", kernel), ir.Pick("one", "sums", "c"))
    tables["c"] = np.array([1], np.int32)
    meant = check(Program(Input(130), nodes, (Output("value", "one"),), tables, None, origin()))
    x = vectors + random.normal(size=vectors.shape) / 50
    sc.write(sc.emit(meant, "onnx", "m", "f64"), tmp_path)
    model = sc.load(tmp_path)
    np.testing.assert_allclose(model.predict(x), meant.predict(x), rtol=1e-12)

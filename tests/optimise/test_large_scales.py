"""Features and coefficients of extreme size: bounds hold, and scores that fit float do not overflow."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.errors import EmitError
from svmcompile.flow.program import compile_svm
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.optimise.accurate import pair, product
from svmcompile.optimise.balance import balance_powers

FEATURES, VECTORS, ROWS = 4, 40, 12


def machine(degree: int, scale: float) -> tuple[SVM, Any]:
    """A polynomial SVM of unscaled features, scores about one, and rows in float32."""
    random = np.random.default_rng(degree)
    vectors, rows = (
        (random.normal(size=(count, FEATURES)) * scale).astype(np.float32).astype(np.float64)
        for count in (VECTORS, ROWS)
    )
    weights = random.normal(size=(1, VECTORS)) / scale ** (2 * degree)
    weights[0, -1] -= weights.sum()  # as in every SVM
    source = Source("test", "0" * 64)
    kernel = Kernel("poly", 1.0, 0.0, degree)
    return SVM(kernel, vectors, weights, np.ones(1), LabelRule.NONE, source).check("test"), rows


def compiled(svm: SVM) -> Program:
    return compile_svm(svm, "exact", None, {})


def truth(svm: SVM, rows: Any) -> Any:
    """Values without rounding."""
    values = []
    for row in rows:
        x, total = [Fraction(float(value)) for value in row], Fraction(float(svm.intercepts[0]))
        for weight, vector in zip(svm.coefficients[0], svm.vectors, strict=True):
            dot = sum(Fraction(float(s)) * value for s, value in zip(vector, x, strict=True))
            total += Fraction(float(weight)) * dot**svm.kernel.degree
        values.append(float(total))
    return np.array(values)[:, None]


SCALES = ((1, 1.0), (1, 1e6), (2, 1e6), (3, 1e6), (9, 30.0), (3, 1e-6))


@pytest.mark.parametrize(("degree", "scale"), SCALES)
def test_the_bounds_of_double_hold(degree: int, scale: float) -> None:
    """Duplicated vectors of opposite weights cancel, which once took collapsed kernels bounds away."""
    svm, rows = machine(degree, scale)
    vectors = np.concatenate([svm.vectors, svm.vectors * (1 + 2.0**-20)])
    large = 2.0**20 * svm.coefficients
    both = np.concatenate([large, -large], axis=1)
    svm = replace(svm, vectors=vectors, coefficients=both)
    program = compiled(svm.check("test"))
    error = np.abs(interpret(program, rows)["value"] - truth(svm, rows))
    assert (error <= error_bounds(program, rows, "f64").scores).all()


@pytest.mark.parametrize(("degree", "scale"), [(3, 1e6), (9, 30.0), (9, 1e3), (9, 1e-4)])
def test_scores_that_fit_float_do_not_overflow_on_the_way(degree: int, scale: float) -> None:
    svm, rows = machine(degree, scale)
    program = compiled(svm)
    bounds, meant = error_bounds(program, rows, "f32").scores, interpret(program, rows)["value"]
    assert np.isfinite(bounds).all() and bounds.max() < 1e-3 * np.abs(meant).max()
    found = interpret(lower(program, "f32"), rows.astype(np.float32))["value"]
    assert (np.abs(found - meant) <= bounds).all()


@pytest.mark.compile
def test_c_does_as_well() -> None:
    svm, rows = machine(9, 1e3)
    program = compiled(svm)
    found, meant = sc.build(program, precision="f32").predict(rows), interpret(program, rows)["value"]
    assert (np.abs(found[:, None] - meant) <= error_bounds(program, rows, "f32").scores).all()


def test_balancing_keeps_the_meaning_to_the_last_bit() -> None:
    svm, rows = machine(9, 30.0)
    program = accelerate(svm, None, "exact", {})
    again = balance_powers(program)
    assert again is not program and balance_powers(again) is again
    assert np.array_equal(interpret(again, rows)["value"], interpret(program, rows)["value"])
    ordinary = accelerate(machine(3, 1.0)[0], None, "exact", {})
    assert balance_powers(ordinary) is ordinary


def test_where_float_overflows_nothing_is_promised() -> None:
    svm, rows = machine(9, 30.0)
    program, far = compiled(svm), 1e12 * rows
    assert np.isfinite(error_bounds(program, rows, "f32").scores).all()
    assert not np.isfinite(error_bounds(program, far, "f32").scores).any()
    assert not np.isfinite(interpret(lower(program, "f32"), far.astype(np.float32))["value"]).all()


def test_what_float_cannot_hold_is_refused() -> None:
    svm, _ = machine(3, 1e6)
    svm = replace(svm, coefficients=svm.coefficients * 1e36, intercepts=np.full(1, 1e39))
    with pytest.raises(EmitError, match="use precision f64, or scale your features"):
        lower(compiled(svm), "f32")


def test_products_are_rounded_once() -> None:
    random = np.random.default_rng(0)
    a = random.normal(size=(2, 50)) * 10.0 ** random.integers(-8, 8, (2, 50))
    b = random.normal(size=(50, 3))
    found = product(a, b).rounded()
    for i, j in np.ndindex(2, 3):
        exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a[i], b[:, j], strict=True))
        assert found[i, j] == float(exact)
    third = pair(np.array([1.0])) * (1 / 3) * 3.0
    assert Fraction(third.high[0]) + Fraction(third.low[0]) == Fraction(1 / 3) * 3

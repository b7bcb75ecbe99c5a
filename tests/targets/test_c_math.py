"""exp2 and tanh of generated code: as exact as their comments and `ir.bounds` say."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import compile_c, compilers, write_c
from c_cases import program_of, real_type

from svmcompile.ir.arithmetic import ARITHMETIC
from svmcompile.targets.c.literals import EXP2_FROM_FLOOR, EXP2_FROM_NEAREST, NUMBERS

pytestmark = pytest.mark.compile

PRECISIONS = ("f32", "f64")
POINTS = 250_000
LOWEST = {"f32": -126.0, "f64": -1022.0}
# The second kind fuses multiplications and additions, where the processor can.
NATIVE = ("-march=native",) if platform.machine() == "x86_64" else ()
BUILDS = {"plain": ("-std=c99", "-O2"), "fused": ("-O3", *NATIVE, "-ffp-contract=fast")}

DRIVER = r"""
#include "model.c"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    REAL numbers[1024];
    int is_tanh = argc > 1 && strcmp(argv[1], "tanh") == 0;
    size_t count;
    while ((count = fread(numbers, sizeof *numbers, 1024, stdin)) > 0) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = is_tanh ? model_tanh(numbers[i]) : model_exp2(numbers[i]);
        fwrite(numbers, sizeof *numbers, count, stdout);
    }
    return 0;
}
"""


class Functions:
    """Two functions of a generated file, run in C."""

    def __init__(self, folder: Path, number: str, flags: tuple[str, ...]) -> None:
        write_c(program_of("sigmoid_two"), folder, "model", number)
        (folder / "driver.c").write_text(DRIVER)
        self.number, self.path = number, folder / "driver"
        real = "float" if number == "f32" else "double"
        command = next(iter(compilers().values()))
        compile_c(command, folder, *flags, f"-DREAL={real}", "driver.c", "-o", "driver")
        self.source = (folder / "model.c").read_text()

    def __call__(self, function: str, numbers: Any) -> Any:
        content = np.asarray(numbers, dtype=real_type(self.number)).tobytes()
        done = subprocess.run([self.path, function], input=content, capture_output=True, check=True)
        return np.frombuffer(done.stdout, dtype=real_type(self.number))


@pytest.fixture(scope="module", params=[(n, b) for n in PRECISIONS for b in BUILDS], ids="-".join)
def functions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Functions:
    number, build = request.param
    return Functions(tmp_path_factory.mktemp("math"), number, BUILDS[build])


def stated(functions: Functions, function: str) -> float:
    """The error that the comment above the function admits."""
    found = re.search(rf"error below ([-e\d]+)[^/]*\*/\nstatic \w+ model_{function}\(", functions.source)
    assert found
    return float(found.group(1))


def test_comments_and_bounds_state_the_same_errors() -> None:
    for number in PRECISIONS:
        assert float(NUMBERS[number]["error"]) == ARITHMETIC[number].exp_error  # type: ignore[index]
        assert float(NUMBERS[number]["tanh_error"]) == ARITHMETIC[number].tanh_error  # type: ignore[index]


def test_exp2_error(functions: Functions) -> None:
    generator = np.random.default_rng(1)
    low = LOWEST[functions.number]
    halves = np.arange(low + 1, 0) + 0.5  # where the whole part changes
    t = np.concatenate(
        [
            np.linspace(low, 0, POINTS),
            generator.uniform(-2, 0, POINTS),
            generator.uniform(low, 28, POINTS),  # tanh asks for positive powers
            -np.exp(generator.uniform(-30, 4, POINTS)),
            halves,
            np.nextafter(halves, 0),
            np.nextafter(halves, low),
        ]
    ).astype(real_type(functions.number))
    t = t[t > low]
    exact = np.exp2(t.astype(np.longdouble))
    error = np.abs(functions("exp2", t) - exact) / exact
    reference = float(np.finfo(np.longdouble).eps)  # long double may be no more than double
    assert error.max() <= stated(functions, "exp2") + reference


def polynomial(coefficients: tuple[float, ...], f: Any, fused: bool) -> Any:
    """Horner's rule in the type of f, each step rounded once if multiply and add are one instruction."""
    wide = np.longdouble if f.dtype == np.float64 else np.float64
    p = np.full_like(f, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        product = p.astype(wide) * f if fused else p * f
        p = (product + f.dtype.type(coefficient)).astype(f.dtype)
    return p


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("number", PRECISIONS)
def test_polynomials_of_the_host_profile(number: Any, fused: bool) -> None:
    """Those are not in functions of their own, so their rounding is followed here."""
    for coefficients, low in ((EXP2_FROM_NEAREST[number], -0.5), (EXP2_FROM_FLOOR[number], 0.0)):
        f = np.linspace(low, low + 1, POINTS).astype(real_type(number))
        exact = np.exp2(f.astype(np.longdouble))
        error = np.abs(polynomial(coefficients, f, fused) - exact) / exact
        assert error.max() <= ARITHMETIC[number].exp_error + float(np.finfo(np.longdouble).eps)
        assert polynomial(coefficients, np.zeros(1, f.dtype), fused) == 1  # k(s, s)


def test_tanh_error(functions: Functions) -> None:
    generator = np.random.default_rng(2)
    t = np.concatenate(
        [
            np.linspace(-25, 25, POINTS),
            generator.uniform(-2, 2, POINTS),
            generator.normal(size=POINTS) * 1e-3,
            np.exp(generator.uniform(-80, 80, POINTS)),
        ]
    ).astype(real_type(functions.number))
    error = np.abs(functions("tanh", t) - np.tanh(t.astype(np.longdouble)))
    assert error.max() <= stated(functions, "tanh") + float(np.finfo(np.longdouble).eps)
    assert (np.abs(functions("tanh", t)) <= 1).all()


def test_exp2_at_the_edges(functions: Functions) -> None:
    low, tiny = LOWEST[functions.number], np.finfo(real_type(functions.number)).smallest_subnormal
    largest = np.finfo(real_type(functions.number)).max
    t = [0.0, -0.0, -tiny, -1.0, low, np.nextafter(real_type(functions.number)(low), 0), -largest, -np.inf]
    found = functions("exp2", t)
    smallest = 2.0**low
    assert found[:5].tolist() == [1.0, 1.0, 1.0, 0.5, 0.0]
    assert smallest <= found[5] < smallest * 1.0001
    assert found[6:].tolist() == [0.0, 0.0]
    assert np.isnan(functions("exp2", [np.nan])).all()


def test_tanh_at_the_edges(functions: Functions) -> None:
    largest = np.finfo(real_type(functions.number)).max
    assert functions("tanh", [0.0, largest, np.inf, -largest, -np.inf]).tolist() == [0, 1, 1, -1, -1]
    assert np.isnan(functions("tanh", [np.nan, -np.nan])).all()

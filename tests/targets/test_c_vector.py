"""The vector prelude of host code: every function compiles without a warning and does what it says."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest
from c_build import WARNINGS, compile_c, compilers

from svmcompile.ir.arithmetic import ARITHMETIC
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, vector_names
from svmcompile.targets.templating import _environment

BYTES = {"f32": 4, "f64": 8}
LANES = 16  # as many numbers go in and come out, whatever the instruction set
USE = """#include <stddef.h>
#include <stdint.h>
#include <immintrin.h>
{prelude}
{functions}
"""
FUNCTION = """
void {p}_all(const {real} *in, const int32_t *index, {real} *out);
{attribute}void {p}_all(const {real} *in, const int32_t *index, {real} *out)
{{
    for (size_t i = 0; i < 16; i += {lanes}) {{
        const {p}_v t = {p}_load_any(in + i), other = {p}_load(in + 16 + i);
        const {p}_i at = *(const {p}_i *)(const void *)(index + i);
        *({p}_v *)(void *)(out + i) = {p}_exp2(t);
        *({p}_v *)(void *)(out + 16 + i) = {p}_tanh(t);
        *({p}_v *)(void *)(out + 32 + i) = {p}_size(t);
        *({p}_v *)(void *)(out + 48 + i) = {p}_below(t);
        *({p}_v *)(void *)(out + 64 + i) = {p}_select(({p}_u)(t < other), t, other);
        *({p}_v *)(void *)(out + 80 + i) = {p}_gather(in, at);
        out[96 + i] = {p}_sum(t);
        out[112 + i] = ({real}){p}_above(t, other);
        *({p}_v *)(void *)(out + 128 + i) = {p}_cosine(t);
    }}
}}
"""


def source(number: str) -> str:
    """A file that calls every function of the prelude for each instruction set."""
    real = "float" if number == "f32" else "double"
    isas = [vector_names(isa, BYTES[number], "m", "m") for isa in INSTRUCTION_SETS]
    functions = "".join(
        FUNCTION.format(
            p=isa["p"], real=real, lanes=isa["lanes"], attribute=f"{isa['macro']} " if isa["guard"] else ""
        )
        for isa in isas
    )
    vectors = [{"real": real, "numbers": NUMBERS[number], "isas": isas}]
    prelude = (
        _environment().get_template("c/host/vector.j2").module.prelude("M", vectors, functions + "M_INLINE")
    )
    return USE.format(prelude=prelude, functions=functions)


@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_functions_do_what_they_say(number: str, compiler: str, tmp_path: Path) -> None:
    (tmp_path / "all.c").write_text(source(number))
    flags = ("-std=c99", "-O2", *WARNINGS, "-Wno-unused-macros", "-shared", "-fPIC")
    compile_c(compilers()[compiler], tmp_path, *flags, "all.c", "-o", "all.so")
    built, kind = ctypes.CDLL(str(tmp_path / "all.so")), np.dtype(f"f{BYTES[number]}")
    flags_of_cpu = Path("/proc/cpuinfo").read_text()
    block = np.zeros(64 + 32, kind)
    start = -block.ctypes.data % 64 // kind.itemsize
    given = block[start : start + 32]
    given[:16] = [-3.25, 0, 1.5, -0.75, -2000, math.nan, 7.9, -125, 0.1, -0.1, 3, -9, 20, -20, 0.5, -1]
    given[16:] = np.linspace(-4, 4, 16)
    index = np.arange(31, -1, -2, dtype=np.int32)
    for isa in INSTRUCTION_SETS:
        if (
            isa.name in ("avx512", "avx2")
            and f"{isa.name}{'dq' if isa.name == 'avx512' else ''}" not in flags_of_cpu
        ):
            continue
        lanes = isa.bytes // kind.itemsize
        space = np.zeros(144 + 64, kind)
        at = -space.ctypes.data % 64 // kind.itemsize
        out = space[at : at + 144]
        places = np.zeros(16 + 16, np.int32)
        skip = -places.ctypes.data % 64 // 4
        places[skip : skip + 16] = index
        pointers = (given.ctypes.data, places[skip:].ctypes.data, out.ctypes.data)
        getattr(built, f"m_{isa.name}_all")(*map(ctypes.c_void_p, pointers))
        t, other = given[:16], given[16:]
        close = 1e-6 if number == "f32" else 4e-15
        small = -126 if number == "f32" else -1022
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(out[:16], np.where(t <= small, 0, np.exp2(t)), rtol=close)
        known = ~np.isnan(t)
        np.testing.assert_allclose(out[16:32][known], np.tanh(t[known]), rtol=close, atol=close)
        exact = np.cos(2 * np.pi * (t[known].astype(np.float64) % 1))
        assert np.abs(out[128:144][known] - exact).max() <= ARITHMETIC[number].cos_error
        assert np.isnan(out[128:144][~known]).all()
        np.testing.assert_array_equal(out[32:48], np.abs(t))
        np.testing.assert_array_equal(out[48:64], -np.abs(t))
        np.testing.assert_array_equal(out[64:80], np.where(t < other, t, other))
        np.testing.assert_array_equal(out[80:96], given[index])
        for i in range(0, LANES, lanes):
            np.testing.assert_allclose(out[96 + i], t[i : i + lanes].sum(), rtol=close * 10)
            bits = sum(1 << lane for lane in range(lanes) if t[i + lane] > other[i + lane])
            assert out[112 + i] == bits

"""Heads of generated C on scores of every kind, infinities and NaN among them: as the interpreter."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import compile_c, compilers, write_c
from c_cases import program_of, real_type

from svmcompile.ir import nodes as ir
from svmcompile.ir.node import run

pytestmark = pytest.mark.compile

HEADS = {  # case -> node of a head, which becomes a function of that name
    "affine": "label",
    "rbf_ties": "label",
    "rbf_ovr": "label",
    "rbf_two": "label",
    "rbf_one_class": "label",
    "sigmoid_ovr": "scores",
}

DRIVER = r"""
#include "model.c"
#include <stdio.h>
int main(void)
{
    REAL in[WIDTH], out[OUTPUTS];
    while (fread(in, sizeof *in, WIDTH, stdin) == WIDTH) {
        CALL;
        fwrite(out, sizeof *out, OUTPUTS, stdout);
    }
    return 0;
}
"""


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("case", HEADS)
def test_every_combination(case: str, number: str, tmp_path: Path) -> None:
    program = program_of(case)
    node = next(node for node in program.body if node.out == HEADS[case])
    width = 1 if isinstance(node, ir.Threshold) else 3
    dtype = real_type(number)
    lowest = float(np.finfo(dtype).min)
    values = [np.nan, -np.inf, lowest, -1.0, -0.0, 0.0, 1.0, np.inf]
    scores = np.array(list(product(values, repeat=width)), dtype=dtype)
    (operand,) = ir.operands(node)
    with np.errstate(all="ignore"):
        meant = run(node, {operand: scores}, {}).reshape(len(scores), -1)
    found = run_in_c(case, number, tmp_path, scores, meant.shape[1])
    np.testing.assert_array_equal(found, meant.astype(dtype))


def run_in_c(case: str, number: str, folder: Path, scores: Any, outputs: int) -> Any:
    """The head's static function, called on each row of scores."""
    write_c(program_of(case), folder, "model", number)
    head = HEADS[case]
    call = f"model_{head}(in, out)" if head == "scores" else f"out[0] = (REAL)model_{head}(in)"
    (folder / "driver.c").write_text(DRIVER)
    defines = {
        "REAL": "float" if number == "f32" else "double",
        "WIDTH": scores.shape[1],
        "OUTPUTS": outputs,
        "CALL": call,
    }
    flags = [f"-D{key}={value}" for key, value in defines.items()]
    compile_c(next(iter(compilers().values())), folder, "-std=c99", *flags, "driver.c", "-o", "driver")
    done = subprocess.run([folder / "driver"], input=scores.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, dtype=scores.dtype).reshape(-1, outputs)

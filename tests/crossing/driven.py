"""Builds the C of a case under sanitizers, with warnings as errors, and runs it on rows."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from targets.c_build import SANITIZE, WARNINGS, attempt, sanitizing_compiler

from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import results, row_type

# Rows stand in blocks of their own, so that a sanitizer sees a step beyond either end.
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

int main(int argc, char **argv)
{
    const size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t row_bytes = MODEL_N_FEATURES * sizeof(%(row)s);
    %(row)s *x = malloc(rows * row_bytes), *one = malloc(row_bytes);
    if (fread(x, row_bytes, rows, stdin) != rows)
        return 2;
    printf("%%d\\n", model_self_test());
%(calls)s    free(x);
    free(one);
    return 0;
}
"""
CALL = """    {{
        {kind} *single = malloc({width} * sizeof *single);
        {many} *all = malloc(rows * {width} * sizeof *all);
        for (size_t i = 0; i < rows; i++) {{
            memcpy(one, x + i * MODEL_N_FEATURES, row_bytes);
            {statement};
            fwrite(single, sizeof *single, {width}, stdout);
        }}
        model_{function}_batch(x, rows, all);
        fwrite(all, sizeof *all, rows * {width}, stdout);
        free(single);
        free(all);
    }}
"""
TYPES: dict[str, Any] = {
    "float": np.float32, "double": np.float64, "uint8_t": np.uint8, "int16_t": np.int16, "int": np.int32,
    "int32_t": np.int32,
}  # fmt: skip
OUTPUTS = {
    "decision_function": "scores",
    "predict_proba": "probabilities",
    "score_samples": "samples",
    "predict_std": "deviation",
}  # of functions


def answers(
    files: Any, program: Program, profile: str, rows: Any, folder: Path, flags: Sequence[str] = ()
) -> dict[str, Any]:
    """What the C says of the rows, by output: one by one, and all at once."""
    write_driver(files, program, folder)
    style = [flag for flag in SANITIZE if profile != "host" or flag != "-std=c99"]
    warnings = [flag for flag in WARNINGS if profile != "host" or flag != "-pedantic"]
    code = ("-DMODEL_SELF_TEST", "driver.c", "model.c", "-o", "driver")
    done = attempt(sanitizing_compiler(), folder, *style, *warnings, *flags, *code)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return run_driver(program, rows, folder)


def write_driver(files: Any, program: Program, folder: Path) -> None:
    """The code, and a main function that reads rows and writes answers."""
    calls = ""
    for result in results(program, infer_types(program), "model"):
        single = f"model_{result.function}(one{'' if result.alone else ', single'})"
        calls += CALL.format(
            kind=result.kind, width=result.width, function=result.function,
            many="int32_t" if result.kind == "int" else result.kind,
            statement=f"*single = {single}" if result.alone else single,
        )  # fmt: skip
    for name in ("model.h", "model.c"):
        (folder / name).write_text(files[name])
    (folder / "driver.c").write_text(DRIVER % {"row": row_type(program), "calls": calls})


def run_driver(program: Program, rows: Any, folder: Path, seconds: float | None = None) -> dict[str, Any]:
    """What the driver says of the rows."""
    given = np.ascontiguousarray(rows, dtype=TYPES[row_type(program)])
    command = [folder / "driver", str(len(rows))]
    done = subprocess.run(command, input=given.tobytes(), capture_output=True, timeout=seconds)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode(errors="replace")
    failed, _, content = done.stdout.partition(b"\n")
    assert failed == b"0", f"{failed.decode()} rows of the self-test fail"
    return _parsed(content, results(program, infer_types(program), "model"), len(rows), program)


def _parsed(content: bytes, found: Any, rows: int, program: Program) -> dict[str, Any]:
    answers, at = {}, 0
    for result in found:
        kind, size = np.dtype(TYPES[result.kind]), rows * result.width
        single, many = (
            np.frombuffer(content, kind, size, at + part * size * kind.itemsize) for part in (0, 1)
        )
        at += 2 * size * kind.itemsize
        name = OUTPUTS.get(result.function, "label" if program.labels else "value")
        answers[name] = single.reshape(rows, -1), many.reshape(rows, -1)
    assert at == len(content)
    return answers

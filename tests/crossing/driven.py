"""Builds the C of a case under sanitizers, with warnings as errors, and runs it on rows.

Every function for rows of numbers is called: for one row, many, and both without their zeros.
"""

from __future__ import annotations

import re
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
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"
%(sparse)s
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
# Rows without their zeros, forwards or backwards; of some the zeros are listed, too. Indices out of range
# come before and behind.
SPARSE_ROWS = """
static size_t without_zeros(const %(row)s *x, size_t i, int32_t *indices, %(row)s *values)
{
    const %(row)s *given = x + i * MODEL_N_FEATURES;
    size_t n = 1;
    indices[0] = i %% 4 ? -1 : INT32_MIN;
    values[0] = %(other)s;
    for (size_t e = 0; e < MODEL_N_FEATURES; e++) {
        const size_t j = i %% 2 ? MODEL_N_FEATURES - 1 - e : e;
        if (i %% 3 == 0 || given[j] != 0) {
            indices[n] = (int32_t)j;
            values[n++] = given[j];
        }
    }
    indices[n] = i %% 4 ? MODEL_N_FEATURES : INT32_MAX;
    values[n] = %(other)s;
    return n + 1;
}
"""
PREPARE = """    const size_t most = MODEL_N_FEATURES + 2;
    size_t *starts = malloc((rows + 1) * sizeof *starts);
    int32_t *indices = malloc(rows * most * sizeof *indices);
    %(row)s *values = malloc(rows * most * sizeof *values);
    starts[0] = 0;
    for (size_t i = 0; i < rows; i++)
        starts[i + 1] = starts[i] + without_zeros(x, i, indices + starts[i], values + starts[i]);
"""
SPARSE = """    {{
        {kind} *single = malloc({width} * sizeof *single);
        {many} *all = malloc(rows * {width} * sizeof *all);
        for (size_t i = 0; i < rows; i++) {{
            const size_t n = starts[i + 1] - starts[i];
            int32_t *its = malloc(n * sizeof *its);
            {row} *numbers = malloc(n * sizeof *numbers);
            memcpy(its, indices + starts[i], n * sizeof *its);
            memcpy(numbers, values + starts[i], n * sizeof *numbers);
            {target}model_{function}_sparse(its, numbers, n{out});
            fwrite(single, sizeof *single, {width}, stdout);
            free(its);
            free(numbers);
        }}
        model_{function}_sparse_batch(starts, indices, values, rows, all);
        fwrite(all, sizeof *all, rows * {width}, stdout);
        if (rows > 1) /* more entries than features: anything may come out, but nothing else is touched */
            {target}model_{function}_sparse(indices, values, starts[2]{out});
        free(single);
        free(all);
    }}
"""
FREE = """    free(starts);
    free(indices);
    free(values);
"""
# Functions in whole numbers say what the others do, in units of theirs.
WHOLE = """    for (size_t i = 0; i < rows; i++) {{
        {kind} q[MODEL_N_FEATURES];
        memcpy(one, x + i * MODEL_N_FEATURES, row_bytes);
        {quantise};
        {check}
    }}
"""
SAME_LABEL = """if (model_predict_q(q) != model_predict(one))
            return 3;"""
SAME_VALUE = """if (!close(model_predict_q(q) * (double){unit}, (double)model_predict(one)))
            return 4;"""
SAME_SCORES = """int32_t whole[{width}];
        float scores[{width}];
        model_decision_function_q(q, whole);
        model_decision_function(one, scores);
        for (size_t p = 0; p < {width}; p++)
            if (!close(whole[p] * (double){unit}, (double)scores[p]))
                return 5;"""
CLOSE = """
static int close(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}
"""
IN_WHOLE = re.compile(
    r"(?:in units of (?P<unit>\S+f)\b.*)?\*/\n.* model_(?P<name>\w+)_q\(const (?P<kind>\w+) x\["
    r"[^\]]+\](?:, int32_t scores\[(?P<width>\w+)\])?\);"
)
# Names of labels, and of two that there are not.
NAMES = """    for (int label = -1; label <= MODEL_N_CLASSES; label++)
        fwrite(model_label_name(label), strlen(model_label_name(label)) + 1, 1, stdout);
"""
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
    calls, sparse_calls, row = "", "", row_type(program)
    for result in results(program, infer_types(program), "model"):
        single = f"model_{result.function}(one{'' if result.alone else ', single'})"
        words = {
            "kind": result.kind, "width": result.width, "function": result.function, "row": row,
            "many": "int32_t" if result.kind == "int" else result.kind,
        }  # fmt: skip
        calls += CALL.format(**words, statement=f"*single = {single}" if result.alone else single)
        target, out = ("*single = ", "") if result.alone else ("", ", single")
        sparse_calls += SPARSE.format(**words, target=target, out=out)
    calls = (NAMES if program.labels else "") + whole_calls(files["model.h"], bool(program.labels)) + calls
    sparse = CLOSE if "close(" in calls else ""
    if has_sparse(files["model.h"]):
        sparse += SPARSE_ROWS % {"row": row, "other": f"({row})NAN" if row in ("float", "double") else "1"}
        calls += PREPARE % {"row": row} + sparse_calls + FREE
    for name in ("model.h", "model.c"):
        (folder / name).write_text(files[name])
    (folder / "driver.c").write_text(DRIVER % {"row": row, "sparse": sparse, "calls": calls})


def whole_calls(header: str, labels: bool) -> str:
    """Every function in whole numbers that a header declares."""
    calls = ""
    quantise = "model_quantise(one, q)" if "model_quantise(" in header else "memcpy(q, one, row_bytes)"
    for found in IN_WHOLE.finditer(header):
        check = SAME_SCORES if found["width"] else SAME_LABEL if labels else SAME_VALUE
        check = check.format(width=found["width"], unit=found["unit"])
        calls += WHOLE.format(kind=found["kind"], quantise=quantise, check=check)
    return calls


def has_sparse(header: str) -> bool:
    """Whether there are functions for rows without their zeros."""
    return "model_predict_sparse(" in header


def run_driver(program: Program, rows: Any, folder: Path, seconds: float | None = None) -> dict[str, Any]:
    """What the driver says of the rows."""
    given = np.ascontiguousarray(rows, dtype=TYPES[row_type(program)])
    command = [folder / "driver", str(len(rows))]
    done = subprocess.run(command, input=given.tobytes(), capture_output=True, timeout=seconds)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode(errors="replace")
    failed, _, content = done.stdout.partition(b"\n")
    assert failed == b"0", f"{failed.decode()} rows of the self-test fail"
    if program.labels:
        count = len(program.labels) + 2
        *names, content = content.split(b"\0", count)
        assert names == [b"", *(str(one).encode() for one in program.labels.values), b""], names
    found = results(program, infer_types(program), "model")
    return _parsed(content, found, len(rows), program, has_sparse((folder / "model.h").read_text()))


def _parsed(content: bytes, found: Any, rows: int, program: Program, sparse: bool) -> dict[str, Any]:
    """What each function says: of one row, of many, and of both without their zeros."""
    answers: dict[str, Any] = {}
    at = 0
    for result in found * (2 if sparse else 1):
        kind, size = np.dtype(TYPES[result.kind]), rows * result.width
        for part in range(2):
            said = np.frombuffer(content, kind, size, at + part * size * kind.itemsize)
            name = OUTPUTS.get(result.function, "label" if program.labels else "value")
            answers.setdefault(name, []).append(said.reshape(rows, -1))
        at += 2 * size * kind.itemsize
    assert at == len(content)
    return answers

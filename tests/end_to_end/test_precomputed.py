"""Precomputed kernels: rows of kernel values from Python, a kernel function of the caller's in C."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR

import svmcompile as sc
from svmcompile.errors import UnsupportedError
from svmcompile.runtime.toolchain import find_compiler

X, Y = load_iris(return_X_y=True)
TRAIN = np.arange(0, 150, 2)


def kernel(a: Any, b: Any) -> Any:
    """A kernel of the user's own."""
    return np.minimum(a[:, None], b[None]).sum(axis=2) ** 2 / 100


ROWS = kernel(X, X[TRAIN])


def fitted(classes: int) -> Any:
    inside = kernel(X[TRAIN], X[TRAIN])
    if classes == 0:
        return SVR(kernel="precomputed").fit(inside, X[TRAIN, 0])
    labels = np.where(Y[TRAIN] < classes, Y[TRAIN], 0)
    return SVC(kernel="precomputed", C=0.05).fit(inside, labels)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_every_form_gives_the_originals_values(classes: int, tmp_path: Path) -> None:
    model = fitted(classes)
    program = sc.compile(model)
    sc.write(sc.emit(program, ["c", "onnx"], "own", precision="f64"), tmp_path)
    for runner in (program, sc.load(tmp_path), sc.load(tmp_path, target="onnx")):
        if classes:
            values, expected = runner.decision_function(ROWS), model.decision_function(ROWS)
            assert (runner.predict(ROWS) == model.predict(ROWS)).all()
        else:
            values, expected = runner.predict(ROWS), model.predict(ROWS)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11)
    assert sc.load(tmp_path).self_test() == 0
    assert sc.verify(tmp_path, model, ROWS).ok


@pytest.mark.parametrize("classes", [2, 3])
def test_only_values_that_are_used_can_spoil_a_row(classes: int, tmp_path: Path) -> None:
    model = fitted(classes)
    program = sc.compile(model)
    sc.write(sc.emit(program, ["c", "onnx"], "own", precision="f64"), tmp_path)
    unused = np.setdiff1d(np.arange(len(TRAIN)), model.support_)
    ignored, spoiled = ROWS.copy(), ROWS.copy()
    ignored[:, unused] = np.nan
    spoiled[:, model.support_[-1]] = np.inf
    meant = program.decision_function(ROWS)
    for runner, asked in (
        (program, {}),
        (sc.load(tmp_path), {"allow_nan": True}),
        (sc.load(tmp_path, target="onnx"), {"allow_nan": True}),
    ):
        np.testing.assert_allclose(runner.decision_function(ignored, **asked), meant, rtol=0, atol=1e-11)
        assert np.isnan(runner.decision_function(spoiled, **asked)).all()


MAIN = r"""
#include <stdio.h>
#include "own.h"

static double points[%(points)d][4] = {%(table)s};
static int asked;

/* The user's kernel: here the query is a row of features, and only the user knows. */
static double overlap(const void *query, int vector_index)
{
    const double *x = query, *s = points[vector_index];
    double sum = 0.0;
    for (int j = 0; j < 4; j++)
        sum += x[j] < s[j] ? x[j] : s[j];
    asked++;
    return sum * sum / 100.0;
}

int main(void)
{
    double x[4], scores[OWN_N_SCORES];
    while (scanf("%%lf %%lf %%lf %%lf", x, x + 1, x + 2, x + 3) == 4) {
        asked = 0;
        own_decision_function_with(overlap, x, scores);
        printf("%%d %%d %%.17g\n", (int)own_labels[own_predict_with(overlap, x)], asked, scores[0]);
    }
    return 0;
}
"""


@pytest.mark.compile
@pytest.mark.parametrize("profile", ["portable", "host"])
def test_a_kernel_of_the_callers_in_c(profile: str, tmp_path: Path) -> None:
    model = fitted(3)
    sc.write(sc.emit(sc.compile(model), "c", "own", precision="f64", profile=profile), tmp_path)
    table = ", ".join("{" + ", ".join(map(repr, map(float, row))) + "}" for row in X[TRAIN])
    (tmp_path / "main.c").write_text(MAIN % {"points": len(TRAIN), "table": table})
    command = [*find_compiler(), "-O2", "-Wall", "-Werror", "main.c", "own.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    rows = "\n".join(" ".join(map(repr, map(float, row))) for row in X)
    done = subprocess.run([str(tmp_path / "main")], input=rows, capture_output=True, text=True, check=True)
    answers = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    assert (answers[:, 0] == model.predict(ROWS)).all()
    # Predict and decision function ask once for each support vector and no other.
    assert (answers[:, 1] == 2 * len(model.support_)).all() or (answers[:, 1] == len(model.support_)).all()
    np.testing.assert_allclose(answers[:, 2], model.decision_function(ROWS)[:, 0], rtol=0, atol=1e-11)


def test_methods_that_compute_kernels_are_refused() -> None:
    from svmcompile.accelerate.registry import METHODS, method

    for name in METHODS:
        if method(name).needs_vectors:
            with pytest.raises(UnsupportedError, match="precomputed"):
                sc.compile(fitted(2), method=name, X=ROWS)

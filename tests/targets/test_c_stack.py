"""The stack: one array for a row however many steps prepare it, stated in the header, and bounded."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from targets.c_build import compile_c, compilers

import svmcompile as sc
from svmcompile.errors import EmitError
from svmcompile.targets.c import model

WIDE = 20_000
STEPS = (SimpleImputer(), MinMaxScaler(clip=True), Normalizer())


def fitted(width: int, *steps: Any) -> Any:
    X = np.random.default_rng(0).random((8, width))
    return make_pipeline(*steps).fit(X, np.arange(8) % 2)


@pytest.mark.parametrize("profile", ["portable", "host", "device"])
def test_steps_share_one_array(profile: str) -> None:
    """Five steps before a kernel once took five arrays of the size of a row."""
    files = sc.emit(sc.compile(fitted(WIDE, *STEPS, SVC(kernel="poly"))), name="wide", profile=profile)
    stated = re.search(r"Stack: .*?(\d+) bytes", str(files["wide.h"]))
    assert stated and 4 * WIDE < int(stated[1]) < 4 * WIDE + 2000


@pytest.mark.compile
@pytest.mark.parametrize("profile", ["portable", "host"])
def test_what_is_left_in_place_is_right(profile: str) -> None:
    X = np.random.default_rng(1).normal(size=(80, 7))
    X[3, 2] = np.nan
    for last in (SVC(), LinearSVC()):
        machine = make_pipeline(*STEPS, StandardScaler(), last).fit(X, X[:, 0] > 0)
        found = sc.build(machine, precision="f64", profile=profile).decision_function(X, allow_nan=True)
        np.testing.assert_allclose(found, machine.decision_function(X), rtol=0, atol=1e-12)


def test_more_than_the_stack_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert model.MOST_STACK < 8 << 20  # what a main thread has on Linux
    monkeypatch.setattr(model, "MOST_STACK", 100_000)
    program = sc.compile(fitted(300, PolynomialFeatures(2), LinearSVC()))
    with pytest.raises(EmitError, match=r"45,451 features.*target onnx"):
        sc.emit(program)


PAINTED = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "wide.h"
static _Alignas(4096) unsigned char stack[4 << 20];
static float x[100 * WIDE_N_FEATURES];
static int32_t labels[100];
static int calls;
static void *run(void *nothing)
{
    if (calls)
        wide_predict_batch(x, 100, labels);
    return nothing;
}
int main(void)
{
    for (size_t used = 0, before = 0; calls < 2; calls++, before = used) {
        pthread_attr_t painted;
        pthread_t thread;
        memset(stack, 0xA5, sizeof stack);
        pthread_attr_init(&painted);
        pthread_attr_setstack(&painted, stack, sizeof stack);
        pthread_create(&thread, &painted, run, NULL);
        pthread_join(thread, NULL);
        for (used = sizeof stack; stack[sizeof stack - used] == 0xA5;)
            used--;
        if (calls)
            printf("%zu", used - before);
    }
}
"""


@pytest.mark.compile
@pytest.mark.parametrize("steps", [(), (SplineTransformer(n_knots=4),)], ids=["none", "splines"])
def test_a_batch_takes_no_more_than_is_stated(steps: tuple[Any, ...], tmp_path: Path) -> None:
    """Code for older processors, inlined, once took room for its arrays beside those in use."""
    X = np.random.default_rng(0).normal(size=(60, 300))
    machine = make_pipeline(*steps, SVC()).fit(X, np.arange(60) % 20)
    files = sc.emit(sc.compile(machine), name="wide", precision="f32")
    stated = re.search(r"Stack: .*?(\d+) bytes", str(files["wide.h"]))
    (tmp_path / "main.c").write_text(PAINTED)
    for name in ("wide.c", "wide.h"):
        (tmp_path / name).write_text(str(files[name]))
    command = next(iter(compilers().values()))
    compile_c(command, tmp_path, "-O2", "-pthread", "-o", "main", "main.c", "wide.c")
    used = int(subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout)
    assert stated and used <= int(stated[1]) + 1200

"""C for devices, written as MISRA C:2012 wants it: nothing but its text changes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_build import compilers
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.targets.c import strict as module
from svmcompile.targets.c.strict import FUNCTION, NAMED, strict

pytestmark = pytest.mark.compile
X, Y = load_iris(return_X_y=True)
SAMPLE = """static void m_f(const float *x, size_t n, int k)
{
    size_t i = 0, p = 0;
    for (; i < n; i++)
        if (x[i] > 0.0f && k < 2) /* why */
            p += i * 2 + 1;
    for (size_t b = p + 1; b < 3; b++, p++)
        for (int c = 0; c < 2; c++)
            k += x[p] < 0.0f ? 1 : b == M_N_SCORES;
}
"""
WRITTEN = """static void m_f(const float *x, size_t n, int k)
{
    size_t i = 0, p = 0;
    for (; i < n; i++) {
        if ((x[i] > 0.0f) && (k < 2)) { /* why */
            p += (i * 2u) + 1u;
        }
    }
    for (size_t b = p + 1u; b < 3u; b++) {
        for (int c = 0; c < 2; c++) {
            k += (x[p] < 0.0f) ? 1 : (b == (size_t)M_N_SCORES);
        }
        p++;
    }
}
"""


def test_braces_parentheses_and_suffixes() -> None:
    assert strict(SAMPLE) == WRITTEN == strict(WRITTEN)
    unknown = SAMPLE.replace("p += i", "p @ i")
    assert strict(unknown) == unknown


@pytest.mark.parametrize("precision", ["f32", "q7"])
@pytest.mark.parametrize("method", ["exact", "metric-tree", "h1-tree", "sv-tree"])
def test_the_code_is_the_same(method: str, precision: str, tmp_path: Path, monkeypatch: Any) -> None:
    program = sc.compile(SVC(gamma=1, C=10).fit(X, Y), method=method, X=X)
    built = []
    for one in ("plain", "strict"):
        if one == "plain":
            monkeypatch.setattr("svmcompile.targets.c.model.strict", lambda source: source)
        else:
            monkeypatch.undo()
        files = sc.emit(program, "c", "m", precision, "device", X=X)
        text = str(files["m.c"])
        (tmp_path / "m.h").write_text(str(files["m.h"]))
        (tmp_path / "m.c").write_text(text)
        command = [
            *next(iter(compilers().values())),
            "-std=gnu99",
            "-O0",
            "-S",
            "-DM_SELF_TEST",
            "-o",
            "-",
            "m.c",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        built.append(sorted(re.findall(r"^\t(\w+)", done.stdout, re.MULTILINE)))
    assert text == strict(text)
    assert built[0] == built[1]  # in another order where a step has moved
    known = frozenset(NAMED.findall(text))
    for found in FUNCTION.finditer(text):
        module._Function(found[0], {}, known).text()  # is understood

"""A process that takes small numbers for zero, as -ffast-math libraries make it, compiles all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from svmcompile.accelerate.fitting.rows import flushes_to_zero
from svmcompile.runtime.toolchain import find_compiler

pytestmark = pytest.mark.compile
FLUSH = """
#include <xmmintrin.h>
void flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
"""
# Rows that are mostly zeros, one of them so small that it counts as zero.
SCRIPT = """
import ctypes, sys
import numpy as np
from sklearn.svm import SVC
import svmcompile as sc
from svmcompile.accelerate.fitting.rows import flushes_to_zero

random = np.random.default_rng(0)
X = random.random((90, 6)) * (random.random((90, 6)) < 0.3)
X[0, 0] = 5e-324
y = X @ [1, 2, -1, -2, 1, 1] + 0.1 * random.normal(size=90) > 0.2
model = SVC(C=10.0, gamma=0.5).fit(X, y)
rows = random.random((500, 6)).astype(np.float32)
wanted = model.predict(rows.astype(np.float64))
ctypes.CDLL(sys.argv[1]).flush()
assert flushes_to_zero()
for method, data in ("certified", X), ("anytime", None):
    program = sc.compile(model, method=method, X=data, force=True, sample=100)
    place = f"{sys.argv[2]}/{method}"
    sc.write(sc.emit(program, "c", "model", profile="portable"), place)
    assert (sc.load(place).predict(rows) == wanted).all(), method
assert sc.verify(f"{sys.argv[2]}/certified", model, X).ok
print("done")
"""


def test_compile_and_predict_where_small_numbers_are_zero(tmp_path: Path) -> None:
    (tmp_path / "flush.c").write_text(FLUSH)
    library = tmp_path / "flush.so"
    built = subprocess.run([*find_compiler(), "-shared", "-fPIC", "flush.c", "-o", library], cwd=tmp_path)
    if built.returncode:
        pytest.skip("not an x86 processor")
    assert not flushes_to_zero()
    run = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(library), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.stdout == "done\n", (done.returncode, done.stderr)

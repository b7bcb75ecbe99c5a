"""The logarithm of generated code: as exact as its comment says, whatever the size of the number."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer
from sklearn.svm import LinearSVC
from targets.c_build import compile_c, compilers, write_c
from targets.c_cases import real_type

import svmcompile as sc

pytestmark = pytest.mark.compile
POINTS = 100_000
DRIVER = r"""
#include "model.c"
#include <stdio.h>
int main(void)
{
    REAL number;
    while (fread(&number, sizeof number, 1, stdin) == 1) {
        number = model_log(number);
        fwrite(&number, sizeof number, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_log_error(precision: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    program = sc.compile(make_pipeline(PowerTransformer(), LinearSVC()).fit(X, X[:, 0] > 0))
    write_c(program, tmp_path, "model", precision)
    (tmp_path / "driver.c").write_text(DRIVER)
    real = "float" if precision == "f32" else "double"
    compile_c(
        next(iter(compilers().values())), tmp_path, "-O2", f"-DREAL={real}", "driver.c", "-o", "driver"
    )
    kind = real_type(precision)
    limits = np.finfo(kind)
    random = np.random.default_rng(1)
    ends = np.log2(float(limits.smallest_subnormal)), np.log2(float(limits.max)) - 1e-6
    numbers = np.concatenate([2.0 ** random.uniform(*ends, POINTS), random.uniform(0.4, 2.5, POINTS)])
    numbers = numbers.astype(kind)
    numbers = numbers[numbers > 0]
    done = subprocess.run([tmp_path / "driver"], input=numbers.tobytes(), capture_output=True, check=True)
    found = np.frombuffer(done.stdout, kind).astype(np.longdouble)
    meant = np.log(numbers.astype(np.longdouble))
    stated = re.search(r"ln x, error below (\S+) \(1 \+ \|ln x\|\)", (tmp_path / "model.c").read_text())
    assert stated
    assert (np.abs(found - meant) <= float(stated[1].rstrip("f")) * (1 + np.abs(meant))).all()

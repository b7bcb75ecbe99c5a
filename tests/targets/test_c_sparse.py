"""Models whose vectors are mostly zeros: not shifted, and only met where a row is not zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import SANITIZE, compile_c, compile_quietly, compilers, sanitizing_compiler, write_c
from c_cases import voting
from scipy.sparse import csr_matrix, random_array

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.kernel import Kernel

pytestmark = pytest.mark.compile

WIDTH = 60
WARNINGS = (
    "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion -Wshadow -Wmissing-prototypes -Werror"
).split()
KERNELS = {
    "rbf": Kernel("rbf", 0.3),
    "poly": Kernel("poly", 0.5, 1.0, 3),
    "sigmoid": Kernel("sigmoid", 0.3, 0.1),
}


def sparse_rows(count: int, density: float, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    matrix = random_array((count, WIDTH), density=density, rng=generator, data_sampler=generator.normal)
    return csr_matrix(matrix)


def model(kernel: str, classes: int = 7, density: float = 0.1) -> Any:
    generator = np.random.default_rng(classes)
    counts = tuple(int(n) for n in generator.integers(5, 30, size=classes))
    vectors = sparse_rows(sum(counts), density, 1).toarray()
    return voting(KERNELS[kernel], vectors, counts, generator)


def loaded(program: Any, folder: Path, number: str) -> Any:
    sc.write(sc.emit(program, "c", "model", number), folder)
    return sc.load(folder)


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_dense_and_sparse_rows_give_the_interpreters_values(
    kernel: str, number: Any, tmp_path: Path
) -> None:
    program = model(kernel)
    fast = loaded(program, tmp_path, number)
    assert "_predict_sparse(" in (tmp_path / "model.h").read_text()
    for density in (0.0, 0.05, 0.2, 0.9):  # the last is past the point where zeros are worth skipping
        rows = sparse_rows(500, density, 2).astype(np.float32)
        dense = rows.toarray().astype(np.float64)
        bounds = error_bounds(program, dense, number)
        stable = ~bounds.unstable
        meant = program.decision_function(dense)
        for given in (dense, rows, dense[:3], rows[:3]):
            count = given.shape[0]
            error = np.abs(fast.decision_function(given) - meant[:count])
            assert (error <= 2 * bounds.scores[:count])[stable[:count]].all()
            same = fast.predict(given) == program.predict(dense)[:count]
            assert same[stable[:count]].all()


def test_sparse_rows_of_dense_models_get_their_zeros_back(tmp_path: Path) -> None:
    fast = loaded(model("rbf", density=0.9), tmp_path, "f32")
    assert "model_fill(indices, values, n, x)" in (tmp_path / "model.c").read_text()
    rows = sparse_rows(20, 0.1)
    np.testing.assert_allclose(fast.decision_function(rows), fast.decision_function(rows.toarray()))


def test_sparse_input_is_checked_and_kept(tmp_path: Path) -> None:
    fast = loaded(model("rbf"), tmp_path, "f32")
    with pytest.raises(sc.OptionError, match="61 features"):
        fast.predict(csr_matrix((3, WIDTH + 1)))
    rows = sparse_rows(50, 0.1)
    before = rows.copy()
    by_column = fast.predict(rows.tocsc())
    assert (by_column == fast.predict(rows)).all() and (rows != before).nnz == 0
    twice = csr_matrix(([1.0, 2.0], [4, 4], [0, 2]), shape=(1, WIDTH))  # an entry in two parts
    np.testing.assert_allclose(fast.decision_function(twice), fast.decision_function(twice.toarray()))
    many = sparse_rows(1000, 0.1)
    assert (sc.load(tmp_path, n_jobs=3).predict(many) == fast.predict(many)).all()


def test_rows_that_are_not_finite(tmp_path: Path) -> None:
    program = model("rbf")
    fast = loaded(program, tmp_path, "f32")
    dense = sparse_rows(40, 0.1).toarray()
    dense[3, 5], dense[7, 0], dense[9, 59] = np.nan, np.inf, -np.inf
    for given in (dense, csr_matrix(dense)):
        assert np.isnan(fast.decision_function(given, allow_nan=True)).all(axis=1).nonzero()[
            0
        ].tolist() == [3, 7, 9]
        assert (fast.predict(given, allow_nan=True) == program.predict(dense)).all()
        with pytest.raises(ValueError, match="row 3, column 5"):
            fast.predict(given)


DRIVER = r"""
#include "model.h"
int main(void)
{
    const int32_t indices[6] = {0, -1, 59, 60, 1000000, 7};
    const float values[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    const int32_t plain[3] = {0, 59, 7};
    const float kept[3] = {1.0f, 3.0f, 6.0f};
    float a[MODEL_N_SCORES], b[MODEL_N_SCORES];
    int differ = 0;
    model_decision_function_sparse(indices, values, 6, a);
    model_decision_function_sparse(plain, kept, 3, b);
    for (int i = 0; i < MODEL_N_SCORES; i++)
        differ += a[i] < b[i] || a[i] > b[i];
    differ += model_predict_sparse(indices, values, 0) < 0;
    return differ;
}
"""


def test_indices_out_of_range_are_passed_over(tmp_path: Path) -> None:
    command = sanitizing_compiler()
    write_c(model("rbf"), tmp_path, "model", "f32", "host")
    (tmp_path / "driver.c").write_text(DRIVER)
    compile_c(command, tmp_path, *SANITIZE, "driver.c", "model.c", "-o", "driver")
    compile_c((str(tmp_path / "driver"),), tmp_path)


@pytest.mark.parametrize("name", compilers())
def test_no_warning(name: str, tmp_path: Path) -> None:
    for number in ("f32", "f64"):
        write_c(model("rbf"), tmp_path, "model", number, "host")
        compile_quietly(compilers()[name], tmp_path, *WARNINGS, "model.c", profile="host")

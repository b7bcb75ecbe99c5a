"""Large tables become string literals: every byte arrives, and compilers stay quick."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import WARNINGS, compile_quietly, compilers, write_c
from c_cases import real_type

import svmcompile as sc
from svmcompile.flow.program import compile_svm
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.targets.c.literals import MAX_DECIMAL_BYTES

pytestmark = pytest.mark.compile

N, D = 100, 900


def product_with(vectors: Any) -> Program:
    """scores = vectors x: a row with a single one in it shows a column of the table."""
    n = len(vectors)
    return check(
        Program(
            Input(vectors.shape[1]),
            (
                ir.KernelSum("scores", "x", "vectors", "weights", "bias", Kernel("linear")),
                ir.ArgMax("label", "scores"),
            ),
            (Output("scores", "scores"), Output("label", "label")),
            {"vectors": vectors.astype(np.float64), "weights": np.eye(n), "bias": np.zeros(n)},
            Labels(tuple(range(n)), "<i8"),
            Origin("test", "0" * 64, n, 0, "exact", Claim.EXACT),
        )
    )


def any_numbers(number: str) -> Any:
    """Finite numbers of every bit pattern, large enough for their sums' rounding not to touch them."""
    bits = np.uint32 if number == "f32" else np.uint64
    generator = np.random.default_rng(4)
    numbers = generator.integers(np.iinfo(bits).max, size=(N, D), dtype=bits).view(real_type(number))
    return np.where(np.isfinite(numbers), numbers, 1.0).astype(real_type(number))


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_every_number_arrives(number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    vectors = any_numbers(number)
    assert vectors.nbytes > MAX_DECIMAL_BYTES
    files = sc.emit(product_with(vectors), "c", "bulk", number, "portable")
    assert "bulk_vectors_bulk = {" in str(files["bulk.c"])
    sc.write(files, tmp_path / "out")
    found = sc.load(tmp_path / "out").decision_function(np.eye(D))
    assert (found == vectors.T.astype(np.float64)).all()


@pytest.mark.parametrize("compiler", compilers())
def test_no_warnings_for_bulk(compiler: str, tmp_path: Path) -> None:
    write_c(product_with(any_numbers("f32")), tmp_path, "bulk", "f32")
    compile_quietly(compilers()[compiler], tmp_path, "-std=c99", *WARNINGS, "bulk.c")


def test_foreign_byte_order_is_refused(tmp_path: Path) -> None:
    write_c(product_with(any_numbers("f32")), tmp_path, "bulk", "f32")
    text = (tmp_path / "bulk.c").read_text()
    assert "__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n#error" in text


def random_svm(vectors: int, features: int) -> SVM:
    """A regressor with a table of the wanted size; kernel values are neither 0 nor 1."""
    generator = np.random.default_rng(0)
    return SVM(
        Kernel("rbf", 0.5 / features),
        generator.normal(size=(vectors, features)),
        generator.normal(size=(1, vectors)),
        np.zeros(1),
        LabelRule.NONE,
        Source("test", "0" * 64),
    )


def test_ten_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    svm = random_svm(3200, 784)
    program = compile_svm(svm, "exact", None, {})
    sc.write(sc.emit(program, "c", "large", "f32"), tmp_path / "out")
    start = time.process_time(), time.perf_counter()
    model = sc.load(tmp_path / "out")
    print(f"built and loaded a table of 10 MB in {time.perf_counter() - start[1]:.2f} s")
    assert model.self_test() == 0
    rows = svm.vectors[:20].astype(np.float32)
    error = np.abs(model.predict(rows) - program.predict(rows))
    assert (error <= error_bounds(program, rows, "f32").scores[:, 0]).all()

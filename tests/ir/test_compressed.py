"""Vectors without their zeros: sums mean what dense ones mean; bad tables and files are refused."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs.strategies import origin

from svmcompile.data.csr import Csr, canonical
from svmcompile.errors import CheckError, OptionError, ReadError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.lower import lower
from svmcompile.optimise.accurate import product, sparse_products
from svmcompile.optimise.compressed import dense_sums

D, COUNTS = 40, (5, 0, 7)
KERNELS = [
    Kernel("rbf", 0.3), Kernel("linear"), Kernel("poly", 0.5, 1.0, 3), Kernel("poly", 0.5, 1.0, 1),
    Kernel("sigmoid", 0.1, -0.2),
]  # fmt: skip


def vectors(seed: int = 0, n: int = 12) -> Csr:
    random = np.random.default_rng(seed)
    return canonical(Csr(random.normal(size=(n, D)) * (random.random((n, D)) < 0.1)))


def example(kernel: Kernel, pairs: bool = True) -> Program:
    held, random = vectors(), np.random.default_rng(1)
    tables: dict[str, Any] = {
        "starts": held.indptr, "columns": held.indices, "values": held.data,
        "weights": random.normal(size=(2, 12)), "bias": random.normal(size=3 if pairs else 2),
    }  # fmt: skip
    counts = COUNTS if pairs else ()
    named = ("starts", "columns", "values", "weights", "bias")
    heads = [ir.Vote("label", "sums", 3)] if pairs else [ir.ArgMax("label", "sums")]
    labels = Labels((1, 2, 3) if pairs else (1, 2), "<i8")
    body = (ir.CsrSum("sums", "x", *named, counts, kernel), *heads)
    outputs = (Output("scores", "sums"), Output("label", "label"))
    return Program(Input(D), body, outputs, tables, labels, origin(), probes=held[:3].toarray())


def rows(count: int = 300) -> Any:
    random = np.random.default_rng(2)
    found = random.normal(size=(count, D)) * (random.random((count, D)) < 0.3)
    return found.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.text())
@pytest.mark.parametrize("pairs", [True, False])
def test_a_sum_means_what_its_dense_twin_means(kernel: Kernel, pairs: bool) -> None:
    program = check(example(kernel, pairs))
    twin = check(dense_sums(program, "the test"))
    assert not any(isinstance(node, ir.CsrSum) for node in twin.body)
    found, meant = interpret(program, rows()), interpret(twin, rows())
    np.testing.assert_allclose(found["scores"], meant["scores"], rtol=1e-12, atol=1e-12)
    assert (found["label"] == meant["label"]).all()
    sparse = interpret(program, canonical(Csr(rows())))
    np.testing.assert_array_equal(sparse["scores"], found["scores"])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.text())
def test_float32_code_stays_within_the_bounds(kernel: Kernel) -> None:
    program = check(example(kernel))
    found = interpret(lower(program, "f32"), rows())["scores"]
    error = np.abs(found - interpret(program, rows())["scores"])
    assert (error <= error_bounds(program, rows(), "f32").scores).all()


def test_rows_that_are_not_finite_give_nan() -> None:
    given = rows(3)
    given[0, 5], given[1, 7] = np.nan, np.inf
    assert np.isnan(interpret(example(KERNELS[0]), given)["scores"]).all(axis=1).tolist() == [
        True,
        True,
        False,
    ]


def test_products_are_those_of_dense_vectors() -> None:
    held = vectors(3, 200)
    weights = np.random.default_rng(4).normal(size=(3, 200)) * 10.0 ** np.arange(3)[:, None]
    dense = product(weights, held.toarray())
    for row, (high, low) in enumerate(sparse_products(weights, held)):
        np.testing.assert_array_equal(high[0] + low[0], dense.high[row] + dense.low[row])


@pytest.mark.parametrize(
    ("table", "at", "value", "message"),
    [
        ("columns", 3, D, "a column is not within"),
        ("columns", 3, -1, "a column is not within"),
        ("columns", slice(None, None, -1), None, "columns do not ascend"),
        ("starts", 4, 1000, "starts do not rise"),
        ("starts", -1, 3, "starts do not rise"),
        ("starts", 0, 1, "starts do not rise"),
        ("values", 2, np.inf, "NaN or an infinity"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused(table: str, at: Any, value: Any, message: str) -> None:
    program = example(KERNELS[0])
    changed = program.tables[table].copy()
    if value is None:
        changed = changed[at].copy()
    else:
        changed[at] = value
    with pytest.raises(CheckError, match=message):
        check(program.replace(tables={**program.tables, table: changed}))


def test_other_bad_programs_are_refused() -> None:
    program = example(KERNELS[0])
    node: Any = program.body[0]
    for changes, message in (
        ({"counts": (5, 7)}, "counts do not fit"),
        ({"counts": ()}, "weights"),
        ({"kernel": Kernel("precomputed")}, "precomputed"),
    ):
        with pytest.raises(CheckError, match=message):
            check(program.replace(body=(replace(node, **changes), *program.body[1:])))


def stored_with(**arrays: Any) -> bytes:
    """The example as a file, some of its arrays replaced."""
    outer = zipfile.ZipFile(io.BytesIO(to_bytes(example(KERNELS[0]))))
    inner = zipfile.ZipFile(io.BytesIO(outer.read("tables.npz")))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in inner.namelist():
            stem = name.removesuffix(".npy").removeprefix("probes.")
            content = io.BytesIO()
            held = arrays.get(stem) if name.startswith("probes.") else None
            np.lib.format.write_array(
                content, held if held is not None else np.load(io.BytesIO(inner.read(name)))
            )
            archive.writestr(name, content.getvalue())
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("program.json", outer.read("program.json"))
        archive.writestr("tables.npz", made.getvalue())
    return whole.getvalue()


def test_probe_rows_are_stored_without_their_zeros() -> None:
    program = example(KERNELS[0])
    again = from_bytes(to_bytes(program))
    assert again == program and np.array_equal(again.probes, program.probes)
    archive = zipfile.ZipFile(io.BytesIO(to_bytes(program)))
    assert json.loads(archive.read("program.json"))["format"] == 4
    dense = check(dense_sums(program, "the test"))
    assert json.loads(zipfile.ZipFile(io.BytesIO(to_bytes(dense))).read("program.json"))["format"] == 3
    assert from_bytes(stored_with()) == program


@pytest.mark.parametrize(
    "arrays",
    [
        {"starts": np.array([0, 5, 3, 9], np.int32)},
        {"starts": np.arange(5000, dtype=np.int32)},
        {"starts": np.zeros((2, 2), np.int32)},
        {"columns": np.full(9, D, np.int32)},
        {"columns": np.full(9, -1, np.int32)},
        {"values": np.zeros(2)},
    ],
)  # fmt: skip
def test_damaged_probe_rows_are_refused(arrays: dict[str, Any]) -> None:
    with pytest.raises(ReadError):
        from_bytes(stored_with(**arrays))


def test_matrices_become_arrays_only_where_they_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    held = vectors()
    assert len(held) == 12 and np.asarray(held).shape == (12, D) and len(held[2:5]) == 3
    monkeypatch.setattr("svmcompile.data.sparse.MOST_DENSE", 100)
    with pytest.raises(OptionError, match=r"these rows \(12 x 40\) would take 0.0 GB"):
        np.asarray(held)

"""Rows that stay sparse: files, folders and predictions are those of dense rows, in less memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands import options as commands
from svmcompile.commands import predict, verify
from svmcompile.data import iter_data, read_data, read_partitions
from svmcompile.data.csr import Csr
from svmcompile.data.rows import as_rows, check_complete
from svmcompile.errors import MissingValueError, OptionError

WORDS = 400


@pytest.fixture(autouse=True)
def small_rows_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svmcompile.data.sparse.KEPT_FROM", 1)


def text(rows: int = 80, seed: int = 0) -> tuple[csr_matrix, Any]:
    random = np.random.default_rng(seed)
    dense = random.random((rows, WORDS)) * (random.random((rows, WORDS)) < 0.04)
    dense[0, -1] = 1.0  # so that the file tells how many words there are
    return csr_matrix(dense.astype(np.float32).astype(float)), (dense[:, :200].sum(axis=1) > 4).astype(int)


def stored(path: Path, rows: int = 80, seed: int = 0) -> Path:
    dump_svmlight_file(*text(rows, seed), str(path), zero_based=False)
    return path


def test_a_file_gives_the_same_rows_sparse_and_dense(tmp_path: Path) -> None:
    path = stored(tmp_path / "rows.svmlight")
    sparse, dense = read_data(path, sparse=True), read_data(path)
    assert isinstance(sparse.X, Csr) and isinstance(dense.X, np.ndarray)
    assert np.array_equal(sparse.X.toarray(), dense.X) and np.array_equal(sparse.y, dense.y)
    assert sparse.X.indices.dtype == np.int32
    chunks = list(iter_data(path, chunk_rows=30, sparse=True))
    assert [len(chunk.X) for chunk in chunks] == [30, 30, 20]
    assert np.array_equal(np.concatenate([chunk.X.toarray() for chunk in chunks]), dense.X)
    some = sparse.take(np.array([3, 70]))
    assert np.array_equal(some.X.toarray(), dense.X[[3, 70]])


def test_small_rows_become_dense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svmcompile.data.sparse.KEPT_FROM", 1 << 30)
    assert isinstance(read_data(stored(tmp_path / "rows.svmlight"), sparse=True).X, np.ndarray)


def test_files_of_a_folder_may_be_narrower(tmp_path: Path) -> None:
    stored(tmp_path / "a.svmlight")
    (tmp_path / "b.svmlight").write_text("1 1:2 7:0.5\n0 3:1\n")
    found = read_partitions(tmp_path, sparse=True)
    assert found.X.shape == (82, WORDS) and isinstance(found.X, Csr)
    assert found.X[80:].toarray()[0, [0, 6]].tolist() == [2.0, 0.5]


def test_dense_rows_are_made_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = read_data(stored(tmp_path / "rows.svmlight"), sparse=True)
    assert isinstance(data.dense("the test").X, np.ndarray)
    monkeypatch.setattr("svmcompile.data.sparse.MOST_DENSE", 10)
    with pytest.raises(
        OptionError, match=r"the test works on dense rows, and these \(80 x 400\) would take"
    ):
        data.dense("the test")


def test_missing_values_are_told() -> None:
    X, _ = text()
    X.data[5] = np.nan
    rows = as_rows(X, WORDS)
    assert isinstance(rows, Csr)
    assert rows.finite_rows().sum() == 79
    with pytest.raises(MissingValueError, match="row 0, column"):
        check_complete(rows)


@pytest.mark.compile
def test_commands_keep_rows_sparse(tmp_path: Path) -> None:
    """verify and predict on a file; compile with data reports on it."""
    import skops.io

    X, y = text()
    model = SVC(gamma=0.5).fit(X, y)
    skops.io.dump(model, tmp_path / "text.skops")
    rows = stored(tmp_path / "rows.svmlight", 120, 1)
    program = sc.compile(tmp_path / "text.skops")
    sc.write(sc.emit(program, ("c", "onnx"), name="text"), tmp_path / "out")
    report = verify.run(
        commands.VerifyOptions(
            folder=tmp_path / "out", model=tmp_path / "text.skops", data=rows, zero_based=False
        )
    )
    assert report["ok"] and report["rows"] == 120
    assert {one["backend"] for one in report["comparisons"]} == {"interpreter", "c", "onnx"}
    target = tmp_path / "found.csv"
    predict.run(
        commands.PredictOptions(folder=tmp_path / "out", data=rows, output=target, zero_based=False)
    )
    found = np.loadtxt(target, skiprows=1, delimiter=",")
    assert np.array_equal(found.reshape(-1).astype(int), model.predict(text(120, 1)[0]))

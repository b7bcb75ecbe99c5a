"""Data files: every format read whole and in chunks, every fault a `ReadError` with its place."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs.data_cases import X, every_format, npy_header, parquet_file, text_file

from svmcompile.data import Data, count_rows, iter_data, read_data
from svmcompile.data.table import MAX_FEATURES
from svmcompile.errors import ReadError


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    paths = every_format(tmp_path)
    assert len(paths) == 6
    for path in paths:
        data = read_data(path, n_features=2)
        assert isinstance(data, Data)
        np.testing.assert_array_equal(data.X, X, err_msg=path.name)
        assert data.X.dtype == np.float64
        assert data.X.flags.c_contiguous and data.X.flags.writeable


def test_chunks_together_are_the_whole(tmp_path: Path) -> None:
    for path in every_format(tmp_path):
        chunks = list(iter_data(path, chunk_rows=2))
        assert [len(chunk.X) for chunk in chunks] == [2, 1], path.name
        np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), X)


def test_rows_are_counted_where_cheap(tmp_path: Path) -> None:
    counts = {path.name: count_rows(path) for path in every_format(tmp_path)}
    stored = dict.fromkeys(("rows.npy", "rows.npz", "packed.npz", "rows.parquet"), 3)
    assert counts == {**stored, "rows.csv": None, "rows.libsvm": None}


def test_content_goes_before_suffix(tmp_path: Path) -> None:
    for path in every_format(tmp_path):
        if path.suffix in (".npy", ".npz", ".parquet"):
            np.testing.assert_array_equal(read_data(path.rename(tmp_path / "odd.csv")).X, X)
    libsvm = text_file(tmp_path, "a1a.t", "# a comment\n-1 2:1\n")
    assert read_data(libsvm).X.tolist() == [[0.0, 1.0]]
    assert read_data(text_file(tmp_path, "table.txt", "1,2\n")).X.tolist() == [[1.0, 2.0]]
    assert read_data(text_file(tmp_path, "names.csv", "PAR1,b\n1,2\n")).feature_names == ("PAR1", "b")


def test_wide_rows_make_short_chunks(tmp_path: Path) -> None:
    path = text_file(tmp_path, "wide.libsvm", f"1 {MAX_FEATURES}:1\n2 1:1\n")
    assert [chunk.X.shape for chunk in iter_data(path)] == [(1, MAX_FEATURES)] * 2


def test_float32_stays(tmp_path: Path) -> None:
    single = X.astype(np.float32)
    np.save(tmp_path / "c.npy", single)
    np.save(tmp_path / "f.npy", np.asfortranarray(single))
    np.save(tmp_path / "big.npy", single.astype(">f4"))
    np.savez(tmp_path / "s.npz", X=single)
    parquet_file(tmp_path / "p.parquet", a=single[:, 0], b=single[:, 1])
    for path in tmp_path.iterdir():
        data = read_data(path)
        assert data.X.dtype == np.float32 and data.X.dtype.isnative, path.name
        np.testing.assert_array_equal(data.X, single)


@pytest.mark.parametrize("dtype", ["i1", "u8", "?", "f2", ">i4", "g"])
def test_other_numbers_become_float64(tmp_path: Path, dtype: str) -> None:
    stored = np.array([[1, 0], [3, 1]]).astype(dtype)
    np.save(tmp_path / "a.npy", stored)
    data = read_data(tmp_path / "a.npy")
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, stored.astype(np.float64))


@pytest.mark.parametrize("y", [[1, -1, 1], [0.5, 1.0, 2.0], ["a", "bb", "c"], [True, False, True]])
def test_npz_labels_keep_their_type(tmp_path: Path, y: list[object]) -> None:
    stored = np.array(y)
    np.savez(tmp_path / "a.npz", X=X, y=stored)
    data = read_data(tmp_path / "a.npz")
    assert data.y is not None and data.y.dtype == stored.dtype
    np.testing.assert_array_equal(data.y, stored)
    chunks = list(iter_data(tmp_path / "a.npz", chunk_rows=2))
    assert [chunk.y.tolist() for chunk in chunks if chunk.y is not None] == [y[:2], y[2:]]


def test_npz_label_names_an_array_or_a_column(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.array([[1.5, 7.0], [2.5, 8.0]]), target=np.array([3, 4]))
    assert read_data(tmp_path / "a.npz", label="target", n_features=2).y.tolist() == [3, 4]  # type: ignore[union-attr]
    data = read_data(tmp_path / "a.npz", label="1", n_features=1)
    assert data.X.tolist() == [[1.5], [2.5]] and data.y is not None and data.y.tolist() == [7, 8]


def test_npy_label_is_a_column_index(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", [[1.5, 7.0, 2.0], [2.5, 8.0, 3.0]])
    for label in ("1", "-2"):
        data = read_data(tmp_path / "a.npy", label=label)
        assert data.X.tolist() == [[1.5, 2.0], [2.5, 3.0]]
        assert data.y is not None and data.y.dtype == np.int64 and data.y.tolist() == [7, 8]


# files as such


def test_files_that_are_no_data(tmp_path: Path) -> None:
    empty = text_file(tmp_path, "a.csv", "")
    for path, message in [
        (empty, "is empty"),
        (tmp_path, "not a plain file"),
        (tmp_path / "no.csv", "there is no such file"),
        (text_file(tmp_path, "a.npy", "hello"), "not a .npy file"),
        (text_file(tmp_path, "a.npz", "hello"), "not a .npz file"),
        (text_file(tmp_path, "a.parquet", "hello"), "not a .parquet file"),
        (text_file(tmp_path, "notes", "some words"), "unknown file extension"),
    ]:
        for read in (read_data, count_rows, iter_data):
            with pytest.raises(ReadError) as caught:
                read(path)
            assert message in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ReadError, match="not a plain file"):
        read_data(tmp_path / "a.csv")


NUMBERS = st.sampled_from(
    ["0", "1", "-2.5", "nan", "inf", "1e400", "x", "", "1_0", '"', "3:4", "qid:1", "#"]
)
LINES = st.lists(st.tuples(NUMBERS, st.sampled_from([",", " ", "\n", "\r", ":", "\0"])), max_size=20)
TEXT = LINES.map(lambda pairs: "".join(a + b for a, b in pairs).encode())
ARRAYS = st.tuples(
    st.sampled_from(["<f8", ">f4", "|b1", "<U2", "|O", "<c8", "|V3", "|S0", "<U0"]),
    st.lists(st.sampled_from([0, 1, 2, 3, 2**40]), max_size=3).map(tuple),
    st.binary(max_size=80),
).map(lambda parts: npy_header(parts[1], parts[0]) + parts[2])
CONTENT = st.one_of(
    st.binary(max_size=200),
    TEXT,
    ARRAYS,
    st.binary(max_size=60).map(lambda tail: b"\x93NUMPY" + tail),
    st.binary(max_size=60).map(lambda tail: b"PK\x03\x04" + tail),
)


def zipped(X: bytes, y: bytes, damage: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", X)
        archive.writestr("y.npy", y)
    content = bytearray(stream.getvalue())
    if damage:
        content[damage % len(content)] ^= 0x55
    return bytes(content)


ZIPS = st.builds(zipped, ARRAYS, ARRAYS, st.integers(0, 1000))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(CONTENT, ZIPS), suffix=st.sampled_from([".csv", ".libsvm", ".npy", ".npz", ".txt"])
)
def test_any_bytes_give_data_or_a_read_error(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"random{suffix}"
    path.write_bytes(content)
    try:
        data = read_data(path)
    except ReadError as error:
        assert str(path) in str(error)
        with pytest.raises(ReadError):
            list(iter_data(path, chunk_rows=2))
        return
    assert data.X.ndim == 2 and data.X.size and data.X.dtype in (np.float32, np.float64)
    assert data.y is None or data.y.shape == data.X.shape[:1]
    chunks = list(iter_data(path, chunk_rows=2))
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), data.X)

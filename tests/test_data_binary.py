"""Binary data files: npy, npz and parquet."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from programs.data_cases import X, npy_header, parquet_file

from svmcompile.data import PredictionWriter, count_rows, iter_data, read_data
from svmcompile.errors import ReadError, ToolchainError
from svmcompile.extras import install

# npy and npz


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy_header((10**12, 10**6)) + b"\0" * 64, "claims 8000000000000000000 bytes"),
        (npy_header((2**62, 2**62)) + b"\0" * 64, "claims"),
        (npy_header((1000, 1000)) + b"\0" * 64, "claims 8000000 bytes"),
        (npy_header((-1, -1)) + b"\0" * 64, "no shape that can be read"),
        (npy_header((10**15, 10**15), "|V0"), "impossible header"),
        (npy_header((3,)) + b"\0" * 24, r"shape (3,); expected a matrix"),
        (npy_header((1, 1, 1)) + b"\0" * 8, "expected a matrix"),
        (npy_header((0, 3)), "holds no rows"),
        (npy_header((3, 0)), "holds no features"),
        (npy_header((1, 1), "<c16") + b"\0" * 16, "complex numbers"),
        (npy_header((1, 1), "<U1") + b"\0" * 4, "holds text"),
        (npy_header((1, 1), "|O") + b"\0" * 8, "Python objects"),
        (b"\x93NUMPY\x03\x00", "version (3, 0)"),
        (b"\x93NUMPY\x01\x00\x05", "cannot be read"),
        (b"\x93NUMPY\x01\x00\x05\x00{[(((", "cannot be read"),
    ],
)
def test_npy_faults(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    for read in (read_data, count_rows, lambda path: next(iter_data(path))):
        with pytest.raises(ReadError) as caught:
            read(path)
        assert message in str(caught.value) and str(path) in str(caught.value)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, "x"]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", X=X, y=np.array(["a", 1, None], dtype=object))
    for name in ("a.npy", "b.npz"):
        with pytest.raises(ReadError, match="Python objects, which need unpickling"):
            read_data(tmp_path / name)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": X}, "holds no array 'X'; it has: data"),
        ({"X": X, "y": np.zeros(2)}, r"y has shape (2,), expected (3,)"),
        ({"X": X, "y": np.zeros((3, 1, 1))}, "one for each row"),
        ({"X": X, "y": np.zeros(3, complex)}, "labels must be numbers or str"),
        ({"X": X[0]}, "expected a matrix"),
    ],
)
def test_npz_faults(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ReadError) as caught:
        read_data(tmp_path / "a.npz")
    assert message in str(caught.value)


def zip_file(path: Path, content: bytes, method: int, claimed: int | None = None) -> Path:
    """A zip with X.npy; `claimed` overwrites the size both its headers state."""
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("X.npy", content)
    if claimed is not None:
        data = path.read_bytes()
        true = len(content).to_bytes(4, "little")
        path.write_bytes(data.replace(true, claimed.to_bytes(4, "little")))
    return path


def test_npz_that_lies_or_unpacks_without_bound(tmp_path: Path) -> None:
    rows = npy_header((1 << 20, 64)) + b"\0" * 1000
    lying = zip_file(tmp_path / "lying.npz", rows, zipfile.ZIP_STORED, claimed=len(rows) - 1000 + (1 << 29))
    with pytest.raises(ReadError, match=r"lying.npz"):
        read_data(lying)
    packed = zip_file(tmp_path / "packed.npz", rows, zipfile.ZIP_LZMA)
    with pytest.raises(ReadError, match="in a way numpy does not use"):
        read_data(packed)


def test_damaged_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    at = content.index(np.float64(4.25).tobytes())
    content[at] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ReadError, match="CRC"):
        read_data(tmp_path / "a.npz")


def test_npz_text_with_impossible_characters(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", npy_header((1, 1)) + bytes(8))
        archive.writestr("y.npy", npy_header((1,), "<U1") + b"\xff" * 4)
    with pytest.raises(ReadError, match="impossible characters"):
        read_data(tmp_path / "a.npz")


def test_memory_error_is_a_read_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", X=X)
    monkeypatch.setattr(np, "empty", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(ReadError, match="does not fit into memory"):
        read_data(tmp_path / "a.npz")


# parquet


def test_parquet_types(tmp_path: Path) -> None:
    import pyarrow

    path = parquet_file(
        tmp_path / "a.parquet",
        **{
            "a.b": pyarrow.array([1, None, 3]),
            "flag": pyarrow.array([True, False, True]),
            "kind": pyarrow.array(["x", "y", "x"]).dictionary_encode(),
            "__index_level_0__": pyarrow.array([5, 6, 7]),
        },
    )
    data = read_data(path, label="kind")
    np.testing.assert_array_equal(data.X, [[1, 1], [np.nan, 0], [3, 1]])
    assert data.feature_names == ("a.b", "flag")
    assert data.y is not None and data.y.tolist() == ["x", "y", "x"]
    assert [len(chunk.X) for chunk in iter_data(path, label="kind", chunk_rows=1)] == [1, 1, 1]


def test_parquet_labels_keep_their_type(tmp_path: Path) -> None:
    for y in (np.array([1, 2], np.int32), np.array([0.5, 2.0]), np.array([True, False])):
        data = read_data(parquet_file(tmp_path / "a.parquet", x=[1.0, 2.0], y=y), label="y")
        assert data.y is not None and data.y.dtype == y.dtype and data.y.tolist() == y.tolist()


def test_parquet_faults(tmp_path: Path) -> None:
    text = parquet_file(tmp_path / "t.parquet", a=[1.0], kind=["x"])
    with pytest.raises(ReadError, match=r"column 'kind' holds string.*--label kind"):
        read_data(text)
    nulls = parquet_file(tmp_path / "n.parquet", a=[1.0, 2.0], y=[1, None])
    with pytest.raises(ReadError, match="holds nulls"):
        read_data(nulls, label="y")
    dates = parquet_file(tmp_path / "d.parquet", a=[1.0], y=np.array(["2020-01-01"], "M8[s]"))
    with pytest.raises(ReadError, match="labels must be numbers or text"):
        read_data(dates, label="y")
    with pytest.raises(ReadError, match="holds no rows"):
        read_data(parquet_file(tmp_path / "e.parquet", a=np.zeros(0)))
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + b"\0" * 20 + b"PAR1")
    with pytest.raises(ReadError, match=r"b\.parquet: \w+"):
        read_data(tmp_path / "b.parquet")


def test_small_parquet_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"a": np.zeros(1 << 20)})
    with pyarrow.parquet.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for _ in range(48):
            writer.write_table(table)
    assert (tmp_path / "a.parquet").stat().st_size < 300_000
    with pytest.raises(ReadError, match="GB in memory"):
        read_data(tmp_path / "a.parquet")
    assert count_rows(tmp_path / "a.parquet") == 48 << 20


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet_file(tmp_path / "a.parquet", a=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for call in (read_data, count_rows, lambda path: next(iter_data(path))):
        with pytest.raises(ToolchainError, match=re.escape(install("arrow"))):
            call(path)
    with (
        pytest.raises(ToolchainError, match=re.escape(install("arrow"))),
        PredictionWriter(tmp_path / "o.parquet"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_kept_columns_of_parquet_are_sound(tmp_path):
    """What is carried along is read as late as it is written, where a fault would have no words."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = pyarrow.array(["first", "second", "first"]).dictionary_encode()
    parquet.write_table(
        pyarrow.table({"x": [0.5, 1.5, 2.5], "name": names}), tmp_path / "a.parquet", compression="none"
    )
    damaged = (tmp_path / "a.parquet").read_bytes().replace(b"second", b"\xaeecond")
    (tmp_path / "a.parquet").write_bytes(damaged)
    with pytest.raises(ReadError, match="UTF8"):
        read_data(tmp_path / "a.parquet", keep=("name",))

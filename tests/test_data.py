"""Data files: every format read whole and in chunks, every fault a `ReadError` with its place."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svmcompile.data import Data, PredictionWriter, count_rows, iter_data, read_data
from svmcompile.data.limits import MAX_FEATURES
from svmcompile.errors import EmitError, OptionError, ReadError, ToolchainError

X = np.array([[1.5, 2.0], [-3.0, 4.25], [0.0, 1e-300]])


def text_file(tmp_path: Path, name: str, content: str) -> Path:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def npy_header(shape: object, descr: str = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def parquet_file(path: Path, **columns: object) -> Path:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def every_format(tmp_path: Path) -> list[Path]:
    """The same rows in each format that reads without options."""
    np.save(tmp_path / "rows.npy", X)
    np.savez(tmp_path / "rows.npz", X=X)
    np.savez_compressed(tmp_path / "packed.npz", X=X)
    text_file(tmp_path, "rows.csv", "a,b\n" + "".join(f"{a!r},{b!r}\n" for a, b in X.tolist()))
    text_file(tmp_path, "rows.libsvm", "".join(f"1 1:{a!r} 2:{b!r}\n" for a, b in X.tolist()))
    parquet_file(tmp_path / "rows.parquet", a=X[:, 0], b=X[:, 1])
    return sorted(tmp_path.iterdir())


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


# csv


@pytest.mark.parametrize("label", ["kind", "1", "-2"])
def test_csv_label_by_name_or_index(tmp_path: Path, label: str) -> None:
    path = text_file(tmp_path, "a.csv", '"x, y",kind,z\n1,cat,2\n3,"dog\nbig",4\n')
    data = read_data(path, label=label)
    assert data.feature_names == ("x, y", "z")
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y is not None and data.y.tolist() == ["cat", "dog\nbig"]


@pytest.mark.parametrize(
    ("first", "label", "rows"),
    [
        ("1,2,3", None, 2),
        ("1,x,3", None, 1),
        ("nan,inf,-1e5", None, 2),
        ("1,1_0,3", None, 1),
        ("1,2,setosa", "-1", 2),  # the label may be text without making the line a header
        ("0,1,label", "-1", 1),  # but pandas numbers columns like this
        ("1,2,label", "label", 1),
    ],
)
def test_csv_header_detection(tmp_path: Path, first: str, label: str | None, rows: int) -> None:
    path = text_file(tmp_path, "a.csv", f"{first}\n4,5,6\n")
    assert len(read_data(path, label=label).X) == rows


def test_csv_takes_marks_blank_lines_and_windows_ends(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.csv", "\ufeffa,b\r\n1, 2 \r\n\r\nnan,-inf\r\n")
    data = read_data(path)
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.X, [[1, 2], [np.nan, -np.inf]])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "-2"], "i"),
        (["1.0", "2"], "i"),
        (["1.5", "2"], "f"),
        (["True", "false"], "b"),
        (["1", "a"], "U"),
        (["1_0", "2"], "U"),
        (["9" * 30, "1"], "f"),
    ],
)
def test_text_labels_get_the_narrowest_type(tmp_path: Path, labels: list[str], kind: str) -> None:
    path = text_file(tmp_path, "a.csv", "x,y\n" + "".join(f"0,{label}\n" for label in labels))
    y = read_data(path, label="y").y
    assert y is not None and y.dtype.kind == kind


def test_label_type_is_that_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svmcompile.data.reading.CHUNK_ROWS", 2)
    path = text_file(tmp_path, "a.csv", "x,y\n0,1\n0,2\n0,a\n")
    y = read_data(path, label="y").y
    assert y is not None and y.tolist() == ["1", "2", "a"]


def test_large_whole_labels_stay_exact(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.csv", f"x,y\n0,{2**53 + 1}\n")
    assert read_data(path, label="y").y.tolist() == [2**53 + 1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("content", "label", "message"),
    [
        ("a,b\n1,2\n3,x\n", None, "a.csv:3: column 'b': 'x' is not a number"),
        ("1,2\n3,x\n", None, "a.csv:2: column 1 (counted from 0): 'x' is not a number"),
        ("a,b\n1,x\n", None, "--label b"),
        ("a,b\n1,\n", None, "the field is empty; write nan"),
        ("a,b\n1,2\n1,2,3\n", None, "a.csv:3: 3 fields, the first line has 2"),
        ("a,b\n1,1_0\n", None, "'1_0' is not a number"),
        ("a,b\n1,\u0661\n", None, "is not a number"),
        ("a,b\n1, \n", "b", "the label is empty"),
        ("a,b\n1," + "x" * 300 + "\n", "b", "a label of 300 characters"),
        ("a;b\n1;2\n", None, "separate fields by commas"),
        ('a,b\n1,"2\n', None, "a.csv: cannot be read"),
        ("a,b\n", None, "holds no rows"),
        ("\n\n", None, "holds no rows"),
        ("y\n1\n", "y", "no feature columns"),
    ],
)
def test_csv_faults(tmp_path: Path, content: str, label: str | None, message: str) -> None:
    path = text_file(tmp_path, "a.csv", content)
    with pytest.raises(ReadError) as caught:
        read_data(path, label=label)
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_csv_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(ReadError, match="not UTF-8"):
        read_data(tmp_path / "a.csv")


# named columns and the model's features


def named_files(tmp_path: Path) -> list[Path]:
    csv = text_file(tmp_path, "a.csv", "b,y,a\n2,7,1\n20,8,10\n")
    return [csv, parquet_file(tmp_path / "a.parquet", b=[2.0, 20.0], y=[7, 8], a=[1.0, 10.0])]


def test_named_columns_come_in_the_models_order(tmp_path: Path) -> None:
    for path in named_files(tmp_path):
        data = read_data(path, label="y", feature_names=("a", "b"))
        assert data.X.tolist() == [[1, 2], [10, 20]] and data.feature_names == ("a", "b")
        assert data.y is not None and data.y.tolist() == [7, 8]


def test_missing_and_unknown_columns_are_named(tmp_path: Path) -> None:
    for path in named_files(tmp_path):
        with pytest.raises(ReadError, match=r"unknown 'y'; if it holds the labels, add --label y"):
            read_data(path, feature_names=("a", "b"))
        with pytest.raises(ReadError, match=r"missing 'c', unknown 'b'"):
            read_data(path, label="y", feature_names=("a", "c"))


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.csv", "a,a,b\n1,2,3\n")
    with pytest.raises(ReadError, match="twice 'a'"):
        read_data(path, label="b", feature_names=("a", "c"))
    with pytest.raises(OptionError, match="'a' appears twice"):
        read_data(path, label="a")


def test_wrong_width_suggests_label_only_where_it_helps(tmp_path: Path) -> None:
    for path in every_format(tmp_path):
        if path.suffix == ".libsvm":
            continue
        with pytest.raises(ReadError, match=r"2 feature columns, the model has 1 features; .*--label"):
            read_data(path, n_features=1)
        with pytest.raises(ReadError, match=r"1 feature columns, the model has 2 features$"):
            read_data(path, n_features=2, label="0")
        with pytest.raises(ReadError, match=r"the model has 5 features$"):
            read_data(path, n_features=5)


def test_unknown_label_column(tmp_path: Path) -> None:
    for path in named_files(tmp_path):
        with pytest.raises(OptionError, match="no column 'z' for the label; columns: 'b', 'y', 'a'"):
            read_data(path, label="z")
        with pytest.raises(OptionError, match="no column '3'"):
            read_data(path, label="3")
    with pytest.raises(OptionError, match="no header line"):
        read_data(text_file(tmp_path, "n.csv", "1,2\n"), label="y")
    with pytest.raises(OptionError, match="leave out --label"):
        read_data(text_file(tmp_path, "n.libsvm", "1 1:2\n"), label="y")


def test_senseless_options() -> None:
    with pytest.raises(OptionError, match="n_features"):
        read_data("x.csv", n_features=0)
    with pytest.raises(OptionError, match="n_features"):
        read_data("x.csv", n_features=10**9)
    with pytest.raises(OptionError, match="feature names"):
        read_data("x.csv", n_features=3, feature_names=("a",))
    with pytest.raises(OptionError, match="chunk_rows"):
        iter_data("x.csv", chunk_rows=0)


# libsvm


def test_libsvm_text(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.svmlight", "# head\n+1 qid:3 1:0.5 3:-2 # tail\n\n-1\r\n2 2:nan\n")
    data = read_data(path)
    np.testing.assert_array_equal(data.X, [[0.5, 0, -2], [0, 0, 0], [0, np.nan, 0]])
    assert data.y is not None and data.y.dtype == np.int64 and data.y.tolist() == [1, -1, 2]
    assert read_data(path, n_features=5).X.shape == (3, 5)


def test_libsvm_agrees_with_sklearn(tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 7)) * (rng.random((50, 7)) < 0.4)
    dump_svmlight_file(rows, rng.normal(size=50), str(tmp_path / "a.libsvm"), zero_based=False)
    theirs, labels = load_svmlight_file(str(tmp_path / "a.libsvm"), n_features=7)
    data = read_data(tmp_path / "a.libsvm", n_features=7)
    np.testing.assert_array_equal(data.X, theirs.toarray())
    np.testing.assert_array_equal(data.y, labels)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1", "'1' is not `index:value`"),
        ("1 1:2:3", "'1:2:3' is not `index:value`"),
        ("1 1:x", "'1:x' is not `index:value`"),
        ("1 1:1_0", "'1:1_0' is not `index:value`"),
        ("1 :2", "':2' is not `index:value`"),
        ("1 1: 2", "'1:' is not `index:value`"),
        ("1 1 : 2", "'1' is not `index:value`"),
        ("1 1:2:3 4", "'1:2:3' is not `index:value`"),
        ("1 1::2", "'1::2' is not `index:value`"),
        ("1:1 2", "label '1:1' is not a number"),
        ("1 qid:1 qid:2", "'qid:2' is not `index:value`"),
        ("x 1:2", "label 'x' is not a number"),
        ("1,2 1:2", "label '1,2' is not a number"),
        ("1 0:2", "indices start at 1"),
        ("1 -3:2", "indices start at 1"),
        ("1 2:1 1:1", "must ascend"),
        ("1 2:1 2:1", "must ascend"),
        ("1 2000000000:1", "above the limit"),
        ("1 " + "9" * 5000 + ":1", "limit"),
    ],
)
def test_libsvm_faults_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    path = text_file(tmp_path, "a.libsvm", f"1 1:1\n\n{line}\n")
    with pytest.raises(ReadError) as caught:
        read_data(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    if len(line) < 100:  # the longest number is refused by Python itself on some versions
        assert message in str(caught.value)


def test_libsvm_index_beyond_the_model(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.libsvm", "1 1:1\n1 3:1\n")
    with pytest.raises(ReadError, match=r"a.libsvm:2: feature index 3, but the model has 2 features"):
        read_data(path, n_features=2)


def test_libsvm_without_features(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no features"):
        read_data(text_file(tmp_path, "a.libsvm", "1\n2\n"))
    with pytest.raises(ReadError, match="no rows"):
        read_data(text_file(tmp_path, "b.libsvm", "# nothing\n"), n_features=3)


def test_small_libsvm_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.libsvm", f"1 {MAX_FEATURES}:1\n" * 1000)
    with pytest.raises(ReadError, match="GB in memory"):
        read_data(path)


# npy and npz


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy_header((10**12, 10**6)) + b"\0" * 64, "claims 8000000000000000000 bytes"),
        (npy_header((2**62, 2**62)) + b"\0" * 64, "claims"),
        (npy_header((1000, 1000)) + b"\0" * 64, "claims 8000000 bytes"),
        (npy_header((-1, -1)) + b"\0" * 64, "impossible header"),
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
        ({"X": X, "y": np.zeros((3, 1))}, "one dimension"),
        ({"X": X, "y": np.zeros(3, complex)}, "one dimension of numbers or str"),
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
        with pytest.raises(ToolchainError, match=r"pip install svmcompile\[arrow\]"):
            call(path)
    with (
        pytest.raises(ToolchainError, match=r"svmcompile\[arrow\]"),
        PredictionWriter(tmp_path / "o.parquet"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


# files as such


def test_files_that_are_no_data(tmp_path: Path) -> None:
    empty = text_file(tmp_path, "a.csv", "")
    for path, message in [
        (empty, "is empty"),
        (tmp_path, "not a plain file"),
        (tmp_path / "no.csv", "No such file"),
        (text_file(tmp_path, "a.npy", "hello"), "not a .npy file"),
        (text_file(tmp_path, "a.npz", "hello"), "not a .npz file"),
        (text_file(tmp_path, "a.parquet", "hello"), "not a .parquet file"),
        (text_file(tmp_path, "notes", "some words"), "format cannot be told"),
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


# predictions

VALUES = [
    np.array([3, -1, 2]),
    np.array([0.1, np.nan, -np.inf]),
    np.array([0.1, 1e-7, 16777216], np.float32),
    np.array([True, False, True]),
    np.array(["plain", 'with "quotes", commas', "line\nbreak\rreturn ü"]),
    np.array(["object", "labels", "=1+1"], dtype=object),
]


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet", ".npy"])
@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.dtype))
def test_predictions_read_back(tmp_path: Path, suffix: str, values: np.ndarray) -> None:
    path, scores = (
        tmp_path / "deep" / f"out{suffix}",
        np.array([[0.1, 1 / 3], [1e-300, -0.0], [5e22, np.inf]]),
    )
    with PredictionWriter(path) as writer:
        writer.write(values[:2], scores[:2])
        writer.write(values[2:], scores[2:])
    labels, back = read_back(path)
    plain = np.array(values.tolist()) if values.dtype == object else values
    np.testing.assert_array_equal(labels.astype(plain.dtype), plain)
    if suffix != ".npy":
        np.testing.assert_array_equal(back, scores)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def read_back(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    if path.suffix == ".npy":
        return np.load(path), None
    if path.suffix == ".npz":
        stored = np.load(path)
        return stored["label"], stored["scores"]
    data = read_data(path, label="label")
    assert data.feature_names == ("score_0", "score_1") and data.y is not None
    return data.y, data.X


def test_csv_predictions_are_shortest(tmp_path: Path) -> None:
    with PredictionWriter(tmp_path / "a.csv", "value") as writer:
        writer.write(np.array([0.1, 2.0], np.float32), np.array([0.1, 1e-5]))
    assert (tmp_path / "a.csv").read_bytes() == b"value,score_0\n0.1,0.1\n2.0,1e-05\n"


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".parquet"])
def test_a_failed_prediction_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"old")
    for error in (KeyboardInterrupt, ZeroDivisionError, OSError, ReadError):
        with pytest.raises(error), PredictionWriter(path) as writer:
            writer.write([1, 2])
            raise error("stop")
    with pytest.raises(EmitError), PredictionWriter(path) as writer:
        writer.write([1, 2], [0.5])
    with pytest.raises(EmitError, match="other columns or types"), PredictionWriter(path) as writer:
        writer.write([1, 2])
        writer.write(["a", "b"])
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_the_file_appears_only_at_the_end(tmp_path: Path) -> None:
    with PredictionWriter(tmp_path / "a.csv") as writer:
        writer.write(np.arange(10_000))
        assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.csv").exists()


def test_no_predictions_make_an_empty_file(tmp_path: Path) -> None:
    for suffix in (".csv", ".npy", ".npz", ".parquet"):
        with PredictionWriter(tmp_path / f"a{suffix}"):
            pass
    assert (tmp_path / "a.csv").read_text() == "label\n"
    assert np.load(tmp_path / "a.npy").shape == np.load(tmp_path / "a.npz")["label"].shape == (0,)


def test_predictions_need_a_known_suffix_and_plain_values(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.csv, \.npy, \.npz, \.parquet"):
        PredictionWriter(tmp_path / "a.xls")
    for values in ([[1, 2]], [1j], [b"x"]):
        with pytest.raises(EmitError), PredictionWriter(tmp_path / "a.csv") as writer:
            writer.write(values)
    assert not list(tmp_path.iterdir())
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(OptionError, match="is a folder"), PredictionWriter(tmp_path / "d.csv"):
        pass

"""Text data files: csv and LIBSVM, and columns by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from programs.data_cases import every_format, parquet_file, text_file

from svmcompile.data import iter_data, read_data
from svmcompile.data.table import MAX_FEATURES
from svmcompile.errors import OptionError, ReadError

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
        ("a,b\n1,\n", None, "the field is empty; fill it in, write nan"),
        ("a,b\n1,2\n1,2,3\n", None, "a.csv:3: 3 fields, the first line has 2"),
        ("a,b\n1,1_0\n", None, "'1_0' is not a number"),
        ("a,b\n1,\u0661\n", None, "is not a number"),
        ("a,b\n1, \n", "b", "the label is empty"),
        ("a,b\n1," + "x" * 300 + "\n", "b", "a label of 300 characters"),
        ("a,b\n1;2,3\n", None, "name the separator with --separator"),
        ("a;b\n1;2.5\n1;2,5\n", None, "add --decimal ,"),
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
        with pytest.raises(
            ReadError, match=r"unknown 'y'; --ignore-extra .*; if it holds the labels, add --label y"
        ):
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
    assert read_data(path, n_features=5, base=1).X.shape == (3, 5)


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
        ("1 0:2 0:3", "must ascend"),
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


def test_libsvm_row_too_wide_is_refused_before_it_is_made(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.libsvm", "1 1:0.5 3:2\n-1 303387340:1\n")
    with pytest.raises(ReadError, match=r"would take 2\.4 GB"):
        next(iter(iter_data(path)))


def test_texts_count_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small texts take far more than their characters; those that are one object count once."""
    monkeypatch.setattr("svmcompile.data.table.FREE_BYTES", 1 << 20)
    path = tmp_path / "texts.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"".join(b"%d\n" % row for row in range(100_000))))
    monkeypatch.setattr("svmcompile.data.table.GROWTH", 1)
    with pytest.raises(ReadError, match="far more than its size on disk allows"):
        read_data(path, takes_text=True)

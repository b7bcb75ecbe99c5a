"""Text data as others write it: separators, decimal commas, gzip, indices from 0, columns to carry."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from programs.data_cases import text_file
from sklearn.datasets import dump_svmlight_file

from svmcompile.data import common_base, csv_arrow, iter_data, read_data, read_partitions
from svmcompile.errors import OptionError, ReadError


@pytest.fixture(params=["arrow", "careful"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both CSV readers: pyarrow's, and ours alone."""
    if request.param == "careful":

        def absent() -> None:
            raise csv_arrow.NotRead

        monkeypatch.setattr(csv_arrow, "_import", absent)
    else:
        pytest.importorskip("pyarrow")
    return str(request.param)


@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("a;b\n1;2\n3;4\n", {}, [[1, 2], [3, 4]]),
        ("a;b\n1,5;2\n3;4,25\n", {}, [[1.5, 2], [3, 4.25]]),
        ("1,5;2\n3;4,25\n", {}, [[1.5, 2], [3, 4.25]]),
        ("a\tb\n1.5\t2\n", {}, [[1.5, 2]]),
        ("a;b\n1;2\n", {"separator": "semicolon"}, [[1, 2]]),
        ("a;b\n1;2,5\n", {"decimal": ","}, [[1, 2.5]]),
        ("a,b\n1,2\n", {"separator": ","}, [[1, 2]]),
        ('"a";"b"\n"1,5";"2"\n', {}, [[1.5, 2]]),
        ("1,2\n3,4\n", {}, [[1, 2], [3, 4]]),
    ],
)
def test_separators_and_decimal_commas(
    tmp_path: Path, reader: str, text: str, options: dict[str, str], rows: list[list[float]]
) -> None:
    assert read_data(text_file(tmp_path, "a.csv", text), **options).X.tolist() == rows


def test_a_semicolon_in_labels_is_no_separator(tmp_path: Path, reader: str) -> None:
    data = read_data(text_file(tmp_path, "a.csv", "1,2,x;y\n3,4,z;w\n"), label="-1")
    assert data.X.tolist() == [[1, 2], [3, 4]] and data.y is not None and data.y.tolist() == ["x;y", "z;w"]


def test_options_of_the_layout_are_checked(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.csv", "a;b\n1;2\n")
    with pytest.raises(OptionError, match="--separator"):
        read_data(path, separator="|")
    with pytest.raises(OptionError, match="--decimal"):
        read_data(path, separator=",", decimal=",")
    with pytest.raises(ReadError, match=r"'1\.234,5' is not a number"):
        read_data(text_file(tmp_path, "b.csv", "a;b\n1,5;2\n1.234,5;2\n"), decimal=",")


@pytest.mark.parametrize("name", ["a.csv.gz", "a.svmlight.gz"])
def test_text_packed_by_gzip(tmp_path: Path, reader: str, name: str) -> None:
    text = b"a,b\n1,2\n3,4\n" if "csv" in name else b"1 1:1 2:2\n2 1:3 2:4\n"
    (tmp_path / name).write_bytes(gzip.compress(text))
    assert read_data(tmp_path / name).X.tolist() == [[1, 2], [3, 4]]
    (tmp_path / name).write_bytes(gzip.compress(text * 5000)[:-20])
    with pytest.raises(ReadError, match=name):
        read_data(tmp_path / name)


def test_columns_are_carried_along_as_text(tmp_path: Path, reader: str) -> None:
    path = text_file(tmp_path, "a.csv", "id,a,note,b\n007,1,x,2\n008,3,,4\n")
    (data,) = iter_data(path, feature_names=("b", "a"), keep=("id",), ignore_extra=True)
    assert data.X.tolist() == [[2, 1], [4, 3]]
    assert [str(text) for text in data.kept["id"]] == ["007", "008"]
    with pytest.raises(OptionError, match="no column 'key' for --keep"):
        read_data(path, feature_names=("a", "b"), keep=("key",))
    (both,) = iter_data(path, feature_names=("a", "b"), keep=("a",), ignore_extra=True)
    assert both.X.tolist() == [[1, 2], [3, 4]] and list(both.kept["a"]) == ["1", "3"]


def test_a_kept_column_beside_unnamed_features(tmp_path: Path, reader: str) -> None:
    path = text_file(tmp_path, "a.csv", "1,2,x\n3,4,y\n")
    (data,) = iter_data(path, n_features=2, keep=("-1",), label="-1")
    assert data.X.tolist() == [[1, 2], [3, 4]] and [str(text) for text in data.kept["-1"]] == ["x", "y"]
    with pytest.raises(ReadError, match="--ignore-extra goes by names"):
        read_data(path, n_features=1, label="-1", ignore_extra=True)


def test_missing_fields_where_they_may_be(tmp_path: Path, reader: str) -> None:
    path = text_file(tmp_path, "a.csv", "a,b\n1,\nNA,4\nnan,5\n")
    found = read_data(path, missing=True).X
    assert np.isnan(found).tolist() == [[False, True], [True, False], [True, False]]
    with pytest.raises(ReadError, match=r"a.csv:2: column 'b': the field is empty"):
        read_data(path)


def test_both_readers_agree_on_odd_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    numbers = [
        repr(value)
        for value in (rng.normal(size=30_000) * 10.0 ** rng.integers(-300, 300, 30_000)).tolist()
    ]
    lines = [",".join(numbers[at : at + 3]) for at in range(0, len(numbers), 3)]
    odd = ['"1",2,3', "+1, 2 ,3", "", "1e400,-inf,NaN", "   ", "1,2,3"]
    path = text_file(tmp_path, "a.csv", "\n".join([*lines, *odd]) + "\n")
    fast = list(iter_data(path, chunk_rows=999))

    def absent() -> None:
        raise csv_arrow.NotRead

    monkeypatch.setattr(csv_arrow, "_import", absent)
    slow = read_data(path).X
    np.testing.assert_array_equal(np.concatenate([part.X for part in fast]), slow)
    assert len(slow) == 10_004 and max(len(part.X) for part in fast) <= 999


# LIBSVM text


def zero_based(folder: Path, rows: np.ndarray) -> Path:
    dump_svmlight_file(rows, np.arange(len(rows)), str(folder / "a.svmlight"))
    return folder / "a.svmlight"


def test_indices_from_zero_are_recognised(tmp_path: Path) -> None:
    rows = np.array([[1.0, 0, 2], [0, 3, 0]])
    path = zero_based(tmp_path, rows)
    np.testing.assert_array_equal(read_data(path, n_features=3).X, rows)
    np.testing.assert_array_equal(read_data(path).X, rows)
    with pytest.raises(ReadError, match=r"feature index 0; indices start at 1; .*--zero-based"):
        read_data(path, n_features=3, base=1)


def test_indices_that_may_be_either_are_refused(tmp_path: Path) -> None:
    rows = np.array([[0, 1.0, 2], [0, 3, 0]])
    path = zero_based(tmp_path, rows)
    with pytest.raises(ReadError, match=r"from 1 to 2 and the model has 3 .*--zero-based or --one-based"):
        read_data(path, n_features=3)
    np.testing.assert_array_equal(read_data(path, n_features=3, base=0).X, rows)
    np.testing.assert_array_equal(read_data(path, n_features=3, base=1).X, np.roll(rows, -1, axis=1))
    np.testing.assert_array_equal(read_data(path, n_features=2).X, rows[:, 1:])  # reaches the last from 1


def test_an_index_beyond_the_width_says_how_it_was_counted(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.libsvm", "1 0:1\n1 2:1\n")
    with pytest.raises(ReadError, match=r"a.libsvm:2: .* has 2 features and the file counts from 0"):
        read_data(path, n_features=2)


def test_files_of_a_folder_count_alike(tmp_path: Path) -> None:
    text_file(tmp_path, "a.libsvm", "1 0:1 2:2\n")
    text_file(tmp_path, "b.libsvm", "1 1:3\n")
    assert read_partitions(tmp_path).X.tolist() == [[1, 0, 2], [0, 3, 0]]
    files = sorted(tmp_path.iterdir())
    assert common_base(files, "folder", n_features=3) == 0
    assert common_base(files[1:], "folder", n_features=3, base=1) == 1


def test_flags_are_numbers(tmp_path):
    path = tmp_path / "flags.csv"
    path.write_text("used,size\nTrue,1.5\nfalse,2\n")
    np.testing.assert_array_equal(read_data(path).X, [[1.0, 1.5], [0.0, 2.0]])

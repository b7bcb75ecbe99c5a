"""Predictions: written in chunks, read back equal, or not there at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from svmcompile.data import PredictionWriter, read_data
from svmcompile.errors import EmitError, OptionError, ReadError

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


@pytest.mark.parametrize("suffix", [".csv.gz", ".npz"])
def test_equal_predictions_are_equal_files(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the time, and the name of the file."""
    for name, now in (("a", 1e9), ("b", 1.1e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with PredictionWriter(tmp_path / f"{name}{suffix}") as writer:
            writer.write(np.arange(9))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


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
    for values in ([[[1, 2]]], [1j], [b"x"]):
        with pytest.raises(EmitError), PredictionWriter(tmp_path / "a.csv") as writer:
            writer.write(values)
    assert not list(tmp_path.iterdir())
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(OptionError, match="is a folder"), PredictionWriter(tmp_path / "d.csv"):
        pass

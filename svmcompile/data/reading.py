"""read_data, iter_data, count_rows: one door for every data format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from svmcompile.data.columns import Wanted
from svmcompile.data.csv_text import csv_parts
from svmcompile.data.detection import Format, detect
from svmcompile.data.libsvm_text import libsvm_parts
from svmcompile.data.npy import count_npy, count_npz, npy_parts, read_npz
from svmcompile.data.parquet import count_parquet, parquet_parts
from svmcompile.data.parts import Part, as_data, join, some_rows
from svmcompile.data.table import Data
from svmcompile.errors import OptionError

Parts = Callable[[Path, Wanted, int], Iterator[Part]]
CHUNK_ROWS = 65536

PARTS: dict[Format, Parts] = {
    "npy": npy_parts,
    "csv": csv_parts,
    "libsvm": libsvm_parts,
    "parquet": parquet_parts,
}
COUNTS: dict[Format, Callable[[Path], int]] = {
    "npy": count_npy,
    "npz": count_npz,
    "parquet": count_parquet,
}


def read_data(
    path: Path | str,
    *,
    label: str | None = None,
    n_features: int | None = None,
    feature_names: tuple[str, ...] = (),
) -> Data:
    """The whole file.

    `label` names the label column (or gives its 0-based index, negative from the end); `n_features` and
    `feature_names` are the model's, which the file must then match. Named columns are put in that order.
    A fault of the file is a `ReadError`, one of the options an `OptionError`.
    """
    path, wanted = Path(path), Wanted(label, n_features, feature_names)
    format = detect(path)
    if format == "npz":
        return read_npz(path, wanted)
    return join(path, PARTS[format](path, wanted, CHUNK_ROWS))


def iter_data(
    path: Path | str,
    *,
    chunk_rows: int = CHUNK_ROWS,
    label: str | None = None,
    n_features: int | None = None,
    feature_names: tuple[str, ...] = (),
) -> Iterator[Data]:
    """The file in chunks of at most `chunk_rows` rows (fewer where rows are very wide), in bounded memory.

    Options as for `read_data`. Labels that are text in the file get their type chunk by chunk. An `.npz`
    file is read whole, then cut.
    """
    if chunk_rows < 1:
        raise OptionError(f"chunk_rows must be at least 1, got {chunk_rows}")
    path, wanted = Path(path), Wanted(label, n_features, feature_names)
    format = detect(path)
    return _chunks(path, format, wanted, chunk_rows)


def _chunks(path: Path, format: Format, wanted: Wanted, chunk_rows: int) -> Iterator[Data]:
    if format == "npz":
        yield from _cut(read_npz(path, wanted), chunk_rows)
        return
    for part in some_rows(path, PARTS[format](path, wanted, chunk_rows)):
        yield as_data(part)


def _cut(data: Data, chunk_rows: int) -> Iterator[Data]:
    for start in range(0, len(data.X), chunk_rows):
        rows = slice(start, start + chunk_rows)
        yield Data(data.X[rows], None if data.y is None else data.y[rows], data.feature_names)


def count_rows(path: Path | str) -> int | None:
    """How many rows the file has, where that is cheap to say."""
    path = Path(path)
    count = COUNTS.get(detect(path))
    return count(path) if count else None

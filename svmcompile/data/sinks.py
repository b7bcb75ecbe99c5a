"""Where predictions go: CSV text, numpy files, Parquet. Chunks of the same columns enter, a file leaves."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.parquet import import_arrow
from svmcompile.files.plain import visible

STDOUT = Path("-")
SPECIAL = (",", '"', "\n", "\r")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows: columns carried along, what was predicted, and matrices with a name for each column."""

    kept: Mapping[str, Any]  # lists of text, numpy or arrow arrays
    kind: str
    values: NDArray[Any]
    matrices: Mapping[str, tuple[tuple[str, ...], NDArray[Any]]] = field(default_factory=dict)
    unscored: NDArray[np.bool_] | None = None  # rows without a prediction

    def predicted(self) -> dict[str, NDArray[Any]]:
        """What the model says, one column each."""
        columns = {self.kind: self.values}
        if self.values.ndim > 1:
            columns = {f"{self.kind}_{at}": column for at, column in enumerate(self.values.T)}
        for names, matrix in self.matrices.values():
            columns |= dict(zip(names, matrix.T, strict=True))
        return columns


class Sink(Protocol):
    """Takes chunks, then is closed."""

    def __init__(self, path: Path, packed: bool) -> None: ...
    def write(self, chunk: Chunk) -> None: ...
    def close(self) -> None: ...


class CsvSink:
    """Text; numbers in the shortest form that reads back the same, nothing for what is missing."""

    def __init__(self, path: Path, packed: bool) -> None:
        self.stream: Any = sys.stdout
        self.files = ExitStack()
        if path != STDOUT:
            file: Any = self.files.enter_context(path.open("wb"))
            if packed:  # without name and time, so that equal predictions are equal files
                file = self.files.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
            self.stream = self.files.enter_context(TextIOWrapper(file, newline="", encoding="utf-8"))
        self.started = False

    def write(self, chunk: Chunk) -> None:
        columns = {name: quoted(_texts(column)) for name, column in chunk.kept.items()}
        for name, column in chunk.predicted().items():
            columns[name] = quoted(_without(_texts(column), chunk.unscored))
        if not self.started:
            self.stream.write(",".join(quoted(list(columns))) + "\n")
            self.started = True
        if len(columns) == 1:  # a line with nothing on it would be no row
            lines: Iterable[str] = [text or '""' for text in next(iter(columns.values()))]
        else:
            lines = map(",".join, zip(*columns.values(), strict=True))
        text = "\n".join(lines)
        if self.stream is sys.stdout and sys.stdout.isatty():
            text = visible(text)
        self.stream.write(text + "\n" if text else "")

    def close(self) -> None:
        if self.stream is sys.stdout:
            self.stream.flush()
        self.files.close()


def quoted(texts: list[str]) -> list[str]:
    """Fields as CSV has them; few need quotes, so all are looked at together first."""
    whole = "".join(texts)
    if not any(mark in whole for mark in SPECIAL):
        return texts
    return [
        '"' + text.replace('"', '""') + '"' if any(mark in text for mark in SPECIAL) else text
        for text in texts
    ]


def _texts(column: Any) -> list[str]:
    """A column as text."""
    if isinstance(column, list):
        return column
    if not isinstance(column, np.ndarray):  # of arrow
        return ["" if text is None else text for text in column.cast("string").to_pylist()]
    if column.dtype.kind == "f" and column.dtype.itemsize == 8:
        return list(map(repr, column.tolist()))
    return list(map(str, column.astype(np.str_).tolist() if column.dtype.kind == "f" else column.tolist()))


def _without(texts: list[str], gone: NDArray[np.bool_] | None) -> list[str]:
    for at in np.flatnonzero(gone) if gone is not None else ():
        texts[at] = ""
    return texts


class NpySink:
    """The values only, gathered in memory."""

    def __init__(self, path: Path, packed: bool) -> None:
        self.path = path
        self.chunks: list[Chunk] = []

    def write(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)

    def close(self) -> None:
        with self.path.open("wb") as stream:
            for array in self.values().values():
                np.save(stream, array, allow_pickle=False)

    def values(self) -> dict[str, NDArray[Any]]:
        if not self.chunks:
            return {}
        return {self.chunks[0].kind: blanked(*self._joined([chunk.values for chunk in self.chunks]))}

    def _joined(self, arrays: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        gone = [
            np.zeros(len(chunk.values), dtype=bool) if chunk.unscored is None else chunk.unscored
            for chunk in self.chunks
        ]
        return np.concatenate(arrays), np.concatenate(gone)


class NpzSink(NpySink):
    """Values, matrices and kept columns as arrays of their own, gathered in memory."""

    def close(self) -> None:
        arrays = self.values()
        first = self.chunks[0]
        for name, (columns, _) in first.matrices.items():
            arrays[name] = blanked(*self._joined([chunk.matrices[name][1] for chunk in self.chunks]))
            arrays[f"{name}_names"] = np.array(columns)
        for name in first.kept:
            arrays[name] = np.concatenate([_plain_array(chunk.kept[name]) for chunk in self.chunks])
        with self.path.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)


def blanked(values: NDArray[Any], gone: NDArray[np.bool_]) -> NDArray[Any]:
    """NaN in place of numbers and nothing in place of text where rows have no prediction."""
    if not gone.any():
        return values
    gone = gone.reshape(-1, *(1,) * (values.ndim - 1))
    if values.dtype.kind == "U":
        return np.where(gone, "", values)
    return np.where(gone, np.nan, values.astype(np.float64))


def _plain_array(column: Any) -> NDArray[Any]:
    """A kept column as numpy can store it without pickles."""
    if isinstance(column, (list, np.ndarray)):
        return np.asarray(column)
    numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return numbers if numbers.dtype.kind in "biuf" else np.array(_texts(column), dtype=np.str_)


class ParquetSink:
    """Columns, a row group per chunk."""

    def __init__(self, path: Path, packed: bool) -> None:
        self.arrow, self.parquet = import_arrow(path)
        self.path = path
        self.writer: Any = None

    def write(self, chunk: Chunk) -> None:
        columns = {name: self._column(column) for name, column in chunk.kept.items()}
        columns |= {
            name: self._column(column, chunk.unscored) for name, column in chunk.predicted().items()
        }
        table = self.arrow.table(columns)
        if self.writer is None:
            self.writer = self.parquet.ParquetWriter(self.path, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()

    def _column(self, column: Any, gone: NDArray[np.bool_] | None = None) -> Any:
        if isinstance(column, list):
            return self.arrow.array(column, "string")
        if not isinstance(column, np.ndarray):
            return column
        if column.dtype.kind == "U":
            return self.arrow.array(column.astype(object), "string", mask=gone)
        return self.arrow.array(column, mask=gone)


SINKS: dict[str, type[Sink]] = {".csv": CsvSink, ".npy": NpySink, ".npz": NpzSink, ".parquet": ParquetSink}

"""Sinks: one per format of prediction files. Columns of a chunk enter, a file at a given path leaves."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.parquet import import_arrow

Chunk = Mapping[str, NDArray[Any]]  # the values, then `scores` as a matrix where there are some
SCORES = "scores"


class Sink(Protocol):
    """Takes chunks of the same columns, then is closed."""

    def __init__(self, path: Path) -> None: ...
    def write(self, chunk: Chunk) -> None: ...
    def close(self) -> None: ...


class CsvSink:
    """Text, a row at a time; numbers in the shortest form that reads back the same."""

    def __init__(self, path: Path) -> None:
        self.stream: IO[str] = path.open("w", newline="", encoding="utf-8")
        self.started = False

    def write(self, chunk: Chunk) -> None:
        columns = flat_columns(chunk)
        texts = [_csv_fields(column) for column in columns.values()]
        # before Python 3.13 the csv module leaves a lone carriage return unquoted
        odd = any(isinstance(field, str) and "\r" in field for field in texts[0])
        writer = csv.writer(
            self.stream, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
        )
        if not self.started:
            writer.writerow(columns)
            self.started = True
        writer.writerows(zip(*texts, strict=True))

    def close(self) -> None:
        self.stream.close()


class NpySink:
    """The values only, gathered in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chunks: list[Chunk] = []

    def write(self, chunk: Chunk) -> None:
        self.chunks.append({name: array.copy() for name, array in chunk.items() if name != SCORES})

    def close(self) -> None:
        with self.path.open("wb") as stream:
            for array in self.joined().values():
                np.save(stream, array, allow_pickle=False)

    def joined(self) -> dict[str, NDArray[Any]]:
        if not self.chunks:
            return {}
        return {name: np.concatenate([chunk[name] for chunk in self.chunks]) for name in self.chunks[0]}


class NpzSink(NpySink):
    """Values and scores as arrays of their own, gathered in memory."""

    def write(self, chunk: Chunk) -> None:
        self.chunks.append({name: array.copy() for name, array in chunk.items()})

    def close(self) -> None:
        with self.path.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **self.joined())


class ParquetSink:
    """Columns, a row group per chunk."""

    def __init__(self, path: Path) -> None:
        self.arrow, self.parquet = import_arrow(path)
        self.path = path
        self.writer: Any = None

    def write(self, chunk: Chunk) -> None:
        columns = {name: self._column(array) for name, array in flat_columns(chunk).items()}
        table = self.arrow.table(columns)
        if self.writer is None:
            self.writer = self.parquet.ParquetWriter(self.path, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()

    def _column(self, array: NDArray[Any]) -> Any:
        return (
            self.arrow.array(array.tolist(), "string")
            if array.dtype.kind == "U"
            else self.arrow.array(array)
        )


def flat_columns(chunk: Chunk) -> dict[str, NDArray[Any]]:
    """One column per score, `score_0` first."""
    columns = {name: array for name, array in chunk.items() if name != SCORES}
    if SCORES in chunk:
        columns |= {f"score_{at}": column for at, column in enumerate(chunk[SCORES].T)}
    return columns


def _csv_fields(column: NDArray[Any]) -> list[Any]:
    """What the csv module writes: it takes `repr` of a float, which is right for float64 only."""
    narrow = column.dtype.kind == "f" and column.dtype.itemsize < 8
    fields: list[Any] = (column.astype(np.str_) if narrow else column).tolist()
    return fields


SINKS: dict[str, type[Sink]] = {".csv": CsvSink, ".npy": NpySink, ".npz": NpzSink, ".parquet": ParquetSink}

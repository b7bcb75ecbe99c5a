"""Predictions on their way to a file, chunk by chunk."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmcompile.data.parquet import import_arrow
from svmcompile.errors import EmitError, OptionError
from svmcompile.files.atomic import as_emit_error, replacing

Chunk = Mapping[str, NDArray[Any]]  # the values, then `scores` as a matrix where there are some
SCORES = "scores"
Shape = tuple[str, int | None]  # kind of value, number of scores


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
        quoting: Any = csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
        writer = csv.writer(self.stream, lineterminator="\n", quoting=quoting)
        if not self.started:
            writer.writerow(columns)
            self.started = True
        writer.writerows(zip(*texts, strict=True))

    def close(self) -> None:
        self.stream.close()


class NpySink:
    """The values only, gathered in memory."""

    with_scores = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chunks: list[Chunk] = []

    def write(self, chunk: Chunk) -> None:
        kept = {name: array.copy() for name, array in chunk.items() if self.with_scores or name != SCORES}
        self.chunks.append(kept)

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

    with_scores = True

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
        text = array.dtype.kind == "U"
        return self.arrow.array(array.tolist(), "string") if text else self.arrow.array(array)


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


class PredictionWriter:
    """Writes `.csv`, `.npy` (without scores), `.npz` or `.parquet`, by the suffix of the path.

    The file appears when the `with` block ends well; otherwise everything stays as it was. CSV and
    Parquet are written as the chunks come; the others are gathered in memory first.
    """

    def __init__(self, path: Path | str, kind: Literal["label", "value"] = "label") -> None:
        self.path, self.kind = Path(path), kind
        self._shape: Shape | None = None
        self._replacing: AbstractContextManager[Path] = replacing(self.path)
        self._sink: Sink | None = None
        if self.path.suffix.lower() not in SINKS:
            raise OptionError(f"{path}: predictions are written as one of {', '.join(SINKS)}")

    def __enter__(self) -> PredictionWriter:
        with as_emit_error(self.path):
            temporary = self._replacing.__enter__()
            try:
                self._sink = SINKS[self.path.suffix.lower()](temporary)
            except BaseException as error:
                self._replacing.__exit__(type(error), error, error.__traceback__)
                raise
        return self

    def write(self, values: ArrayLike, scores: ArrayLike | None = None) -> None:
        """Append a chunk: values [n]; scores [n] or [n, k]. All chunks have the same columns."""
        assert self._sink is not None, "write inside a `with` block"
        chunk: dict[str, NDArray[Any]] = {self.kind: plain_values(self.path, values)}
        if scores is not None:
            chunk[SCORES] = score_matrix(self.path, scores, len(chunk[self.kind]))
        self._check_shape(chunk)
        with as_emit_error(self.path):
            try:
                self._sink.write(chunk)
            except UnicodeEncodeError as error:
                reason = f"a label cannot be written as UTF-8: {error.reason}"
                raise EmitError(f"{self.path}: {reason}") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._sink is not None
        if error is not None:
            self._abandon(error)
            return
        with as_emit_error(self.path):
            try:
                if self._shape is None:
                    self.write(np.empty(0))
                self._sink.close()
            except BaseException as failure:
                self._abandon(failure)
                raise
            self._replacing.__exit__(None, None, None)

    def _abandon(self, error: BaseException) -> None:
        """Remove what was written; the error itself goes on to whoever waits for it."""
        assert self._sink is not None
        try:
            self._sink.close()
        except Exception:  # the first error is the one to report
            pass
        finally:
            try:
                self._replacing.__exit__(type(error), error, error.__traceback__)
            except BaseException as same:
                if same is not error:
                    raise

    def _check_shape(self, chunk: dict[str, NDArray[Any]]) -> None:
        scores = chunk.get(SCORES)
        shape = (chunk[self.kind].dtype.kind, None if scores is None else scores.shape[1])
        self._shape = self._shape or shape
        if shape != self._shape:
            raise EmitError(f"{self.path}: a chunk has other columns or types than the first one")


def plain_values(path: Path, values: ArrayLike) -> NDArray[Any]:
    """One dimension of bool, int, float or str."""
    array = np.asarray(values)
    if array.dtype == object:
        array = np.array(array.tolist())
    if array.ndim != 1 or array.dtype.kind not in "biufU":
        raise EmitError(f"{path}: predictions of type {array.dtype}, shape {array.shape} cannot be written")
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def score_matrix(path: Path, scores: ArrayLike, rows: int) -> NDArray[Any]:
    """Scores as [n, k]."""
    array = np.asarray(scores)
    matrix = array[:, None] if array.ndim == 1 else array
    if matrix.ndim != 2 or len(matrix) != rows or matrix.dtype.kind not in "iuf":
        raise EmitError(f"{path}: scores of shape {array.shape} do not fit {rows} predictions")
    return matrix


SINKS: dict[str, type[Sink]] = {".csv": CsvSink, ".npy": NpySink, ".npz": NpzSink, ".parquet": ParquetSink}

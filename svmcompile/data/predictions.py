"""PredictionWriter: chunks of labels or values, with scores where wanted, become one file in one step."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmcompile.data.sinks import SCORES, SINKS, Sink
from svmcompile.errors import EmitError, OptionError
from svmcompile.files.atomic import as_emit_error, replacing

Shape = tuple[str, int | None]  # kind of value, number of scores


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
                raise EmitError(
                    f"{self.path}: a label cannot be written as UTF-8: {error.reason}"
                ) from None

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

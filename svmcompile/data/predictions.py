"""Predictions on their way to a file, chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmcompile.data.sinks import SINKS, STDOUT, Chunk, Sink
from svmcompile.errors import EmitError, OptionError
from svmcompile.files.atomic import as_emit_error, replacing

SCORES, PROBABILITIES = "scores", "probabilities"
PACKED = ".csv.gz"


class PredictionWriter:
    """Writes `.csv`, `.csv.gz`, `.npy` (values only), `.npz` or `.parquet`; `-` is standard output.

    The file appears when the `with` block ends well; otherwise everything stays as it was. CSV and
    Parquet are written as the chunks come; the others are gathered in memory first.
    """

    def __init__(
        self, path: Path | str, kind: Literal["label", "value"] = "label", score_names: Sequence[str] = (),
        classes: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.path, self.kind = Path(path), kind
        self.names = {SCORES: tuple(score_names), PROBABILITIES: tuple(f"probability_{c}" for c in classes)}
        self._shape: object = None
        self._sink: Sink | None = None
        self._packed = self.path.name.lower().endswith(PACKED)
        suffix = ".csv" if self._packed or self.path == STDOUT else self.path.suffix.lower()
        if suffix not in SINKS:
            raise OptionError(f"{path}: predictions are written as one of {', '.join((*SINKS, PACKED))}")
        self._kind_of_sink = SINKS[suffix]
        self._replacing: AbstractContextManager[Path] = (
            nullcontext(STDOUT) if self.path == STDOUT else replacing(self.path)
        )

    def __enter__(self) -> PredictionWriter:
        with as_emit_error(self.path):
            temporary = self._replacing.__enter__()
            try:
                self._sink = self._kind_of_sink(temporary, self._packed)
            except BaseException as error:
                self._replacing.__exit__(type(error), error, error.__traceback__)
                raise
        return self

    def write(
        self, values: ArrayLike, scores: ArrayLike | None = None, *, probabilities: ArrayLike | None = None,
        kept: Mapping[str, Any] | None = None, unscored: NDArray[np.bool_] | None = None,
    ) -> None:  # fmt: skip
        """Append a chunk: values and scores [n] or [n, k]; probabilities [n, classes]; kept columns [n].

        All chunks have the same columns. Rows that are `unscored` get no value.
        """
        assert self._sink is not None, "write inside a `with` block"
        plain = plain_values(self.path, values)
        matrices = {}
        for name, given in ((SCORES, scores), (PROBABILITIES, probabilities)):
            if given is not None:
                matrix = score_matrix(self.path, given, len(plain))
                matrices[name] = self._column_names(name, matrix.shape[1]), matrix
        chunk = Chunk(kept or {}, self.kind, plain, matrices, unscored)
        self._check_shape(chunk)
        with as_emit_error(self.path):
            try:
                self._sink.write(chunk)
            except UnicodeEncodeError as error:
                reason = f"a label cannot be written as UTF-8: {error.reason}"
                raise EmitError(f"{self.path}: {reason}") from None
            except ValueError as error:  # of arrow, where a kept column changes its type
                raise EmitError(f"{self.path}: {error}") from None

    def _column_names(self, name: str, count: int) -> tuple[str, ...]:
        given = self.names[name]
        return given if len(given) == count else tuple(f"{name[:-1]}_{at}" for at in range(count))

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

    def _check_shape(self, chunk: Chunk) -> None:
        columns = tuple(chunk.predicted())
        shape = chunk.values.dtype.kind, tuple(chunk.kept), columns
        if self._shape is None and (twice := set(chunk.kept) & set(columns)):
            raise OptionError(
                f"{self.path}: column {min(twice)!r} would be there twice, kept and predicted; "
                "rename it in the data or leave it out of --keep"
            )
        self._shape = self._shape or shape
        if shape != self._shape:
            raise EmitError(f"{self.path}: a chunk has other columns or types than the first one")


def plain_values(path: Path, values: ArrayLike) -> NDArray[Any]:
    """Bool, int, float or str, of one dimension or a column for each label or value of a row."""
    array = np.asarray(values)
    if array.dtype == object:
        array = np.array(array.tolist())
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufU":
        raise EmitError(f"{path}: predictions of type {array.dtype}, shape {array.shape} cannot be written")
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def score_matrix(path: Path, scores: ArrayLike, rows: int) -> NDArray[Any]:
    """Scores as [n, k]."""
    array = np.asarray(scores)
    matrix = array[:, None] if array.ndim == 1 else array
    if matrix.ndim != 2 or len(matrix) != rows or matrix.dtype.kind not in "iuf":
        raise EmitError(f"{path}: scores of shape {array.shape} do not fit {rows} predictions")
    return matrix

"""What predict-like calls accept: arrays, lists, DataFrames, sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError


def as_rows(data: Any, n_features: int, feature_names: tuple[str, ...] = ()) -> NDArray[np.floating[Any]]:
    """A float matrix [rows, n_features]; the input is never changed."""
    rows = data if type(data) is np.ndarray else _as_array(data, feature_names)
    if rows.dtype.char not in "fd":
        rows = _as_numbers(rows)
    if rows.ndim != 2:
        raise OptionError(
            f"expected a matrix of rows, got {rows.ndim} dimension(s); "
            "pass one row as [[...]] or use .reshape(1, -1)"
        )
    if rows.shape[1] != n_features:
        raise OptionError(f"rows have {rows.shape[1]} features, the model was trained with {n_features}")
    return rows


def table_rows(data: Any) -> tuple[NDArray[np.floating[Any]], tuple[str, ...]]:
    """Rows of any width as `as_rows` gives them, and the column names of a frame whose names are text."""
    columns = list(getattr(data, "columns", ()))
    names = tuple(columns) if columns and all(isinstance(name, str) for name in columns) else ()
    shape = np.shape(data)
    return as_rows(data, shape[1] if len(shape) == 2 else 0), names


def _as_array(data: Any, feature_names: tuple[str, ...]) -> NDArray[Any]:
    """Lists, frames and sparse matrices as an array."""
    if feature_names and hasattr(data, "columns") and hasattr(data, "to_numpy"):
        data = _in_order(data, feature_names)
    if hasattr(data, "toarray") and hasattr(data, "nnz"):  # any scipy sparse matrix or array
        data = data.toarray()
    try:
        return np.asarray(data)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the rows are not numbers: {error}") from None


def _as_numbers(rows: NDArray[Any]) -> NDArray[np.float64]:
    if rows.dtype.kind not in "biufO":  # text, dates and complex numbers would convert to something
        raise OptionError(f"the rows are not numbers but {rows.dtype}")
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the rows are not numbers: {error}") from None


def _in_order(frame: Any, feature_names: tuple[str, ...]) -> Any:
    """The frame's columns in the model's order; an error names what is missing or in excess."""
    columns = [str(column) for column in frame.columns]
    if columns == list(feature_names):
        return frame.to_numpy()
    missing = [name for name in feature_names if name not in columns]
    if missing or len(columns) != len(feature_names):
        unknown = [name for name in columns if name not in feature_names]
        raise OptionError(
            f"the columns do not match the model's features; missing {missing}, unknown {unknown}"
        )
    return frame.to_numpy()[:, [columns.index(name) for name in feature_names]]

"""What predict-like calls accept: arrays, lists, DataFrames (pandas, polars), sparse matrices.

Where the model knows the names of its features, a frame must have these columns in this order,
as scikit-learn demands it; a frame in another order is refused, never sorted silently. Columns
whose names are not text are taken by position, and so are rows without names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import NO_CATEGORIES, Categories, column_codes
from svmcompile.data.sparse import is_sparse, stays_sparse
from svmcompile.errors import MissingValueError, OptionError

FEW = 64
SHOWN = 10  # names listed in a message


def as_rows(
    data: Any,
    n_features: int,
    feature_names: tuple[str, ...] = (),
    categories: Categories = NO_CATEGORIES,
) -> NDArray[np.floating[Any]]:
    """A float matrix [rows, n_features]; the input is never changed. Text becomes the code of its category.

    Of a large sparse matrix it is a `Csr`, which stands for the array: it has its length, parts and types.
    """
    if categories and (columns := _columns_of(data, feature_names)):
        return _coded(columns, n_features, feature_names, categories)
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


def gaps(rows: NDArray[Any], may_miss: NDArray[np.bool_] | None = None) -> NDArray[np.bool_] | None:
    """Where rows hold NaN or an infinity, None if nowhere; NaN is fine in features that `may_miss`."""
    if hasattr(rows, "finite_rows") and rows.finite_rows().all():
        return None
    # Of a row alone Python adds up numbers before numpy has begun; overflow is a false alarm.
    if rows.size < FEW and math.isfinite(sum(rows.ravel().tolist())):
        return None
    found = np.asarray(~np.isfinite(rows))
    if may_miss is not None:
        found &= ~(np.isnan(rows) & may_miss)
    return found if found.any() else None


def check_complete(
    rows: NDArray[Any], names: tuple[str, ...] = (), may_miss: NDArray[np.bool_] | None = None
) -> None:
    """Refuse rows with NaN or an infinity, as scikit-learn does."""
    found = gaps(rows, may_miss)
    if found is not None:
        raise MissingValueError(
            f"{gap_text(rows, found, names)}; fill it in, or pass allow_nan=True to get what NaN gives in C"
        )


def gap_text(
    rows: NDArray[Any], found: NDArray[np.bool_], names: tuple[str, ...] = (), first: int = 0
) -> str:
    """Which row and column has the first gap; rows are counted from `first`."""
    row, column = (int(at) for at in np.argwhere(found)[0])
    kind = "missing (NaN)" if np.isnan(rows[row, column]) else "infinite"
    where = repr(names[column]) if names else f"{column} (counted from 0)"
    return f"row {row + first}, column {where}: the value is {kind}"


def table_rows(data: Any) -> tuple[NDArray[np.floating[Any]], tuple[str, ...]]:
    """Rows of any width as `as_rows` gives them, and the column names of a frame whose names are text."""
    columns = list(getattr(data, "columns", ()))
    names = tuple(columns) if columns and all(isinstance(name, str) for name in columns) else ()
    shape = np.shape(data)
    return as_rows(data, shape[1] if len(shape) == 2 else 0), names


def _as_array(data: Any, feature_names: tuple[str, ...]) -> NDArray[Any]:
    """Lists, frames and sparse matrices as an array."""
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        _check_columns(list(data.columns), feature_names)
        return _frame_values(data)
    if is_sparse(data):
        found: NDArray[Any] = _from_sparse(data)
        return found
    try:
        return np.asarray(data)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the rows are not numbers: {error}") from None


def _columns_of(data: Any, feature_names: tuple[str, ...]) -> list[Any] | None:
    """The columns of a frame or of an array of objects or texts; None of rows that hold codes already."""
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        _check_columns(list(data.columns), feature_names)
        at = data.iloc.__getitem__ if hasattr(data, "iloc") else data.__getitem__
        return [at((slice(None), column)) for column in range(len(data.columns))]
    if is_sparse(data) or getattr(getattr(data, "dtype", None), "kind", "O") in "biuf":
        return None
    if not hasattr(data, "dtype"):
        try:
            numbers = np.asarray(data).dtype.kind in "biuf"
        except ValueError:
            numbers = False
        data = data if numbers else np.array(data, dtype=object)
    return list(data.T) if getattr(data, "ndim", 0) == 2 else None


def _coded(
    columns: list[Any], n_features: int, names: tuple[str, ...], categories: Categories
) -> NDArray[np.float64]:
    """Columns side by side, those of text by their codes."""
    if len(columns) != n_features:
        raise OptionError(f"rows have {len(columns)} features, the model was trained with {n_features}")
    rows: NDArray[np.float64] = np.empty((len(columns[0]), n_features))
    for at, column in enumerate(columns):
        if text := categories.by_feature.get(at):
            values = column.to_list() if hasattr(column, "to_list") else column.tolist()
            rows[:, at] = column_codes(text, values, names)
        else:
            rows[:, at] = _as_numbers(_frame_values(column) if hasattr(column, "to_numpy") else column)
    return rows


def _from_sparse(data: Any) -> Any:
    """Large matrices stay sparse; what works on arrays alone makes one of some rows at a time."""
    if data.ndim == 2 and data.dtype.kind in "biuf" and stays_sparse(data.shape, data.nnz):
        from svmcompile.data.csr import canonical

        return canonical(data, np.float32 if data.dtype == np.float32 else np.float64)
    return np.asarray(data.toarray())


def _frame_values(frame: Any) -> NDArray[Any]:
    """The numbers of a frame; what is missing in a pandas column of its own kind is NaN."""
    values = np.asarray(frame.to_numpy())
    if values.dtype != object:
        return values
    try:
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):  # another kind of frame, or no numbers, which is told later
        return values


def _as_numbers(rows: NDArray[Any]) -> NDArray[np.float64]:
    if rows.dtype.kind not in "biufO":  # text, dates and complex numbers would convert to something
        raise OptionError(f"the rows are not numbers but {rows.dtype}")
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the rows are not numbers: {error}") from None


def _check_columns(columns: list[Any], feature_names: tuple[str, ...]) -> None:
    """Refuse a frame whose columns are not the model's features in the model's order."""
    if not feature_names or not all(isinstance(name, str) for name in columns):
        return
    if columns == list(feature_names):
        return
    missing = [name for name in feature_names if name not in columns]
    unknown = [name for name in columns if name not in feature_names]
    if missing or unknown or len(columns) != len(feature_names):
        raise OptionError(
            f"the columns do not match the model's features; missing {missing[:SHOWN]}, "
            f"unknown {unknown[:SHOWN]}; pass frame[list(model.feature_names)]"
        )
    place = next(i for i, name in enumerate(columns) if name != feature_names[i])
    raise OptionError(
        f"the columns are the model's features in another order: column {place} is {columns[place]!r}, "
        f"the model's is {feature_names[place]!r}; pass frame[list(model.feature_names)]"
    )


def side_by_side(found: Any) -> NDArray[Any]:
    """What a model gave, as an array: matrices of several targets stand side by side."""
    if isinstance(found, list) and found and getattr(found[0], "ndim", 1) == 2:
        return np.concatenate(found, axis=1)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

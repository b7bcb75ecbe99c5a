"""`.parquet`: named columns, read a batch of rows at a time by pyarrow (an optional extra)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data import table
from svmcompile.data.categories import TextColumn, column_codes
from svmcompile.errors import ReadError, ToolchainError
from svmcompile.extras import install

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # row numbers pandas stores, not a feature


def count_parquet(path: Path) -> int:
    """Rows of a `.parquet` file, by its footer."""
    arrow, parquet = import_arrow(path)
    with table.reading(path, arrow.ArrowException, ValueError), parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def parquet_parts(path: Path, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    """The file, a batch of rows at a time."""
    with opened(path, wanted) as (arrow, file):
        schema = file.schema_arrow
        names = _names(path, schema.names)
        columns = table.choose_columns(path, len(names), names, wanted)
        label = None if columns.label is None else names[columns.label]
        texts = wanted.categories.by_feature
        _check_types(path, schema, columns, label, texts)
        single = all(schema.field(name).type == arrow.float32() for name in columns.names)
        kept = [names[column] for column in columns.kept.values()]
        read = list(dict.fromkeys([*columns.names, *([] if label is None else [label]), *kept]))
        step, done = table.rows_per_chunk(chunk_rows, len(names)), 0
        for batch in file.iter_batches(batch_size=step, columns=read):
            X = _matrix(batch, columns, np.float32 if single else np.float64, texts)
            for at, text in texts.items():
                values = values_of(batch.column(columns.names[at]))
                X[:, at] = column_codes(text, values, columns.names, done, f"{path}: ")
            done += len(X)
            carried = {name: _sound(batch.column(names[column])) for name, column in columns.kept.items()}
            labels = None if label is None else _labels(path, batch, label)
            yield table.Part(X, labels, columns.names, carried)


@contextmanager
def opened(path: Path, wanted: table.Wanted) -> Iterator[tuple[Any, Any]]:
    """pyarrow, and the file; text that repeats stands once in memory, as it does in the file."""
    arrow, parquet = import_arrow(path)
    with table.reading(path, arrow.ArrowException, ValueError):
        repeated = [name for name in parquet.read_schema(path).names if name not in wanted.keep]
        with parquet.ParquetFile(path, read_dictionary=repeated) as file:
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            table.check_growth(path, sum(group.total_byte_size for group in groups))
            yield arrow, file


def import_arrow(path: Path) -> tuple[Any, Any]:
    """pyarrow and its Parquet module, or the command that installs them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ToolchainError(f"{path}: Parquet needs pyarrow; run: {install('arrow')}") from None
    return pyarrow, pyarrow.parquet


def _names(path: Path, stored: list[str]) -> tuple[str, ...]:
    names = tuple(name for name in stored if not PANDAS_INDEX.fullmatch(name))
    if len(set(names)) != len(names):
        raise ReadError(f"{path}: a column name appears twice")
    return names


def _check_types(
    path: Path, schema: Any, columns: table.Columns, label: str | None, texts: Mapping[int, TextColumn]
) -> None:
    from pyarrow import types

    for at, name in enumerate(columns.names):
        kind = schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if text := texts.get(at):
            fits = types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)
            if text.names and not fits:
                raise ReadError(f"{path}: column {name!r} holds {kind}; the model takes text there")
            continue
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            hint = "" if label else f"; if it holds the labels, add --label {name}"
            raise ReadError(f"{path}: column {name!r} holds {kind}; rows must be numbers{hint}")
    if label is not None:
        kind = schema.field(label).type
        plain = kind.value_type if types.is_dictionary(kind) else kind
        kinds = ("integer", "floating", "boolean", "string", "large_string")
        if not any(getattr(types, f"is_{name}")(plain) for name in kinds):
            raise ReadError(f"{path}: label column {label!r} holds {kind}; labels must be numbers or text")


def _matrix(
    batch: Any, columns: table.Columns, dtype: type[np.floating[Any]], texts: Container[int]
) -> NDArray[np.floating[Any]]:
    """The features side by side; a null becomes NaN. Those that are text are left out."""
    matrix = np.empty((batch.num_rows, len(columns.names)), dtype)
    for at, name in enumerate(columns.names):
        if at in texts:
            continue
        column = batch.column(name)
        if column.null_count or column.type == "bool":
            column = column.cast("float64", safe=False)
        matrix[:, at] = column.to_numpy(zero_copy_only=False)
    return matrix


def _sound(column: Any) -> Any:
    """A column whose places in its dictionary exist, and whose text is UTF-8."""
    column.validate(full=True)
    return column


def values_of(column: Any) -> list[Any]:
    """A column of a batch; equal texts of a dictionary are one object."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    known = _sound(column).dictionary.to_pylist()
    return [None if at is None else known[at] for at in column.indices.to_pylist()]


def _labels(path: Path, batch: Any, label: str) -> NDArray[Any]:
    column = batch.column(label)
    if column.null_count:
        raise ReadError(f"{path}: label column {label!r} holds nulls; every row needs a label")
    coded = hasattr(_sound(column), "dictionary")
    values: Any = (column.dictionary if coded else column).to_numpy(zero_copy_only=False)
    if values.dtype == object:
        texts = [table.check_label_length(str(path), text) for text in values.tolist()]
        values = np.array(texts, dtype=np.str_)
    places = column.indices.to_numpy() if coded else slice(None)
    return np.array(values[places])  # to_numpy gives a read-only view where it can

"""CSV files by pyarrow, where it is installed: as fast as its reader, and as strict as ours.

Fields of features are parsed as Python parses floats. Anything else (an empty field, a line of another
length, odd quotes) ends in `NotRead`, and the careful parser takes over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.data import table
from svmcompile.data.categories import UNKNOWN, TextColumn
from svmcompile.data.csv_layout import MISSING, Layout

BLOCK_BYTES = 1 << 22


class NotRead(Exception):
    """pyarrow is not there, or cannot read on."""


def arrow_parts(path: Path, layout: Layout, wanted: table.Wanted, step: int) -> Iterator[table.Part]:
    """The file, at most `step` rows at a time."""
    arrow, module = _import()
    if layout.header_lines > 1:
        raise NotRead  # names over several lines: left to the careful parser
    with table.open_bytes(path) as stream, _faults(arrow):
        for batch in _batches(module, stream, layout, wanted):
            for at in range(0, batch.num_rows, step):
                yield _part(batch.slice(at, step), layout, wanted)


def _import() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        raise NotRead from None
    return pyarrow, pyarrow.csv


@contextmanager
def _faults(arrow: Any) -> Iterator[None]:
    try:
        yield
    except arrow.ArrowException:
        raise NotRead from None


def _batches(module: Any, stream: Any, layout: Layout, wanted: table.Wanted) -> Any:
    """Batches of columns that are called by their positions."""
    columns = layout.columns
    coded = {columns.features[at] for at in wanted.categories.by_feature}
    text = {*columns.kept.values(), *(() if columns.label is None else (columns.label,))}
    doubled = text & set(columns.features) - coded
    types = {str(column): "float64" for column in columns.features}
    text |= coded
    if doubled:
        raise NotRead  # a feature that is kept is wanted as text and as a number
    types |= {str(column): "string" for column in text}
    return module.open_csv(
        stream,
        module.ReadOptions(
            column_names=[str(column) for column in range(layout.width)],
            skip_rows=layout.header_lines,
            block_size=BLOCK_BYTES,
        ),
        module.ParseOptions(
            delimiter=layout.separator,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted,
        ),
        module.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            decimal_point=layout.decimal,
            null_values=list(MISSING) if wanted.missing else [],
            strings_can_be_null=False,
        ),
    )


def _part(batch: Any, layout: Layout, wanted: table.Wanted) -> table.Part:
    import pyarrow.compute as compute

    columns = layout.columns
    matrix, texts_of = np.empty((batch.num_rows, len(columns.features))), wanted.categories.by_feature
    for at, column in enumerate(columns.features):
        found = batch.column(str(column))
        matrix[:, at] = (
            text_codes(found, texts_of[at]) if at in texts_of else found.to_numpy(zero_copy_only=False)
        )
    coded = [columns.features[at] for at in texts_of]
    for column in (*columns.kept.values(), *coded, *(() if columns.label is None else (columns.label,))):
        texts = batch.column(str(column))
        if not layout.quoted and compute.any(compute.match_substring(texts, '"')).as_py():
            raise NotRead  # quotes after all
    labels = None
    if columns.label is not None:
        labels = batch.column(str(columns.label)).to_pylist()
        if any(not text.strip() or len(text) > table.MAX_LABEL for text in labels):
            raise NotRead  # the careful parser says where
    kept = {name: batch.column(str(column)) for name, column in columns.kept.items()}
    return table.Part(matrix, labels, columns.names, kept)


def text_codes(texts: Any, column: TextColumn) -> Any:
    """The codes of a column of texts; one that must be told as an error ends in `NotRead`."""
    told = texts if hasattr(texts, "indices") else texts.dictionary_encode()
    codes = np.array(
        [column.field_code(one) for one in told.dictionary.to_pylist()] + [column.field_code(None)]
    )
    found = codes[told.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)]
    if column.strict and (found == UNKNOWN).any():
        raise NotRead  # the careful parser says where
    return found

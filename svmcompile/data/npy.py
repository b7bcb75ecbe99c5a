"""`.npy` and `.npz`: numpy's own files, never unpickled.

The size a header claims is compared with the bytes there are before anything is allocated.
"""

from __future__ import annotations

import math
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data import table
from svmcompile.data.arrays import Header, read_header
from svmcompile.errors import ReadError

# what numpy and the zip module are known to raise on broken input
FAULTS = (
    ValueError, TypeError, SyntaxError, KeyError, EOFError, RecursionError, OverflowError, RuntimeError,
    NotImplementedError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
LABELS = "y"  # the array of an .npz that holds labels unless --label names another


def count_npy(path: Path) -> int:
    """Rows of a `.npy` file, by its header."""
    with table.reading(path, *FAULTS), path.open("rb") as stream:
        return _matrix_header(str(path), stream, path.stat().st_size).shape[0]


def count_npz(path: Path) -> int:
    """Rows of a `.npz` file, by the header of X."""
    with table.reading(path, *FAULTS), zipfile.ZipFile(path) as archive:
        info = _member(path, archive, "X")
        with archive.open(info) as stream:
            return _matrix_header(f"{path}: X", stream, info.file_size).shape[0]


def npy_parts(path: Path, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    """A `.npy` matrix by memory map; `--label` is the index of a column."""
    with table.reading(path, *FAULTS):
        with path.open("rb") as stream:
            header = _matrix_header(str(path), stream, path.stat().st_size)
        rows, width = header.shape
        columns = table.choose_columns(path, width, (), wanted)
        order = "F" if header.fortran else "C"
        stored = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)  # type: ignore[call-overload]
        step = table.rows_per_chunk(chunk_rows, width)
        for start in range(0, rows, step):
            yield split_columns(np.array(stored[start : start + step], order="C"), columns)


def read_npz(path: Path, wanted: table.Wanted) -> table.Data:
    """X and, where there is one, y; `--label` names another array than y, or a column of X."""
    with table.reading(path, *FAULTS), zipfile.ZipFile(path) as archive:
        X = _load(path, archive, "X")
        key = _label_key(archive, wanted)
        y = None if key is None else _load(path, archive, key)
        if y is not None and y.shape[:1] != X.shape[:1]:
            raise ReadError(f"{path}: {key} has shape {y.shape}, expected {X.shape[:1]} for X {X.shape}")
        inside = replace(wanted, label=wanted.label if key is None else None, keep=())
        part = split_columns(X, table.choose_columns(path, X.shape[1], (), inside))
        kept = {name: _load(path, archive, name) for name in wanted.keep}
        for name, array in kept.items():
            if array.shape != X.shape[:1]:
                raise ReadError(f"{path}: {name} has shape {array.shape}, expected {X.shape[:1]}")
        return table.Data(part.X, part.labels if y is None else y, (), kept)  # type: ignore[arg-type]


def split_columns(rows: NDArray[Any], columns: table.Columns) -> table.Part:
    """Features and label of a matrix."""
    if len(columns.features) == rows.shape[1]:
        return table.Part(table.float_matrix(rows))
    kept = {name: table.whole_numbers(rows[:, column]) for name, column in columns.kept.items()}
    labels = None if columns.label is None else table.whole_numbers(rows[:, columns.label])
    return table.Part(table.float_matrix(rows[:, list(columns.features)]), labels, (), kept)


def _label_key(archive: zipfile.ZipFile, wanted: table.Wanted) -> str | None:
    """The array that holds the labels, or None if they are a column of X or absent."""
    key = wanted.label or LABELS
    return key if f"{key}.npy" in archive.namelist() else None


def _load(path: Path, archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    info = _member(path, archive, key)
    with archive.open(info) as stream:
        check_header = _matrix_header if key == "X" else _label_header
        header = check_header(f"{path}: {key}", stream, info.file_size)
        table.check_growth(path, header.n_bytes)
        array = np.empty(math.prod(header.shape), header.dtype)
        _fill(stream, array.view(np.uint8).data)
        stream.read()  # to the end, so that the checksum is compared
    _check_text(array)
    array = array.astype(header.dtype.newbyteorder("="), copy=False)
    return array.reshape(header.shape, order="F" if header.fortran else "C")


def _member(path: Path, archive: zipfile.ZipFile, key: str) -> zipfile.ZipInfo:
    names = [name.removesuffix(".npy") for name in archive.namelist()]
    if key not in names:
        raise ReadError(f"{path}: holds no array {key!r}; it has: {', '.join(names[:10]) or 'nothing'}")
    info = archive.getinfo(f"{key}.npy")
    # other methods pack without bound, and numpy never writes them
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ReadError(f"{path}: {key} is packed in a way numpy does not use; save it with numpy.savez")
    return info


def _check_text(array: NDArray[Any]) -> None:
    """Text must be characters that exist; numpy itself would fail later, when they are used."""
    if array.dtype.kind == "U":
        codes = array.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise ValueError("text with impossible characters")


def _fill(stream: IO[bytes], target: memoryview) -> None:
    while target:
        count = stream.readinto(target[: 1 << 24])  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the file ends early")
        target = target[count:]


def _matrix_header(where: str, stream: IO[bytes], size: int) -> Header:
    header = _header(where, stream, size)
    if header.dtype.kind not in "fiub":
        raise ReadError(f"{where}: holds {_kind(header.dtype)}; rows must be numbers")
    if len(header.shape) != 2:
        raise ReadError(f"{where}: has shape {header.shape}; expected a matrix [rows, features]")
    if not all(header.shape):
        raise ReadError(f"{where}: holds no {'rows' if not header.shape[0] else 'features'}")
    return header


def _label_header(where: str, stream: IO[bytes], size: int) -> Header:
    header = _header(where, stream, size)
    if header.dtype.kind not in "fiubU" or len(header.shape) not in (1, 2) or not all(header.shape[1:]):
        raise ReadError(
            f"{where}: holds {_kind(header.dtype)} of shape {header.shape}; labels must be numbers or str, "
            "one for each row or a column for each label of a row"
        )
    return header


def _header(where: str, stream: IO[bytes], size: int) -> Header:
    """The header, if the bytes it claims are there; `size` counts the header as well."""
    try:
        header = read_header(stream)
    except ValueError as error:
        raise ReadError(f"{where}: cannot be read: {error}") from None
    if header.dtype.hasobject:
        raise ReadError(
            f"{where}: holds Python objects, which need unpickling and are refused; "
            "save numbers, and text labels as str, e.g. y.astype(str)"
        )
    if header.dtype.itemsize == 0:
        raise ReadError(f"{where}: impossible header: shape {header.shape}, type {header.dtype}")
    if header.n_bytes > size - header.offset:
        raise ReadError(
            f"{where}: claims {header.n_bytes} bytes of numbers, {size - header.offset} are there"
        )
    return header


def _kind(dtype: np.dtype[Any]) -> str:
    return {"U": "text", "S": "bytes", "c": "complex numbers", "V": "records"}.get(dtype.kind, str(dtype))

"""Parts: pieces of a file as its format yields them, before labels have their final type.

Files are read through joblib, so the processes or the cluster that joblib is set up for read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.table import Data, check_growth, typed_labels
from svmcompile.errors import ReadError

Matrix = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows; labels as text where the file stores text."""

    X: Matrix
    labels: list[str] | NDArray[Any] | None = None
    names: tuple[str, ...] = ()


def as_data(part: Part) -> Data:
    """One part on its own: its labels are typed by what this part holds."""
    labels = typed_labels(part.labels) if isinstance(part.labels, list) else part.labels
    return Data(part.X, labels, part.names)


def some_rows(path: Path, parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, of which there must be at least one."""
    empty = True
    for part in parts:
        empty = False
        yield part
    if empty:
        raise ReadError(f"{path}: holds no rows")


def join(path: Path, parts: Iterable[Part]) -> Data:
    """All parts as one, labels typed over the whole file."""
    found: list[Part] = []
    total = 0
    for part in some_rows(path, parts):
        total += part.X.nbytes
        check_growth(path, total)
        found.append(part)
    if len(found) == 1:
        return as_data(found[0])
    return as_data(Part(np.concatenate([part.X for part in found]), _joined_labels(found), found[0].names))


def _joined_labels(parts: list[Part]) -> list[str] | NDArray[Any] | None:
    if parts[0].labels is None:
        return None
    if isinstance(parts[0].labels, list):
        return [label for part in parts for label in part.labels or ()]
    return np.asarray(np.concatenate([part.labels for part in parts if part.labels is not None]))


def float_matrix(array: NDArray[Any]) -> Matrix:
    """A native C-ordered copy or view: float32 where stored so, else float64."""
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4
    result: Matrix = np.ascontiguousarray(array, dtype=np.float32 if single else np.float64)
    return result

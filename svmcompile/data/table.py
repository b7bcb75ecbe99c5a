"""Data: rows, labels and names of features; and the parts of a file it is put together from.

A tiny file must not cause a huge allocation, whatever its header claims, so:
- a file may have at most MAX_FEATURES features;
- the array read from a file of n bytes may take FREE_BYTES or GROWTH * n bytes, whichever is more;
- a chunk takes at most CHUNK_BYTES (or one row), so it may have fewer rows than asked for;
- labels count as well, and a text label has at most MAX_LABEL characters, because numpy gives every label
  the room of the longest.

A file's width and column names enter, with what the caller wants; column positions leave.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import NO_CATEGORIES, Categories
from svmcompile.data.sparse import check_dense, is_sparse, stays_sparse
from svmcompile.errors import OptionError, ReadError, SvmCompileError

MAX_FEATURES = 1 << 24
CHUNK_BYTES = 1 << 27
FREE_BYTES = 1 << 28
GROWTH = 1100  # just above the best ratio deflate can reach, so no honest .npz is refused
MAX_LABEL = 256
EXACT = 2.0**53  # whole floats below this are exact integers
BOOLEANS = {"true": True, "false": False}
SHOWN = 10  # names listed in a message before it is cut
FAULTS_OF_GZIP: tuple[type[Exception], ...] = (EOFError, zlib.error)
Matrix = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of features with optional labels."""

    X: Any  # [n, d]: an array of floats, or a `Csr` where that is large and mostly zeros
    y: NDArray[Any] | None = None
    feature_names: tuple[str, ...] = ()
    kept: Mapping[str, Any] = field(default_factory=dict)  # columns carried along: lists, numpy or arrow

    def take(self, rows: NDArray[np.intp]) -> Data:
        """Some of the rows, by number."""
        return Data(self.X[rows], None if self.y is None else self.y[rows], self.feature_names)

    def dense(self, what: str) -> Data:
        """The same with an array of rows, as `what` needs; an error where that is too large."""
        if isinstance(self.X, np.ndarray):
            return self
        check_dense(self.X.shape, f"{what} works on dense rows, and these", "give fewer rows (--rows)")
        return replace(self, X=np.asarray(self.X))


def check_growth(path: Path, n_bytes: int) -> None:
    """Refuse an array out of all proportion to its file."""
    if n_bytes > max(FREE_BYTES, GROWTH * path.stat().st_size):
        raise ReadError(
            f"{path}: would take {n_bytes / 1e9:.1f} GB in memory, far more than its size on disk allows; "
            "check the sizes and feature indices in it"
        )


def open_bytes(path: Path) -> IO[bytes]:
    """A file of text, unpacked where it is a gzip file."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    opened: Any = gzip.GzipFile(path) if packed else path.open("rb")
    return opened  # type: ignore[no-any-return]


def rows_per_chunk(chunk_rows: int, width: int) -> int:
    """How many rows of that many float64 features a chunk may have."""
    return max(1, min(chunk_rows, CHUNK_BYTES // (8 * max(width, 1))))


def check_label_length(where: str, label: str) -> str:
    """The label, if it is not absurdly long."""
    if len(label) > MAX_LABEL:
        raise ReadError(f"{where}: a label of {len(label)} characters; at most {MAX_LABEL} are allowed")
    return label


@contextmanager
def reading(path: Path, *faults: type[Exception]) -> Iterator[None]:
    """Turn what the system (or a format's own `faults`) reports into a `ReadError` with the path."""
    try:
        yield
    except SvmCompileError:  # is told already
        raise
    except UnicodeDecodeError:
        raise ReadError(f"{path}: is not UTF-8 text") from None
    except MemoryError:
        raise ReadError(f"{path}: does not fit into memory") from None
    except FAULTS_OF_GZIP + faults as error:
        raise ReadError(f"{path}: cannot be read: {str(error).strip() or type(error).__name__}") from None
    except FileNotFoundError:
        raise ReadError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror or str(error).strip()}") from None


def typed_labels(raw: list[str]) -> NDArray[Any]:
    """Whole numbers as int64, other numbers as float64, true/false as bool, anything else as text."""
    for convert in (_integers, _numbers, _booleans):
        try:
            return convert(raw)
        except (ValueError, OverflowError, KeyError):
            continue
    return np.array(raw, dtype=np.str_)


def whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Floats as int64 if all are whole; other arrays as they are."""
    if values.dtype.kind != "f" or not values.size:
        return values
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) < EXACT) & (values == np.floor(values))
    return values.astype(np.int64) if whole.all() else values


def number(text: str) -> float:
    """A float from plain ASCII; Python alone would also take `1_000` and other scripts' digits."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _integers(raw: list[str]) -> NDArray[Any]:
    if any("_" in text or not text.isascii() for text in raw):
        raise ValueError("not plain numbers")
    return np.array([int(text) for text in raw], dtype=np.int64)


def _numbers(raw: list[str]) -> NDArray[Any]:
    return whole_numbers(np.array([number(text) for text in raw], dtype=np.float64))


def _booleans(raw: list[str]) -> NDArray[Any]:
    return np.array([BOOLEANS[text.strip().lower()] for text in raw], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller knows of a file, and what is wanted of it."""

    label: str | None = None  # the label column
    n_features: int | None = None
    feature_names: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()  # columns to carry along
    ignore_extra: bool = False  # leave out named columns that are no features
    with_labels: bool = True  # else the label column is left out
    missing: bool = False  # empty fields of text are missing values, not errors
    takes_text: bool = False  # a column of text is wanted, not features
    text: str | None = None  # that column; None: find it
    base: int | None = None  # the first index of a LIBSVM file, 0 or 1; None: decide
    separator: str | None = None  # of a CSV file; None: decide
    decimal: str | None = None  # its decimal point; None: decide
    categories: Categories = NO_CATEGORIES  # of features that are text
    sparse: bool = False  # large rows of a LIBSVM file may stay sparse

    def __post_init__(self) -> None:
        if self.n_features is not None and not 1 <= self.n_features <= MAX_FEATURES:
            raise OptionError(f"n_features must be between 1 and {MAX_FEATURES}, got {self.n_features}")
        if self.feature_names and self.n_features not in (None, len(self.feature_names)):
            raise OptionError(f"{len(self.feature_names)} feature names for {self.n_features} features")

    @property
    def width(self) -> int | None:
        """The number of features, where known."""
        return len(self.feature_names) or self.n_features


@dataclass(frozen=True, slots=True)
class Columns:
    """Positions in the file: features in the model's order, and the label."""

    features: tuple[int, ...]
    label: int | None
    names: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


def choose_columns(path: Path, width: int, names: tuple[str, ...], wanted: Wanted) -> Columns:
    """The columns to read; `names` is empty where the file has none."""
    label = None if wanted.label is None else find_column(path, width, names, wanted.label, "the label")
    kept = {name: find_column(path, width, names, name, "--keep") for name in wanted.keep}
    features_of_model = set(wanted.feature_names)
    known = {column for column, name in enumerate(names) if name in features_of_model}
    left = {label, *kept.values()} - known | {label}
    features = [column for column in range(width) if column not in left]
    if not features:
        raise ReadError(f"{path}: has no feature columns")
    if names and wanted.feature_names:
        features = _in_model_order(path, names, features, wanted)
    elif wanted.width is not None and len(features) != wanted.width:
        raise ReadError(f"{path}: {_miscount(len(features), wanted)}")
    given = tuple(names[column] for column in features) if names else ()
    return Columns(tuple(features), label if wanted.with_labels else None, given, kept)


def _miscount(count: int, wanted: Wanted) -> str:
    """Too many or too few columns, and what may be the cure."""
    hint = ""
    if wanted.ignore_extra:
        hint = "; --ignore-extra goes by names, and the model or the file has none"
    elif wanted.label is None and count - 1 == wanted.width:
        hint = "; if one column holds the labels, name it with --label"
    return f"has {count} feature columns, the model has {wanted.width} features{hint}"


def find_column(path: Path, width: int, names: tuple[str, ...], column: str, what: str) -> int:
    """A column's position, by name first, then by 0-based index (negative from the end)."""
    if names.count(column) > 1:
        raise OptionError(f"{path}: column {column!r} appears twice; give {what} by its index")
    if column in names:
        return names.index(column)
    index = column_index(column)
    if index is not None and -width <= index < width:
        return index % width
    known = f"columns: {_listed(names)}" if names else "it has no column names"
    raise OptionError(
        f"{path}: no column {column!r} for {what}; {known}, indices run from 0 to {width - 1}"
    )


def column_index(label: str) -> int | None:
    """The label option as an index, if it is one."""
    digits = label[1:] if label.startswith("-") else label
    return int(label) if digits.isdecimal() and len(digits) < 10 else None


def _in_model_order(path: Path, names: tuple[str, ...], features: list[int], wanted: Wanted) -> list[int]:
    place = {names[column]: column for column in reversed(features)}
    present, model = Counter(names[column] for column in features), set(wanted.feature_names)
    missing = [name for name in wanted.feature_names if name not in present]
    unknown = [name for name in present if name not in model]
    twice = [name for name in wanted.feature_names if present[name] > 1]
    problems = [f"missing {_listed(missing)}"] if missing else []
    problems += [f"unknown {_listed(unknown)}"] if unknown and not wanted.ignore_extra else []
    problems += [f"twice {_listed(twice)}"] if twice else []
    if problems:
        hint = "; the file needs every column that the model was trained on" if missing else ""
        if unknown and not missing and not wanted.ignore_extra:
            hint = "; --ignore-extra leaves out columns that the model does not know"
            if len(unknown) == 1 and wanted.label is None:
                hint += f"; if it holds the labels, add --label {unknown[0]}"
        raise ReadError(f"{path}: columns do not match the model's features: {', '.join(problems)}{hint}")
    return [place[name] for name in wanted.feature_names]


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows; labels as text where the file stores text."""

    X: Any  # an array, or a `Csr`
    labels: list[str] | NDArray[Any] | None = None
    names: tuple[str, ...] = ()
    kept: Mapping[str, Any] = field(default_factory=dict)


def as_data(part: Part) -> Data:
    """One part on its own: its labels are typed by what this part holds."""
    labels = typed_labels(part.labels) if isinstance(part.labels, list) else part.labels
    return Data(settled(part.X), labels, part.names, part.kept)


def settled(X: Any) -> Any:
    """Rows that are not worth keeping sparse as an array."""
    return X.toarray() if is_sparse(X) and not stays_sparse(X.shape, X.nnz) else X


def below_each_other(parts: list[Any]) -> Any:
    """Rows of several parts."""
    if not any(map(is_sparse, parts)):
        return np.concatenate(parts)
    from svmcompile.data.csr import stacked

    return stacked(parts)


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
    total = rows = longest = 0
    for part in some_rows(path, parts):
        total += _bytes(part.X)
        rows, longest = rows + len(part.X), max(longest, _longest(part.labels))
        check_growth(path, total + rows * longest)
        found.append(part)
    if len(found) == 1:
        return as_data(found[0])
    X = below_each_other([part.X for part in found])
    return as_data(Part(X, _joined_labels(found), found[0].names))


def _bytes(X: Any) -> int:
    """What rows take; texts that are the same object count once."""
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes)
    texts = {id(text): text for text in X}.values() if X.dtype == object else ()
    return int(X.nbytes) + sum(map(sys.getsizeof, texts))


def _longest(labels: list[str] | NDArray[Any] | None) -> int:
    """Bytes that each label takes in an array of all; numpy gives text the room of the longest."""
    if labels is None:
        return 0
    return 4 * max(map(len, labels), default=0) if isinstance(labels, list) else labels.itemsize


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

"""Reading data files: which format, rows in chunks, and folders of files that belong together.

Files are read through joblib, so the processes or the cluster that joblib is set up for read them.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from svmcompile.data.csv_text import csv_parts
from svmcompile.data.libsvm_text import decide_base, index_range, libsvm_parts
from svmcompile.data.npy import count_npy, count_npz, npy_parts, read_npz
from svmcompile.data.parquet import count_parquet, parquet_parts
from svmcompile.data.sparse import is_sparse
from svmcompile.data.table import (
    Data,
    Part,
    Wanted,
    as_data,
    below_each_other,
    join,
    open_bytes,
    reading,
    settled,
    some_rows,
)
from svmcompile.data.texts import text_parts
from svmcompile.errors import OptionError, ReadError

Format = Literal["npy", "npz", "csv", "libsvm", "parquet"]
SUFFIXES: dict[str, Format] = {f".{name}": name for name in get_args(Format)} | {
    ".svmlight": "libsvm",
    ".tsv": "csv",
}
PACKED = ".gz"  # after the suffix of a text file
KNOWN = ", ".join(SUFFIXES)
SNIFFED = 1 << 16  # bytes looked at for the first line of a file with another suffix
CHUNK_ROWS = 65536
PARTS: dict[Format, Callable[[Path, Wanted, int], Iterator[Part]]] = {
    "npy": npy_parts,
    "csv": csv_parts,
    "libsvm": libsvm_parts,
    "parquet": parquet_parts,
}
COUNTS: dict[Format, Callable[[Path], int]] = {"npy": count_npy, "npz": count_npz, "parquet": count_parquet}


def detect(path: Path) -> Format:
    """The format, or a `ReadError` that lists the known ones."""
    with reading(path):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ReadError(f"{path}: is not a plain file")
        head, tail = _ends(path)
    if not head:
        raise ReadError(f"{path}: is empty")
    suffix = SUFFIXES.get(suffix_of(path))
    found = _by_content(head, tail, suffix)
    if found:
        return found
    if suffix in ("npy", "npz", "parquet"):
        raise ReadError(f"{path}: is not a {path.suffix.lower()} file: its first bytes are wrong")
    return suffix or _by_first_line(path, head)


def suffix_of(path: Path) -> str:
    """The suffix that tells the format; that of gzip left aside."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == PACKED else suffix


def _ends(path: Path) -> tuple[bytes, bytes]:
    with open_bytes(path) as stream:
        head = stream.read(SNIFFED)
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 4))
        return head, stream.read(4)


def _by_content(head: bytes, tail: bytes, suffix: Format | None) -> Format | None:
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    # a CSV header may well start with PAR1, so text files need the closing mark as well
    if head.startswith(b"PAR1") and (tail == b"PAR1" or suffix == "parquet"):
        return "parquet"
    return None


def _by_first_line(path: Path, head: bytes) -> Format:
    """LIBSVM text is a label and `index:value` pairs; a separator makes it CSV."""
    lines = (line.split(b"#")[0] for line in head.splitlines())
    line = next((line for line in lines if line.strip()), b"")
    label, *pairs = line.split() or [b""]
    if pairs and b":" not in label and all(b":" in pair for pair in pairs[:-1] or pairs):
        return "libsvm"
    if any(mark in line for mark in (b",", b";", b"\t")) and b"\0" not in head:
        return "csv"
    raise ReadError(f"{path}: unknown file extension; supported: {KNOWN}, and text packed as {PACKED}")


def read_data(path: Path | str, **wanted: Any) -> Data:
    """The whole file; keywords are the fields of `Wanted`.

    `label` names the label column (or gives its 0-based index, negative from the end); `n_features` and
    `feature_names` are the model's, which the file must then match. Named columns are put in that order.
    A fault of the file is a `ReadError`, one of the options an `OptionError`.
    """
    path, asked = Path(path), Wanted(**wanted)
    format = detect(path)
    if format == "npz" and not asked.takes_text:
        return read_npz(path, asked)
    return join(path, _parts(path, format, asked, CHUNK_ROWS))


def iter_data(path: Path | str, *, chunk_rows: int = CHUNK_ROWS, **wanted: Any) -> Iterator[Data]:
    """The file in chunks of at most `chunk_rows` rows (fewer where rows are very wide), in bounded memory.

    Keywords as for `read_data`. Labels that are text in the file get their type chunk by chunk. An `.npz`
    file is read whole, then cut.
    """
    if chunk_rows < 1:
        raise OptionError(f"chunk_rows must be at least 1, got {chunk_rows}")
    path, asked = Path(path), Wanted(**wanted)
    return _chunks(path, detect(path), asked, chunk_rows)


def _parts(path: Path, format: Format, wanted: Wanted, chunk_rows: int) -> Iterator[Part]:
    if wanted.takes_text:
        return text_parts(path, format, wanted, chunk_rows)
    return PARTS[format](path, wanted, chunk_rows)


def _chunks(path: Path, format: Format, wanted: Wanted, chunk_rows: int) -> Iterator[Data]:
    if format != "npz" or wanted.takes_text:
        yield from map(as_data, some_rows(path, _parts(path, format, wanted, chunk_rows)))
        return
    data = read_npz(path, wanted)
    for start in range(0, len(data.X), chunk_rows):
        rows = slice(start, start + chunk_rows)
        kept = {name: array[rows] for name, array in data.kept.items()}
        yield Data(data.X[rows], None if data.y is None else data.y[rows], data.feature_names, kept)


def count_rows(path: Path | str) -> int | None:
    """How many rows the file has, where that is cheap to say."""
    path = Path(path)
    count = COUNTS.get(detect(path))
    return count(path) if count else None


def partition_files(path: Path | str) -> list[Path]:
    """The data files of a folder, by name; a file is its own only partition."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(item for item in path.iterdir() if suffix_of(item) in SUFFIXES and item.is_file())
    if not files:
        raise ReadError(f"{path}: the folder holds no data files; expected {KNOWN}")
    return files


def common_base(files: list[Path], where: str, **wanted: Any) -> int | None:
    """The first index that all LIBSVM files of a folder share; None where there are none."""
    texts, asked = [file for file in files if detect(file) == "libsvm"], Wanted(**wanted)
    if not texts or asked.base is not None:
        return asked.base
    return decide_base(where, index_range(texts), asked)


def read_partitions(path: Path | str, **wanted: Any) -> Data:
    """All files of a folder as one; where joblib is set up for many processes, each reads some."""
    from joblib import Parallel, delayed

    files = [file.resolve() for file in partition_files(path)]
    wanted["base"] = common_base(files, str(path), **wanted)
    return joined(files, list(Parallel()(delayed(read_data)(file, **wanted) for file in files)))


def joined(files: list[Path], parts: list[Data]) -> Data:
    """One below the other; files of the LIBSVM format may end in features that are zero throughout."""
    for file, part in zip(files, parts, strict=True):
        if part.feature_names != parts[0].feature_names:
            raise ReadError(f"{file}: has other columns than {files[0].name}")
        if (part.y is None) != (parts[0].y is None):
            raise ReadError(f"{file}: has labels and {files[0].name} has not, or the other way round")
    width = max(part.X.shape[1] for part in parts)
    for file, part in zip(files, parts, strict=True):
        if part.X.shape[1] < width and SUFFIXES.get(suffix_of(file)) != "libsvm":
            raise ReadError(f"{file}: has {part.X.shape[1]} features, other files have {width}")
    X = settled(below_each_other([_widened(part.X, width) for part in parts]))
    labels = [part.y for part in parts if part.y is not None]
    return Data(X, np.concatenate(labels) if labels else None, parts[0].feature_names)


def _widened(X: Any, width: int) -> Any:
    if X.shape[1] == width:
        return X
    if is_sparse(X):
        from svmcompile.data.csr import Csr

        return Csr((X.data, X.indices, X.indptr), shape=(len(X), width))
    return np.pad(X, ((0, 0), (0, width - X.shape[1])))

"""Which format a data file has: by content first, then by suffix, then by its first line."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Literal

from svmcompile.data.limits import reading
from svmcompile.errors import ReadError

Format = Literal["npy", "npz", "csv", "libsvm", "parquet"]
SUFFIXES: dict[str, Format] = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".parquet": "parquet",
}
KNOWN = ", ".join(SUFFIXES)
SNIFFED = 1 << 16  # bytes looked at for the first line of a file with another suffix


def detect(path: Path) -> Format:
    """The format, or a `ReadError` that lists the known ones."""
    with reading(path):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ReadError(f"{path}: is not a plain file")
        head, tail = _ends(path)
    if not head:
        raise ReadError(f"{path}: is empty")
    suffix = SUFFIXES.get(path.suffix.lower())
    found = _by_content(head, tail, suffix)
    if found:
        return found
    if suffix in ("npy", "npz", "parquet"):
        raise ReadError(f"{path}: is not a {path.suffix.lower()} file: its first bytes are wrong")
    return suffix or _by_first_line(path, head)


def _ends(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as stream:
        head = stream.read(SNIFFED)
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
    """LIBSVM text is a label and `index:value` pairs; a comma makes it CSV."""
    lines = (line.split(b"#")[0] for line in head.splitlines())
    line = next((line for line in lines if line.strip()), b"")
    tokens = line.split()
    if (
        len(tokens) > 1
        and b":" not in tokens[0]
        and all(b":" in token for token in tokens[1:-1] or tokens[1:])
    ):
        return "libsvm"
    if b"," in line and b"\0" not in head:
        return "csv"
    raise ReadError(f"{path}: the format cannot be told; use one of {KNOWN} and name the file so")

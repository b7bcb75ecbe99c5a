"""How much memory a file may ask for, and how a file's faults become `ReadError`.

A tiny file must not cause a huge allocation, whatever its header claims, so:
- a file may have at most MAX_FEATURES features;
- the array read from a file of n bytes may take FREE_BYTES or GROWTH * n bytes, whichever is more;
- a chunk takes at most CHUNK_BYTES (or one row), so it may have fewer rows than asked for;
- a text label has at most MAX_LABEL characters, because numpy gives every label the longest one's room.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from svmcompile.errors import ReadError

MAX_FEATURES = 1 << 24
CHUNK_BYTES = 1 << 27
FREE_BYTES = 1 << 28
GROWTH = 1100  # just above the best ratio deflate can reach, so no honest .npz is refused
MAX_LABEL = 256


def check_growth(path: Path, n_bytes: int) -> None:
    """Refuse an array out of all proportion to its file."""
    if n_bytes > max(FREE_BYTES, GROWTH * path.stat().st_size):
        raise ReadError(
            f"{path}: would take {n_bytes / 1e9:.1f} GB in memory, far more than its size on disk allows; "
            "check the sizes and feature indices in it"
        )


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
    except UnicodeDecodeError:
        raise ReadError(f"{path}: is not UTF-8 text") from None
    except MemoryError:
        raise ReadError(f"{path}: does not fit into memory") from None
    except faults as error:
        raise ReadError(f"{path}: cannot be read: {str(error).strip() or type(error).__name__}") from None
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror or str(error).strip()}") from None

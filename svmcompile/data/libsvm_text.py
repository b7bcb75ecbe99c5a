"""`.libsvm`, `.svmlight`: a label, then `index:value` pairs with ascending indices from 1, or from 0.

LIBSVM counts features from 1, scikit-learn's `dump_svmlight_file` from 0 unless told otherwise. The indices
of the file and the width of the model decide, where they can. `qid:` pairs and `#` comments are accepted
and ignored. Dense rows leave or, where that is wanted, compressed ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import lt
from pathlib import Path
from typing import NoReturn

import numpy as np

from svmcompile.data.table import (
    MAX_FEATURES,
    Part,
    Wanted,
    check_growth,
    check_label_length,
    open_bytes,
    reading,
    rows_per_chunk,
)
from svmcompile.errors import OptionError, ReadError

BOM = b"\xef\xbb\xbf"


@dataclass
class Line:
    """One example: label as text, indices as in the file, values."""

    label: str
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def libsvm_parts(path: Path, wanted: Wanted, chunk_rows: int) -> Iterator[Part]:
    """The file, a chunk of lines at a time; read twice if base or width have to be found out."""
    if wanted.label is not None or wanted.keep:
        option = "--keep" if wanted.keep else "--label"
        raise OptionError(
            f"{path}: a LIBSVM file has its labels at the start of each line, and no other columns; "
            f"leave out {option}"
        )
    with reading(path):
        base, width = wanted.base, wanted.width
        if base is None or width is None:
            ends = index_range([path])
            base = decide_base(str(path), ends, wanted)
            width = width or ends[1] + 1 - base
            if width <= 0:
                raise ReadError(f"{path}: holds no features: expected lines like `1 1:0.5 3:2`")
            check_growth(path, 8 * width)  # of a single row
        lines = _lines(path, base, wanted.width)
        step = rows_per_chunk(chunk_rows, width)
        while part := _rows(islice(lines, step), base, width, wanted.sparse):
            yield part


def index_range(paths: Iterable[Path]) -> tuple[int, int]:
    """The least and the largest index of some files; what is not a number is left to the parser."""
    least, largest = MAX_FEATURES + 1, -1
    for path in paths:
        with reading(path), open_bytes(path) as stream:
            for text in stream:
                tokens = text.split(b"#", 1)[0].split()
                for token in (*tokens[1:3], *tokens[3:][-1:]):  # the second may be a qid
                    index = token.partition(b":")[0]
                    if index.isdigit() and len(index) < 10:
                        least, largest = min(least, int(index)), max(largest, int(index))
    return least, largest


def decide_base(where: str, ends: tuple[int, int], wanted: Wanted) -> int:
    """What the first feature is called, 0 or 1; an error where that cannot be known."""
    if wanted.base is not None:
        return wanted.base
    least, largest = ends
    if least == 0:
        return 0
    if wanted.width is None or largest < 0 or largest >= wanted.width:
        return 1  # no rows, or beyond the width is for the parser to report
    raise ReadError(
        f"{where}: indices run from {least} to {largest} and the model has {wanted.width} features, so they"
        " may count from 0 (scikit-learn's dump_svmlight_file) or from 1 (LIBSVM); "
        "add --zero-based or --one-based"
    )


def _lines(path: Path, base: int, width: int | None) -> Iterator[Line]:
    with open_bytes(path) as stream:
        for at, text in enumerate(stream, start=1):
            content = (text.removeprefix(BOM) if at == 1 else text).split(b"#", 1)[0]
            tokens = content.split()
            if tokens:
                yield _parse(f"{path}:{at}", tokens, base, width)


def _parse(where: str, tokens: list[bytes], base: int, width: int | None) -> Line:
    if len(tokens) > 1 and tokens[1].startswith(b"qid:"):
        del tokens[1]
    try:
        indices, values = _pairs(tokens)
    except ValueError:
        _blame(where, tokens)
    _check_indices(where, indices, base, width)
    return Line(check_label_length(where, tokens[0].decode("ascii")), indices, values)


def _pairs(tokens: list[bytes]) -> tuple[list[int], list[float]]:
    """Indices and values, split all at once for speed; `ValueError` if any token is wrong."""
    text = b" ".join(tokens)
    words = text.replace(b":", b" : ").split()
    # each pair is one token and three words, so other counts mean a colon too many or too few
    if len(words) != 3 * len(tokens) - 2 or words[2::3].count(b":") != len(tokens) - 1 or b"_" in text:
        raise ValueError
    float(words[0])
    return list(map(int, words[1::3])), list(map(float, words[3::3]))


def _check_indices(where: str, indices: list[int], base: int, width: int | None) -> None:
    if not indices:
        return
    if indices[0] < base:
        hint = "; if the file counts from 0, add --zero-based" if indices[0] == 0 else ""
        raise ReadError(f"{where}: feature index {indices[0]}; indices start at {base}{hint}")
    if not all(map(lt, indices, indices[1:])):
        raise ReadError(f"{where}: feature indices must ascend, each at most once")
    if width is not None and indices[-1] >= width + base:
        counted = " and the file counts from 0" if base == 0 else ""
        raise ReadError(
            f"{where}: feature index {indices[-1]}, but the model has {width} features{counted}"
        )
    if indices[-1] > MAX_FEATURES:
        raise ReadError(f"{where}: feature index {indices[-1]} is above the limit of {MAX_FEATURES}")


def _blame(where: str, tokens: list[bytes]) -> NoReturn:
    """Raise for the first token that is wrong."""
    if not _converts(tokens[0], float):
        raise ReadError(f"{where}: label {_shown(tokens[0])} is not a number")
    for token in tokens[1:]:
        index, colon, value = token.partition(b":")
        if not colon or not _converts(index, int) or not _converts(value, float):
            raise ReadError(f"{where}: {_shown(token)} is not `index:value`")
    raise AssertionError("a line was refused for no reason")


def _converts(token: bytes, kind: type[int] | type[float]) -> bool:
    try:
        kind(token)
    except ValueError:
        return False
    return b"_" not in token


def _shown(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "backslashreplace"))


def _rows(lines: Iterable[Line], base: int, width: int, sparse: bool) -> Part | None:
    """The lines as rows, read one at a time so that they are never all held; None if there are none."""
    labels: list[str] = []
    counts, indices, values = array("q"), array("q"), array("d")
    for line in lines:
        labels.append(line.label)
        counts.append(len(line.indices))
        indices.extend(line.indices)
        values.extend(line.values)
    if not labels:
        return None
    if sparse:
        from svmcompile.data.csr import Csr, canonical

        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries = (np.array(values), np.array(indices, dtype=np.int64) - base, starts)
        return Part(canonical(Csr(entries, shape=(len(labels), width))), labels)
    matrix = np.zeros((len(labels), width))
    at = np.repeat(np.arange(len(labels)), np.array(counts, dtype=np.int64))
    matrix[at, np.array(indices, dtype=np.int64) - base] = values
    return Part(matrix, labels)

"""`.libsvm`, `.svmlight`: a label, then `index:value` pairs with ascending indices from 1.

`qid:` pairs and `#` comments are accepted and ignored. Dense rows leave.
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

from svmcompile.data.table import MAX_FEATURES, Part, Wanted, check_label_length, reading, rows_per_chunk
from svmcompile.errors import OptionError, ReadError

BOM = b"\xef\xbb\xbf"


@dataclass
class Line:
    """One example: label as text, indices from 1, values."""

    label: str
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def libsvm_parts(path: Path, wanted: Wanted, chunk_rows: int) -> Iterator[Part]:
    """The file, a chunk of lines at a time; read twice if nobody knows the number of features."""
    if wanted.label is not None:
        raise OptionError(
            f"{path}: a LIBSVM file has its labels at the start of each line; leave out --label"
        )
    with reading(path):
        width = wanted.width or _find_width(path)
        lines = _lines(path, wanted.width)
        step = rows_per_chunk(chunk_rows, width)
        while part := _dense(islice(lines, step), width):
            yield part


def _find_width(path: Path) -> int:
    width = max((line.indices[-1] for line in _lines(path, None) if line.indices), default=0)
    if not width:
        raise ReadError(f"{path}: holds no features: expected lines like `1 1:0.5 3:2`")
    return width


def _lines(path: Path, width: int | None) -> Iterator[Line]:
    with path.open("rb") as stream:
        for at, text in enumerate(stream, start=1):
            content = (text.removeprefix(BOM) if at == 1 else text).split(b"#", 1)[0]
            tokens = content.split()
            if tokens:
                yield _parse(f"{path}:{at}", tokens, width)


def _parse(where: str, tokens: list[bytes], width: int | None) -> Line:
    if len(tokens) > 1 and tokens[1].startswith(b"qid:"):
        del tokens[1]
    try:
        indices, values = _pairs(tokens)
    except ValueError:
        _blame(where, tokens)
    _check_indices(where, indices, width)
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


def _check_indices(where: str, indices: list[int], width: int | None) -> None:
    if not indices:
        return
    if indices[0] < 1:
        raise ReadError(f"{where}: feature index {indices[0]}; indices start at 1")
    if not all(map(lt, indices, indices[1:])):
        raise ReadError(f"{where}: feature indices must ascend, each at most once")
    if width is not None and indices[-1] > width:
        raise ReadError(f"{where}: feature index {indices[-1]}, but the model has {width} features")
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


def _dense(lines: Iterable[Line], width: int) -> Part | None:
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
    matrix = np.zeros((len(labels), width))
    at = np.repeat(np.arange(len(labels)), np.array(counts, dtype=np.int64))
    matrix[at, np.array(indices, dtype=np.int64) - 1] = values
    return Part(matrix, labels)

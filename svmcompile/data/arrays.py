"""Headers of numpy arrays (`.npy`), matched by one strict pattern.

numpy itself reads them as Python text: a header of 10,000 spaces or open brackets keeps its parser busy for
half a minute. Here the time is proportional to the length, and the length is limited.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000  # bytes; numpy's own limit
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}
QUOTED = r"""(?:'{0}'|"{0}")"""
ITEMS = {
    "descr": QUOTED.format(r"([<>=|]?[a-zA-Z?][0-9]{0,9}(?:\[[0-9a-zA-Z]{1,12}\])?)"),
    "fortran_order": "(True|False)",
    "shape": r"\(((?:[0-9]{1,19}L?, ?)*(?:[0-9]{1,19}L?)?)\)",
}
ITEM = {name: re.compile(QUOTED.format(name) + " ?: ?" + value) for name, value in ITEMS.items()}
REST = re.compile(r"[{},\s]*")


@dataclass(frozen=True, slots=True)
class Header:
    """What an array's header claims, and where its numbers begin."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes]) -> Header:
    """The header at the start of a stream; `ValueError` says what is wrong with it."""
    start = stream.read(len(MAGIC) + 2)
    version = tuple(start[len(MAGIC) :])
    if not start.startswith(MAGIC) or version not in LENGTH_BYTES:
        raise ValueError(f"numpy file version {version} is not known")
    width = LENGTH_BYTES[version]
    length = int.from_bytes(stream.read(width), "little")
    if length > MAX_HEADER:
        raise ValueError(f"broken header: it claims {length} bytes, at most {MAX_HEADER} are read")
    text = stream.read(length)
    if len(text) < length:
        raise ValueError("broken header: the file ends within it")
    return _parse(text.decode("latin-1"), len(start) + width + length)


def _parse(text: str, offset: int) -> Header:
    found = {}
    for name, pattern in ITEM.items():
        match = pattern.search(text)
        if match is None:
            raise ValueError(f"broken header: no {name} that can be read")
        found[name] = next(group for group in match.groups() if group is not None)
        text = text[: match.start()] + text[match.end() :]
    if not REST.fullmatch(text):
        raise ValueError("broken header: it holds more than descr, fortran_order and shape")
    shape = tuple(int(extent) for extent in re.findall("[0-9]+", found["shape"]))
    try:
        dtype = np.dtype(found["descr"])
    except TypeError as error:
        raise ValueError(f"broken header: {error}") from None
    return Header(shape, found["fortran_order"] == "True", dtype, offset)


def read_array(content: bytes) -> NDArray[Any]:
    """The array in the bytes of a `.npy` file of plain values, not copied; `ValueError` otherwise."""
    header = read_header(io.BytesIO(content))
    if header.dtype.hasobject or header.dtype.itemsize == 0:
        raise ValueError(f"an array of type {header.dtype}")
    if header.n_bytes != len(content) - header.offset:
        raise ValueError("an array does not have the size it claims")
    count = math.prod(header.shape)
    flat = np.frombuffer(content, header.dtype, count, header.offset)
    return np.asarray(flat.reshape(header.shape, order="F" if header.fortran else "C"))

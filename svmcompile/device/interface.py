"""What a generated header offers: the functions that take one row, and what comes out of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.errors import ReadError

ROW_FUNCTION = r"^(\w+) {name}_(\w+)\(const (\w+) x\[(\d+)\](?:, (\w+) \w+\[(\d+)\])?\);$"
TYPES = {
    "float": "<f4", "double": "<f8",
    "int8_t": "<i1", "uint8_t": "<u1", "int16_t": "<i2", "uint16_t": "<u2", "int32_t": "<i4", "int": "<i4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowFunction:
    """One public function of a row: it returns a number, or fills an array."""

    symbol: str
    row_type: str  # numpy's name of what a row is made of
    features: int
    returns: str = ""  # numpy's name; empty where an array is filled
    fills: str = ""
    width: int = 1

    @property
    def row_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.row_type)

    @property
    def result(self) -> np.dtype[Any]:
        return np.dtype(self.returns or self.fills)


def row_functions(name: str, header: str) -> dict[str, RowFunction]:
    """The functions of NAME.h that take one row, by their name without the prefix."""
    found = {}
    pattern = re.compile(ROW_FUNCTION.format(name=re.escape(name)), re.MULTILINE)
    for returned, function, row, features, filled, width in pattern.findall(header):
        found[function] = RowFunction(
            f"{name}_{function}",
            TYPES[row],
            int(features),
            "" if filled else TYPES[returned],
            TYPES[filled] if filled else "",
            int(width or 1),
        )
    if "predict" not in found:
        raise ReadError(f"{name}.h declares no {name}_predict of one row; compile the model again")
    return found

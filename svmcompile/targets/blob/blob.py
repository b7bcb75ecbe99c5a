"""Blobs under construction: tables, instructions and registers; the layout is that of docs/blob.md."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import Number

MAGIC, VERSION = b"SVMB", 1
WHOLES, REALS, TEXT = range(3)  # kinds of tables
ALIGNED = 8
SIZES = "nmklpqu"  # of an instruction
MOST_TABLES = 8  # of an instruction
HEADER_WORDS = 32
REGISTERS_AT = 20  # byte of the header that says how many registers there are
JUMP = 5 + SIZES.index("p")  # the word of an instruction that holds how many it jumps over
OUTPUTS = ("predict", "decision_function", "predict_proba", "score_samples")
# By operation: the sizes of what it writes, reads, and reads second or uses as scratch, then its tables.
# A size is a sum (|) of products: of the sizes n m k l p q u, t = n (n - 1) / 2, d = numbers in a double.
# Tables: r numbers, i<e whole numbers from 0 below e, j<e below e, s<e starts that rise from 0 to e,
# c<e children of a tree with e leaves.
OPERATIONS = {
    "COPY": "n n 0",
    "PICK": "n m 0 in<m",
    "SCALE": "n n 0 rn rn rn",
    "CLIP": "n n 0 r2",
    "FILL": "n n 0 rn r1",
    "NORM": "n n 0 r1",
    "POWERS": "n m 0 ink<m|1",
    "COSINE": "n n 0 r1",
    "AFFINE": "n m 0 rnm rn",
    "SUM": "n m dn|l rkm rk rkl rn sp|1<k",
    "PATH": "n m dn|l rkm rk jp<k rp c2p<q sq|1<u run rqn",
    "AXIS": "1 m 0 in<m rn c2n<l",
    "PLANE": "1 m 0 rnm rn c2n<l",
    "LEAF": "n m 1 sl|1<k ik<n rkm rln",
    "LISTS": "n m 0 sn|1<k rkm rk rk rn",
    "ADD": "n n n",
    "REACH": "n m n rn r1",
    "POISON": "n n m",
    "GUARD": "n n 0 r1",
    "UNLESS": "0 1 0",
    "COUNT": "n t 0",
    "OVR": "n t n",
    "ARGMAX": "1 n 0",
    "SIGN": "1 1 0",
    "SIGMOID": "n n 0 rn rn r1",
    "ISOTONIC": "n n 0 sn|1<k rk rk",
    "SHARES": "n n 0 r1",
    "COUPLE": "n t dnn|dn|dn",
}
CODES = {name: code for code, name in enumerate(OPERATIONS)}


class Register(NamedTuple):
    """Where a value stands, and how many numbers it has."""

    at: int
    width: int


class Blob:
    """A blob under construction."""

    def __init__(self, number: Number, n_features: int) -> None:
        self.real = np.dtype("<f4" if number == "f32" else "<f8")
        self.next = self.size = n_features  # the first free register, and how many; the row comes first
        self._numbers: dict[bytes, int] = {}
        self.tables: list[tuple[int, bytes]] = []
        self.instructions: list[list[int]] = []

    def room(self, width: int) -> Register:
        """New registers."""
        self.next += width
        self.size = max(self.size, self.next)
        return Register(self.next - width, width)

    def table(self, kind: int, content: bytes) -> int:
        """The number of a table of one kind; equal ones are stored once."""
        key = bytes([kind]) + content
        if key not in self._numbers:
            self._numbers[key] = len(self.tables)
            self.tables.append((kind, content))
        return self._numbers[key]

    def op(
        self, name: str, a: Register, *tables: Any, b: Register | None = None, out: Register | None = None,
        flag: int = 0, **sizes: int,
    ) -> Register:  # fmt: skip
        """Add an instruction; its sizes must fit what docs/blob.md says of it."""
        sizes.setdefault("n", 1)
        written, read, second, *kinds = OPERATIONS[name].split()
        out = out or self.room(self.measure(written, sizes))
        b = b or self.room(self.measure(second, sizes))
        expected = [self.measure(size, sizes) for size in (written, read, second)]
        assert [out.width, a.width, b.width] == expected, (name, out, a, b, expected)
        numbers = []
        for declared, table in zip(kinds, tables, strict=True):
            array = np.asarray(table).ravel()
            assert array.size == self.measure(declared[1:].partition("<")[0], sizes), (name, declared)
            numbers.append(self.add(declared[0], array))
        words = [CODES[name], flag, out.at, a.at, b.at, *(sizes.get(one, 0) for one in SIZES)]
        self.instructions.append([*words, *numbers, *[0] * (MOST_TABLES - len(numbers))])
        return out

    def jump(self, place: int) -> None:
        """Let a jump lead to what comes next."""
        self.instructions[place][JUMP] = len(self.instructions) - place - 1

    def measure(self, size: str, sizes: Mapping[str, int]) -> int:
        """The number that a size stands for."""
        n = sizes.get("n", 0)
        known = {**sizes, "t": n * (n - 1) // 2, "d": 8 // self.real.itemsize}
        parts = ([int(one) if one.isdigit() else known[one] for one in part] for part in size.split("|"))
        return sum(int(np.prod(part)) for part in parts)

    def add(self, kind: str, values: Any) -> int:
        """The number of a table as an operation declares it."""
        array = np.asarray(values)
        if kind == "r":
            return self.table(REALS, array.astype(self.real).tobytes())
        return self.table(WHOLES, array.astype("<i4").tobytes())

    def content(self, facts: Iterable[int]) -> bytes:
        """All of it: header, tables and their directory, instructions."""
        body, directory = bytearray(), []
        start = 4 * HEADER_WORDS
        for kind, content in self.tables:
            count = len(content) // (4, self.real.itemsize, 1)[kind]
            directory.append((kind, start + len(body), count, 0))
            body += content + b"\0" * (-len(content) % ALIGNED)
        words = [*(word for entry in directory for word in entry)]
        places = start + len(body), start + len(body) + 4 * len(words)
        words += [word for instruction in self.instructions for word in instruction]
        body += struct.pack(f"<{len(words)}I", *words)
        size = start + len(body)
        if size >= 1 << 31:
            raise EmitError(f"the blob would have {size:,} bytes, more than 2 GB; use another target")
        counts = (self.real.itemsize, self.size, len(directory), len(self.instructions))
        header = struct.pack(f"<{HEADER_WORDS - 4}I", *counts, *places, *facts)
        after = header + bytes(body)
        return MAGIC + struct.pack("<3I", VERSION, size, zlib.crc32(after)) + after

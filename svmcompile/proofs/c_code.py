"""Emitted C, parsed: its functions as syntax trees, its tables as numbers, its macros replaced."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from svmcompile.errors import UnsupportedError
from svmcompile.extras import install
from svmcompile.proofs.plain import check_source, refusal, without_comments
from svmcompile.proofs.terms import Numbers
from svmcompile.targets.c.read_back import whole_tables, without_tables

WHOLE = {f"{sign}int{bits}_t": (bits, not sign) for bits in (8, 16, 32, 64) for sign in ("", "u")}
PRELUDE = "typedef unsigned long size_t;" + "".join(
    f"typedef {'' if signed else 'unsigned '}{kind} {name};"
    for name, (bits, signed) in WHOLE.items()
    for kind in [{8: "signed char" if signed else "char", 16: "short", 32: "int", 64: "long"}[bits]]
)
CONSTANT = re.compile(r"\bU?INT(?:8|16|32|64)_C\(([^()]*)\)")
FUNCTION = re.compile(r"^[A-Za-z_][^;{}=]*\([^;{}]*\)\s*\n\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


class CType(NamedTuple):
    """A type of whole numbers; 0 bits for anything else."""

    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - self.signed) - 1


@dataclass(frozen=True, slots=True)
class Source:
    """A C file: functions by name, tables of whole numbers by name with their types."""

    functions: dict[str, Any]
    tables: dict[str, tuple[Numbers, CType]]
    text: str  # without comments
    int_type: CType
    size_type: CType

    def type_of(self, names: list[str]) -> CType:
        """The type of these specifiers."""
        name = names[-1]
        if name in WHOLE:
            return CType(*WHOLE[name])
        return {"int": self.int_type, "size_t": self.size_type}.get(name, CType(0, True))


def parse(text: str, model: str, int_bits: int = 32, size_bits: int = 32) -> Source:
    """A C file as a compiler sees it that has neither DSP instructions nor anything else of its own."""
    tables = {}
    text = without_comments(text, model)
    check_source(without_tables(text), model)
    try:
        whole = whole_tables(text)
    except (ValueError, OverflowError) as error:
        raise refusal(model, str(error)) from None
    for name, table in whole.items():
        numbers = Numbers(name, tuple(map(int, table)), int(table.min()), int(table.max()))
        tables[name] = (numbers, CType(8 * table.dtype.itemsize, table.dtype.kind == "i"))
    return Source(functions_of(text), tables, text, CType(int_bits, True), CType(size_bits, False))


def functions_of(text: str) -> dict[str, Any]:
    """The functions of a C file without comments that are made of plain types, as syntax trees."""
    try:
        from pycparser import c_parser
    except ImportError:
        raise UnsupportedError(f"proofs need pycparser; run: {install('prove')}") from None
    found = {}
    for one in FUNCTION.finditer(_preprocess(without_tables(text))):
        with suppress(c_parser.ParseError):  # it has types of its own, and is none of those that compute
            tree = c_parser.CParser().parse(PRELUDE + one[0])
            found[tree.ext[-1].decl.name] = tree.ext[-1]
    return found


def _preprocess(text: str) -> str:
    """Without directives: macros without arguments replaced, of each condition the last branch taken."""
    macros: dict[str, str] = {}
    taken, lines = [True], []
    for line in text.split("\n"):
        word = line.split()[0] if line.startswith("#") else ""
        if word in ("#if", "#ifdef", "#ifndef"):
            taken.append(word == "#ifndef")
        elif word == "#else":
            taken[-1] = not taken[-1]
        elif word == "#endif":
            taken.pop()
        elif word == "#define" and all(taken) and "(" not in line.split()[1]:
            macros[line.split()[1]] = " ".join(line.split()[2:])
        elif not word and all(taken):
            lines.append(line)
    body = CONSTANT.sub(r"(\1)", "\n".join(lines))
    body = body.replace("INT32_MIN", "(-2147483647 - 1)")
    for _ in range(2):  # a macro may name another
        body = WORD.sub(lambda one: macros.get(one[0], one[0]), body)
    return re.sub(r"_Pragma\([^)]*\)", "", body)

"""Text in C: the tables and functions that cut UTF-8 into terms and count them.

The vocabulary is a table of its terms by their hashes: bucket b holds slots buckets[b] to
buckets[b + 1] - 1, slot s the bytes starts[s] to starts[s + 1] - 1 and the feature features[s]. Stop words
stand among the terms, with a number behind all features.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.text import Vectorizer
from svmcompile.errors import EmitError
from svmcompile.ir.kinds import Types
from svmcompile.ir.program import Program
from svmcompile.targets.c import api, unicode
from svmcompile.targets.c.api import Function, Result
from svmcompile.targets.c.node import text_bytes
from svmcompile.targets.c.nodes import CFile
from svmcompile.targets.c.profiles import HELD_TERMS

Tables = dict[str, NDArray[Any]]
PLANE = 1 << 16  # characters below have 16 bits
MOST_ROW = 1 << 22  # bytes of a row with all its zeros
SAYS = "for a text in UTF-8 that ends in NUL"


@dataclass(frozen=True, slots=True)
class TextFunction:
    """A result of text: of a text that ends in NUL, and of so many bytes."""

    result: Result
    single: Function
    sized: Function


@dataclass(frozen=True, slots=True)
class TextRows:
    """All that the templates need of text."""

    functions: list[TextFunction]
    tables: Tables
    parts: list[dict[str, Any]]
    held: int
    unicode: str
    has_words: bool
    has_cases: bool
    spaces: str
    ignorable: str  # the condition, among ASCII


def text_functions(program: Program, types: Types, name: str) -> list[TextFunction]:
    """The public functions of text; none for programs that take numbers."""
    functions = []
    for result in api.results(program, types, name) if program.input.text else ():
        public, row = f"{name}_{result.function}", "const char *utf8"
        single = Function(f"{public} {SAYS}.", result.declaration(f"{public}_text", row))
        sized = result.declaration(f"{public}_text_n", f"{row}, size_t n")
        functions.append(TextFunction(result, single, Function("The same for a text of n bytes.", sized)))
    return functions


def text_rows(file: CFile) -> TextRows | None:
    """What a program of text has in C beside other programs; None for those that take numbers."""
    program, name = file.program, file.name
    if not program.input.text:
        return None
    if program.input.number:
        raise EmitError(
            "a model of text counts in floats; leave out rows of whole numbers (given, --input)"
        )
    if (row := text_bytes(file)) > MOST_ROW:
        raise EmitError(
            f"a text of {program.n_features:,} features would take {row:,} bytes of the stack, and "
            f"{MOST_ROW:,} are the most; use fewer features, or a linear machine"
        )
    parts, tables, first = [], Tables(), 0
    for index, part in enumerate(program.input.text.parts):
        parts.append(_part(part, f"{name}_text{index or ''}", first, tables))
        first += part.width
    has_words = any(part["is_word"] for part in parts)
    has_cases = any(part["sigma"] for part in parts)
    shared = {"words": unicode.words} if has_words else {}
    shared |= {"cased": unicode.cased, "skipped": unicode.cased_or_skipped} if has_cases else {}
    for what, ends in shared.items():
        tables |= _ranges(f"{name}_text_{what}", ends())
    skipped = [at for at in range(128) if f"A{chr(at)}\u03a3".lower().endswith("\u03c2")]
    among = [at for at in skipped if not chr(at).isalpha()]
    return TextRows(
        functions=text_functions(program, file.types, name),
        tables=tables,
        parts=parts,
        held=HELD_TERMS[file.style.device],
        unicode=unicodedata.unidata_version,
        has_words=has_words,
        has_cases=has_cases,
        spaces=_condition(unicode.spaces()),
        ignorable=" || ".join(f"c == {at}" for at in among),
    )


def text_table_bytes(program: Program) -> int:
    """Bytes of the tables that text needs."""
    found = text_rows(CFile.of(program))
    return sum(table.nbytes for table in found.tables.values()) if found else 0


def _ranges(stem: str, ends: unicode.Ends) -> Tables:
    """The ends in two tables, of characters of 16 bits and of those beyond."""
    return {
        f"{stem}_low": ends[ends < PLANE].astype(np.uint16),
        f"{stem}_high": ends[ends >= PLANE],
    }


def _condition(ends: unicode.Ends) -> str:
    pairs = [(int(one), int(end) - 1) for one, end in zip(ends[::2], ends[1::2], strict=True)]
    texts = [f"c == {one}" if one == last else f"(c >= {one} && c <= {last})" for one, last in pairs]
    return "\n        || ".join(texts)


def _part(part: Vectorizer, stem: str, first: int, tables: Tables) -> dict[str, Any]:
    """The fields of one vectorizer; its tables are added to those of all."""
    known = None if part.hashed else {*"".join((*part.terms, *part.stop_words))}
    sigma = part.lowercase and (known is None or bool(known & {chr(unicode.PLAIN), chr(unicode.FINAL)}))
    own: Tables = {}
    if part.lowercase:
        own["lower_from"], own["lower_to"] = unicode.lower_cases(known)
    if not part.hashed or part.stop_words:
        own |= _vocabulary(part)
    tables |= {f"{stem}_{key}": _narrow(table) for key, table in own.items()}
    return {
        "p": stem,
        "part": part,
        "first": first,
        "is_word": part.analyzer == "word",
        "sigma": sigma,
        "lowers": len(own.get("lower_from", ())),
        "mask": len(own["buckets"]) - 2 if "buckets" in own else 0,
        "width": part.width,
        "finds": "buckets" in own,
    }


def _vocabulary(part: Vectorizer) -> Tables:
    """Terms and stop words by their hashes; a bucket holds one or two of them."""
    from sklearn.utils import murmurhash3_32

    stopped = dict.fromkeys((word for word in part.stop_words if " " not in word), part.width)
    places = {term: at for at, term in enumerate(part.terms)} | stopped
    contents = {term: term.encode() for term in places}
    mask = (1 << max(0, (len(places) - 1).bit_length() - 1)) - 1
    buckets = {term: murmurhash3_32(text, positive=True) & mask for term, text in contents.items()}
    order = sorted(places, key=lambda term: (buckets[term], contents[term]))
    counts = np.bincount(np.array([buckets[term] for term in order]), minlength=mask + 1)
    lengths = [len(contents[term]) for term in order]
    return {
        "buckets": np.concatenate([[0], np.cumsum(counts)]),
        "starts": np.concatenate([[0], np.cumsum(lengths)]),
        "features": np.array([places[term] for term in order]),
        "bytes": np.frombuffer(b"".join(contents[term] for term in order), np.uint8),
    }


def _narrow(table: NDArray[Any]) -> NDArray[Any]:
    for kind in (np.uint8, np.uint16):
        if table.max(initial=0) <= np.iinfo(kind).max:
            return table.astype(kind)
    return table.astype(np.uint32)

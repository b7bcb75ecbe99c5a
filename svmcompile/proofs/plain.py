"""Plain C: what stands beside the code of a file is what svmcompile writes, or the proof is refused.

A proof is about functions as they are parsed here. Macros, conditions, comments and strings can make a
compiler read other code in the same text, so those that are not known are not taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from svmcompile.errors import UnsupportedError

SPELLED = re.compile(r"\?\?|\\[ \t\r\f\v]+\n")  # signs, and ends of lines that go on, in other ways
DIGRAPH = re.compile(r"%:|<:|:>|<%|%>")
PIECE = re.compile(r'/\*.*?\*/|//|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
DIRECTIVE = re.compile(
    r'#include (?:"{name}\.h"|<(?:stddef|stdint|float|limits|string|math)\.h>)|#error "[^"]*"|#else|#endif|'
    r"#pragma clang fp reassociate\(off\)|#pragma GCC diagnostic ignored \"-Woverlength-strings\"|"
    r"#define {NAME}_(?:FLASH|TABLE|ROLLED|UNROLLED)"
    r"(?: __flash| {NAME}_ROLLED| _Pragma\(\"GCC unroll \d+\"\))?|"
    r"#define \w+ \(\w+\.values\)|#(?:if|ifdef|ifndef|elif) .*"
)
# Under these there is code: the proof takes the branch of a processor that has neither.
AROUND_CODE = re.compile(
    r"#if defined\(__ARM_FEATURE_DSP\) && !defined\({NAME}_NO_DSP\)|#ifdef __AVR__|#if defined\(__AVR__\)|"
    r"#ifdef {NAME}_(?:NO_SELF_TEST|SHARED)|#ifndef {NAME}_SELF_TEST"
)
IN_HEADER = re.compile(
    r"#include <(?:stddef|stdint)\.h>|#else|#endif|#(?:if|ifdef|ifndef|elif) .*|#define SVM_MODEL_ABI 1|"
    r"#define {NAME}_\w+(?: \d+| \"[^\"]*\"| __declspec\(\w+\)| "
    r"__attribute__\(\(visibility\(\"default\"\)\)\))?"
)


def without_comments(text: str, name: str) -> str:
    """The C file as a compiler sees it: long lines joined, comments a space; strings stay."""
    found = PIECE.sub(lambda one: _piece(one[0], name), text.replace("\\\n", ""))
    strange = SPELLED.search(text) or DIGRAPH.search(PIECE.sub(" ", found))
    if strange:
        raise refusal(name, strange[0])
    return found


def _piece(found: str, name: str) -> str:
    if found == "//":
        raise refusal(name, "//")
    return " " if found.startswith("/*") else found


def check_source(text: str, name: str) -> None:
    """Refuse directives that are not ours, and code under conditions of others; comments are gone."""
    known, around = _of(DIRECTIVE, name), _of(AROUND_CODE, name)
    open_ones: list[str] = []
    for line in _lines(text):
        if not line.startswith("#"):
            if not all(map(around.fullmatch, open_ones)):
                raise refusal(name, open_ones[-1])
        elif not known.fullmatch(line):
            raise refusal(name, line)
        elif line.startswith("#if"):
            open_ones.append(line)
        elif line.startswith("#elif") and open_ones:
            open_ones[-1] = line
        elif line == "#endif" and open_ones:
            open_ones.pop()


def check_header(text: str, name: str) -> None:
    """Refuse a header with directives that are not ours."""
    known = _of(IN_HEADER, name)
    for line in _lines(without_comments(text, name)):
        if line.startswith("#") and not known.fullmatch(line):
            raise refusal(name, line)


def _of(pattern: re.Pattern[str], name: str) -> re.Pattern[str]:
    return re.compile(pattern.pattern.replace("{name}", name).replace("{NAME}", name.upper()))


def _lines(text: str) -> Iterator[str]:
    return (plain for line in text.split("\n") if (plain := " ".join(line.split())))


def refusal(name: str, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name}: {what[:60]!r} is not what svmcompile writes, and a compiler may read other code there "
        "than the proof does; compile the model again"
    )

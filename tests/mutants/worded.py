"""The functions of C that take text: what they make of strings, held against Python."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from svmcompile.data.categories import MISSING, UNKNOWN
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import results
from tests.crossing.driven import OUTPUTS, TYPES
from tests.crossing.judged import Expected, judge
from tests.fuzz.strings import random_string

STRINGS = 300
# Strings stand in blocks of their own, so that a sanitizer sees a step beyond their end.
DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "model.h"

int main(void)
{
    int32_t given[2]; /* a feature, and the length of a string; -1 for none */
    while (fread(given, sizeof *given, 2, stdin) == 2) {
        const size_t n = given[1] < 0 ? 0 : (size_t)given[1];
        char *text = given[1] < 0 ? NULL : malloc(n + 1);
        if (text && fread(text, 1, n, stdin) != n)
            return 2;
        if (text)
            text[n] = 0;
%s        free(text);
    }
    return 0;
}
"""
CALL = """        {{
            {kind} out[{width}] = {{0}};
            {single};
            fwrite(out, sizeof *out, {width}, stdout);
            {sized};
            fwrite(out, sizeof *out, {width}, stdout);
        }}
"""


def write_word_driver(code: Program, folder: Path) -> None:
    """A main function that reads strings, and writes what each function says of them."""
    calls = ""
    for result in results(code, infer_types(code), "model") if code.input.text else ():
        function, target = f"model_{result.function}_text", "" if result.alone else ", out"
        first = "*out = " if result.alone else ""
        calls += CALL.format(
            kind=result.kind, width=result.width, single=f"{first}{function}(text{target})",
            sized=f"{first}{function}_n(text, n{target})",
        )  # fmt: skip
    if code.categories.texts:
        single, sized = "model_category(given[0], text)", "model_category_n(given[0], text, n)"
        calls += CALL.format(kind="float", width=1, single=f"*out = {single}", sized=f"*out = {sized}")
    (folder / "driver.c").write_text(DRIVER % calls)


def check_words(
    code: Program, program: Program, number: Number, texts: Sequence[bytes], folder: Path, seconds: float
) -> None:
    """Fails if the driver of the code says anything else than the program means."""
    asked = list(questions(program, texts))
    given = b"".join(
        struct.pack("<2i", feature, -1 if text is None else len(text)) + (text or b"")
        for feature, text in asked
    )
    done = subprocess.run([folder / "driver"], input=given, capture_output=True, timeout=seconds)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode(errors="replace")
    if program.categories.texts:
        codes = np.frombuffer(done.stdout, np.float32).reshape(len(asked), 2)
        assert np.array_equal(codes, [[code_of(program, *one)] * 2 for one in asked])
        return
    found = results(code, infer_types(code), "model")
    layout = [(str(at), TYPES[one.kind], (2, one.width)) for at, one in enumerate(found)]
    said = np.frombuffer(done.stdout, np.dtype(layout))
    strings = [text.decode("utf-8", "replace") for _, text in asked if text is not None]
    expected = Expected.of(program, number, program.counts(strings).toarray())
    for at, one in enumerate(found):
        name = OUTPUTS.get(one.function, "label" if program.labels else "value")
        for way in (0, 1):
            judge(expected, name, said[str(at)][:, way])


def questions(program: Program, texts: Sequence[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Strings, each for a feature; those of categories are names, nearly names, and none at all."""
    if program.input.text:
        draw = random.Random(0)
        yield from ((0, text) for text in (*texts, *(random_string(draw) for _ in range(STRINGS))))
    for column in program.categories.texts:
        for name in column.codes:
            text = name.encode()
            yield from ((column.feature, one) for one in (text, text[:-1], text + b"x", b"\1" + text[1:]))
            yield column.feature + 1, text
        yield from ((column.feature, one) for one in (None, b"", b"\xff"))


def code_of(program: Program, feature: int, text: bytes | None) -> int:
    """What Python has for a text of a column."""
    column = program.categories.by_feature.get(feature)
    if column is None or not column.names:
        return UNKNOWN
    if text is None:
        return MISSING if column.missing else UNKNOWN
    return {name.encode(): found for name, found in column.codes.items()}.get(text, UNKNOWN)

"""Strings that C cuts: random bytes, under sanitizers, held against scikit-learn."""

from __future__ import annotations

import random
import struct
import subprocess
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import svmcompile as sc
from tests.fuzz.blobs import SANITIZED
from tests.programs.texts import KINDS, LABELS, ODD, TEXTS

NAME = "text"
AT_ONCE = 5_000  # strings for one process
PROFILES = ("portable", "host", "device")
EDGES = (0x80, 0x800, 0xD800, 0xE000, 0x10000, 0x110000 - 1)  # where more bytes are needed, or none will do
AROUND = ("", "a", "\u0301", "a\u0301", "\u0301a", ".", "\xad", " ")  # what tells the lower case of a sigma
PIECES = (
    *(word.encode() for word in " ".join(TEXTS).split()), *(one.encode() for one in ODD if one != "\0"),
    b" ", b", ", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5",
    b"\xe0\x80", b"\xf4\x90\x80\x80", b"\xc4\xb0", b"\xce\xa3",
    *(f"{before}Σ{behind}".encode() for before in AROUND for behind in AROUND),
    *(chr(edge + more).encode("utf-8", "surrogatepass") for edge in EDGES for more in (-1, 0)),
)  # fmt: skip
# Strings stand in blocks of their own, so that a sanitizer sees a step beyond the end.
DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "m.h"
int main(void)
{
    uint32_t size;
    double scores[M_N_SCORES];
    while (fread(&size, 4, 1, stdin) == 1) {
        char *text = malloc(size + 1);
        if (fread(text, 1, size, stdin) != size)
            return 2;
        text[size] = 0;
        m_decision_function_text(text, scores);
        fwrite(scores, sizeof *scores, M_N_SCORES, stdout);
        free(text);
    }
    return 0;
}
"""


@dataclass
class Strings:
    """Executions, and finds: what a sanitizer says, or a string whose scores differ."""

    executions: int = 0
    finds: tuple[str, ...] = ()

    def run(self, seconds: float, seed: int) -> None:
        end = time.monotonic() + seconds
        for number in count():
            kind = list(KINDS)[number % len(KINDS)]
            profile = PROFILES[number // len(KINDS) % len(PROFILES)]
            with TemporaryDirectory() as name:
                model = _build(Path(name), kind, profile)
                for more in range(5 if number >= len(KINDS) else 1):
                    if self.executions and time.monotonic() > end:
                        return
                    self._try(
                        Path(name), model, f"{kind} {profile}, seed", 1_000 * seed + 10 * number + more
                    )

    def _try(self, folder: Path, model: Any, what: str, seed: int) -> None:
        """Some strings of one seed."""
        draw = random.Random(seed)
        strings = [random_string(draw) for _ in range(AT_ONCE)]
        given = b"".join(struct.pack("<I", len(one)) + one for one in strings)
        done = subprocess.run([folder / "fuzz"], input=given, capture_output=True)
        if done.returncode:
            self.finds += (f"{what}: {done.stderr.decode(errors='replace')[:3_000]}",)
            return
        self.executions += AT_ONCE
        expected = model.decision_function([one.decode("utf-8", "replace") for one in strings])
        found = np.frombuffer(done.stdout).reshape(expected.shape)
        wrong = np.abs(found - expected).max(axis=1) > 1e-11
        self.finds += tuple(f"{what}: {strings[at]!r}" for at in np.flatnonzero(wrong)[:3])


def _build(folder: Path, kind: str, profile: str) -> Any:
    """The C of a model, built to read strings; and the model."""
    model = make_pipeline(clone(KINDS[kind]), LinearSVC(random_state=0)).fit(TEXTS, LABELS)
    files: Any = sc.emit(sc.compile(model), "c", "m", "f64", profile)
    for name in ("m.c", "m.h"):
        (folder / name).write_text(files[name])
    (folder / "fuzz.c").write_text(DRIVER)
    command = ["cc", *SANITIZED, "-w", "fuzz.c", "m.c", "-o", "fuzz"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return model


def random_string(draw: random.Random) -> bytes:
    """Pieces of text, some of them changed; a string of C ends at a zero."""
    data = bytearray(b"".join(draw.choices(PIECES, k=draw.randrange(24))))
    for _ in range(draw.randrange(3) if data else 0):
        data[draw.randrange(len(data))] = draw.randrange(1, 256)
    return bytes(data)

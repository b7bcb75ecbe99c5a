"""race: is the C that is emitted here as fast as that of another commit?

    python -m tests.replay.race COMMIT [CASE ...]      (make race BASE=COMMIT)

Both commits emit the host C of the same models. Every pair is built by each compiler at hand for each
instruction set, and called in turn, row by row and in batches; the median of the ratios is printed, new
time over old, and how many labels differ. Times need a quiet machine; a ratio of the same
commit with itself tells how quiet it is.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
CASES = ("ten-ovr", "two-rbf-scaled", "certified-scaled", "certified-ten", "anytime-two", "zeros", "h1-two")
COMPILERS = ("gcc", "clang")
SETS = {
    "avx512": (),
    "avx2": ("-DMODEL_NO_AVX512",),
    "baseline": ("-DMODEL_NO_AVX512", "-DMODEL_NO_AVX2"),
}
ROWS, SECONDS = 512, 0.02
HARNESS = """#include "model.h"
#include <time.h>

double harness(const float *x, int32_t *indices, size_t rows, size_t width, size_t count, int batch);
double harness(const float *x, int32_t *indices, size_t rows, size_t width, size_t count, int batch)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t c = 0; c < count; c++) {
        if (batch)
            model_predict_batch(x, rows, indices);
        else
            for (size_t i = 0; i < rows; i++)
                indices[i] = model_predict(x + i * width);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}
"""


def emit(checkout: Path, folder: Path, cases: Sequence[str]) -> None:
    """The files of the cases as a checkout emits them."""
    with tempfile.TemporaryDirectory() as bare:  # of this commit only the cases, of the other the package
        shutil.copytree(Path(__file__).parent, Path(bare) / "tests" / "replay")
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.replay.replay",
            "--write",
            str(folder),
            *cases,
        ]
        environment = os.environ | {"PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(command, cwd=bare, env=environment, stdout=subprocess.DEVNULL, check=False)


class Contender:
    """One library, ready to be called."""

    def __init__(self, source: Path, compiler: str, flags: Sequence[str], rows: np.ndarray) -> None:
        folder = source.parent
        (folder / "harness.c").write_text(HARNESS)
        library = folder / f"{compiler}{''.join(flags)}.so"
        command = [compiler, "-O2", "-fPIC", "-shared", *flags, "model.c", "harness.c", "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        self.built = ctypes.CDLL(str(library))
        self.rows = np.ascontiguousarray(rows, np.float32)
        self.indices = np.zeros(len(rows), np.int32)

    def seconds(self, batch: bool, count: int) -> float:
        """How long it takes to predict all rows so many times."""
        function = self.built.harness
        function.restype = ctypes.c_double
        rows, indices = (ctypes.c_void_p(array.ctypes.data) for array in (self.rows, self.indices))
        sizes = [ctypes.c_size_t(size) for size in (*self.rows.shape, count)]
        return float(function(rows, indices, *sizes, ctypes.c_int(batch)))


def ratio(new: Contender, old: Contender, batch: bool, repeats: int) -> float:
    """The median of new over old, each timed in turn."""
    count = max(1, int(SECONDS / max(old.seconds(batch, 3) / 3, 1e-9)))
    found = []
    for turn in range(repeats):
        pair = (new, old) if turn % 2 else (old, new)
        times = {side: side.seconds(batch, count) for side in pair}
        found.append(times[new] / times[old])
    return statistics.median(found)


def race(name: str, new: Path, old: Path, repeats: int) -> float:
    """Prints a line for each compiler and instruction set; the worst ratio."""
    from tests.replay.cases import CASES as KNOWN

    X = KNOWN[name].data()[0]
    rows = X[np.random.default_rng(0).integers(len(X), size=ROWS)]
    worst = 0.0
    for compiler in filter(shutil.which, COMPILERS):
        for instructions, flags in SETS.items():
            sides = [
                Contender(side / name / "host" / "model.c", compiler, flags, rows) for side in (new, old)
            ]
            singles, batches = (ratio(*sides, kind, repeats) for kind in (False, True))
            differ = int((sides[0].indices != sides[1].indices).sum())
            times = f"one row {singles:6.3f}  batch {batches:6.3f}"
            print(f"{name:20} {compiler:6} {instructions:9} {times}  {differ} labels differ", flush=True)
            worst = max(worst, singles, batches)
    return worst


def count_lines(source: Path) -> tuple[int, int]:
    """Lines of a C file beside its tables, and columns of the longest."""
    lines = source.read_text().splitlines()
    starts = [line.lstrip()[:1] for line in lines]
    return sum(not (start in ('"', "-") or start.isdigit()) for start in starts), max(map(len, lines))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--repeats", type=int, default=15)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkout = folder / "checkout"
        subprocess.run(["git", "worktree", "add", "--detach", checkout, asked.commit], cwd=ROOT, check=True)
        try:
            emit(ROOT, folder / "new", asked.cases)
            emit(checkout, folder / "old", asked.cases)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)
        worst = 0.0
        for case in asked.cases:
            old, new = (count_lines(folder / side / case / "host" / "model.c") for side in ("old", "new"))
            print(f"{case:20} lines of code {old[0]} -> {new[0]}, longest {old[1]} -> {new[1]}")
            worst = max(worst, race(case, folder / "new", folder / "old", asked.repeats))
        print(f"slowest {worst:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How long the C compiler takes for modules with tables of 1, 10 and 100 MB.

    python examples/peers/compile_time.py           gcc and clang, where they are
    python examples/peers/compile_time.py 1 10      some sizes, in MB

The models are random RBF machines; only the size of their tables matters.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scaling import PROFILE, random_svm

import svmcompile as sc
from svmcompile.flow.program import compile_svm

FEATURES = 256
COMPILERS = ("gcc", "clang")


def module(megabytes: float, folder: Path) -> None:
    """A module whose table of vectors has about that size."""
    svm = random_svm(round(megabytes * 1e6 / 4 / FEATURES), FEATURES)
    program = compile_svm(svm, "exact", None, {})
    sc.write(sc.emit(program, "c", "model", profile=PROFILE), folder)


def seconds(compiler: str, folder: Path) -> tuple[float, float]:
    """Processor time of one compilation, and the object's size in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([compiler, "-O2", "-c", "model.c", "-o", "model.o"], cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, (folder / "model.o").stat().st_size / 1e6


def main(words: list[str]) -> None:
    """One line per size and compiler."""
    print("| table | compiler | processor time | object |\n| --- | --- | --- | --- |")
    for megabytes in map(float, words or ["1", "10", "100"]):
        with tempfile.TemporaryDirectory() as work:
            module(megabytes, Path(work))
            for compiler in filter(shutil.which, COMPILERS):
                taken, size = seconds(compiler, Path(work))
                print(f"| {megabytes:g} MB | {compiler} -O2 | {taken:.2f} s | {size:.1f} MB |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

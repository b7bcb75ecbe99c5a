"""Mutated models that a reader takes, run by the libraries that made them: a crash is a find.

`verify` runs them so. Each child process runs some hundred files, and keeps the one it is at, so that a
crash can be told from what came before.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import numpy as np

from svmcompile.errors import SvmCompileError
from svmcompile.read import read_content
from svmcompile.read.original import load_original
from tests.fuzz.targets import TARGETS

NAME = "originals"
FORMATS = {"libsvm": ".model", "liblinear": ".model", "opencv": ".yml", "skops": ".skops"}
AT_ONCE = 300  # files for one process
SECONDS = 60  # for all of them
MEGABYTES = 4096
WORDS = (b"100000000", b"-1", b"010", b"2147483647", b'"3"', b"&#51;", b"precomputed")
Change = Callable[..., bytes]


@dataclass
class Originals:
    """Executions, files that were read and run, and finds."""

    executions: int = 0
    opened: int = 0
    finds: tuple[str, ...] = ()

    def run(self, seconds: float, seed: int) -> None:
        end, turn = time.monotonic() + seconds, 0
        while not self.executions or time.monotonic() < end:
            kind = list(FORMATS)[turn % len(FORMATS)]
            with TemporaryDirectory() as folder:
                self._batch(Path(folder), kind, f"{seed} {turn}")
            turn += 1

    def _batch(self, folder: Path, kind: str, seed: str) -> None:
        """Files of one format in a child process."""
        path, told = folder / f"m{FORMATS[kind]}", folder / "told"
        target = next(target for target in TARGETS if target.name == kind)
        kept = [*target.seeds(), *(seeds() if kind == "skops" else ())]
        if not (child := os.fork()):
            _work(path, told, kind, kept, (*target.words, *WORDS), seed)
        _, status = os.waitpid(child, 0)
        self.executions += AT_ONCE
        lines = told.read_text().splitlines() if told.exists() else []
        self.opened += lines.count("run")
        self.finds += tuple(f"{kind}: {line}" for line in lines if line != "run")
        if status:
            self.finds += (f"{kind}: the process ended with {status}: {_kept(path)}",)


def _work(
    path: Path, told: Path, kind: str, kept: list[bytes], words: tuple[bytes, ...], seed: str
) -> None:
    """What the child does; it never returns."""
    from tests.fuzz.run import mutated

    draw = random.Random(seed).random
    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(SECONDS)
    with told.open("a", buffering=1) as stream:
        for _ in range(AT_ONCE):
            content = mutated(lambda count: int(draw() * count), kept, words)
            try:
                if run_original(path, kind, content):
                    stream.write("run\n")
            except SvmCompileError:
                pass
            except Exception as error:
                stream.write(f"{type(error).__name__}: {str(error)[:100]!r}: {_kept(path)}\n")
    os._exit(0)


def run_original(path: Path, kind: str, content: bytes) -> bool:
    """Read a file and run it by its library; False if there is none."""
    svm, _ = read_content(path, content, kind)
    path.write_bytes(content)
    found = load_original(path, svm, format=kind)
    if found is None:
        return False
    rows = 3 * np.random.default_rng(0).normal(size=(30, svm.n_features))
    for function in (found.predict, found.decision_function, found.predict_proba):
        if function:
            function(rows)
    return True


def _kept(path: Path) -> Path:
    """A copy of the file that outlasts the run."""
    copy = Path(mkdtemp()) / path.name
    copy.write_bytes(path.read_bytes() if path.exists() else b"")
    return copy


@cache
def seeds() -> tuple[bytes, ...]:
    """Machines of scikit-learn of each kind, dense and sparse."""
    import skops.io
    from scipy import sparse
    from sklearn.ensemble import BaggingClassifier
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

    X = np.random.default_rng(0).normal(size=(12, 2)).round(2)
    y, gaps = np.arange(12) % 3, sparse.csr_matrix(X * (abs(X) > 0.5))
    models = (
        SVC().fit(X, y), SVC().fit(gaps, y), SVR().fit(X, y), OneClassSVM().fit(gaps),
        NuSVC(kernel="linear").fit(gaps, y > 0), SVC(kernel="precomputed").fit(X @ X.T, y),
        BaggingClassifier(SVC(), n_estimators=2).fit(X, y), OneVsOneClassifier(LinearSVC()).fit(X, y),
        GaussianProcessRegressor().fit(X, y),
    )  # fmt: skip
    return tuple(skops.io.dumps(model) for model in models)

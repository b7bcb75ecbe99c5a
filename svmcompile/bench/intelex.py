"""scikit-learn-intelex, in a process of its own: it brings its own threads and maths library.

It takes over a trained model of two classes; with more it has to train itself,
which would be another model, so those are left out.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.peers import LeftOut, PythonPeer, Subject
from svmcompile.model.svm import SVM, LabelRule

RULES = (LabelRule.POSITIVE_SECOND, LabelRule.NEGATIVE_FIRST)


def start(subject: Subject) -> PythonPeer:
    """A worker that holds the model and times itself when asked."""
    if importlib.util.find_spec("sklearnex") is None:
        raise LeftOut("scikit-learn-intelex is not installed")
    svm = subject.original()
    subject.machine()
    if svm.label_rule not in RULES or svm.n_sums != 1 or svm.labels is None:
        raise LeftOut("takes over trained models of two classes only")
    _store(svm, subject, subject.work)
    return PythonPeer("scikit-learn-intelex", WorkerRunner(subject), version("scikit-learn-intelex"))


def _store(svm: SVM, subject: Subject, folder: Path) -> None:
    kernel = svm.kernel
    np.savez(
        folder / "intelex.npz",
        vectors=svm.vectors,
        coefficients=svm.coefficients,
        intercepts=svm.intercepts,
        kernel=np.array(kernel.kind),
        parameters=np.array([kernel.gamma, kernel.coef0, kernel.degree]),
        rows=subject.prepared(),
        batch=np.array(subject.batch),
    )


class WorkerRunner:
    """Sends one line per order to the worker, which answers with one line of JSON."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._process = subprocess.Popen(
            [sys.executable, "-m", "svmcompile.bench.intelex_worker", str(subject.work / "intelex.npz")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def single(self, rows: int) -> float:
        return float(self._ask("single", rows))

    def batch(self) -> float:
        return float(self._ask("batch"))

    def answers(self) -> NDArray[Any]:
        return self._subject.named(np.array(self._ask("answers")))

    def single_answers(self, rows: int) -> NDArray[Any]:
        return self._subject.named(np.array(self._ask("single_answers", rows)))

    def close(self) -> None:
        """The worker ends when there is nothing more to read."""
        self._process.communicate()

    def _ask(self, order: str, *rows: int) -> Any:
        assert self._process.stdin and self._process.stdout
        try:
            print(order, *rows, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise LeftOut("its worker ended early") from None
        line = self._process.stdout.readline()
        if not line:
            raise LeftOut("its worker ended early")
        return json.loads(line)

"""scikit-learn-intelex, in a process of its own: it brings its own threads and maths library.

That process runs this module: orders on standard input, one line of JSON each in return.

It takes over a trained model of two classes; with more it has to train itself,
which would be another model, so those are left out.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.peers import LeftOut, PythonPeer, Subject
from svmcompile.bench.result import LocalRunner
from svmcompile.ir.kernel import KERNEL_KINDS
from svmcompile.model.svm import LabelRule

RULES = (LabelRule.POSITIVE_SECOND, LabelRule.NEGATIVE_FIRST)


def start(subject: Subject) -> PythonPeer:
    """A worker that holds the model and times itself when asked."""
    if importlib.util.find_spec("sklearnex") is None:
        raise LeftOut("scikit-learn-intelex is not installed")
    svm = subject.original()
    subject.machine()
    if svm.label_rule not in RULES or svm.n_sums != 1 or svm.labels is None:
        raise LeftOut("supports trained models of two classes only")
    kernel = svm.kernel
    if kernel.kind not in KERNEL_KINDS:
        raise LeftOut(f"has no {kernel.kind} kernel")
    np.savez(
        subject.work / "intelex.npz",
        vectors=svm.vectors,
        coefficients=svm.coefficients,
        intercepts=svm.intercepts,
        kernel=np.array(kernel.kind),
        parameters=np.array([kernel.gamma, kernel.coef0, kernel.degree]),
        rows=subject.prepared(),
        batch=np.array(subject.batch),
    )
    return PythonPeer("scikit-learn-intelex", WorkerRunner(subject), version("scikit-learn-intelex"))


class WorkerRunner:
    """Sends one line per order to the worker, which answers with one line of JSON."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._process = subprocess.Popen(
            [sys.executable, "-m", "svmcompile.bench.intelex", str(subject.work / "intelex.npz")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def single(self, rows: int) -> float:
        return float(self._ask("single", rows))

    def latencies(self, calls: int) -> NDArray[Any]:
        return np.array(self._ask("latencies", calls))

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


def main(path: str) -> None:
    """Answer `single N`, `latencies N`, `batch`, `answers` and `single_answers N` until the input ends."""
    with np.load(path) as stored:
        model, rows, batch = _model(stored), stored["rows"], int(stored["batch"])
    runner = LocalRunner(model.predict, rows, batch)
    for line in sys.stdin:
        order, *numbers = line.split()
        result = np.asarray(getattr(runner, order)(*map(int, numbers)))
        print(json.dumps(result.tolist()), flush=True)


def _model(stored: Any) -> Any:
    """Its classifier, with the trained numbers put in place of training; the classes are 0 and 1."""
    import daal4py
    from sklearnex.svm import SVC

    daal4py.daalinit(1)  # one thread
    gamma, coef0, degree = stored["parameters"].tolist()
    vectors = stored["vectors"]
    model = SVC(kernel=str(stored["kernel"]), gamma=gamma, coef0=coef0, degree=int(degree))
    model.support_vectors_ = vectors
    model.dual_coef_ = stored["coefficients"]
    model.intercept_ = stored["intercepts"]
    model.classes_ = np.array([0, 1])
    model.n_features_in_ = vectors.shape[1]
    model._gamma = gamma
    model._sparse = False
    model.class_weight_ = np.ones(2)
    model._n_support = np.array([len(vectors), 0], dtype=np.int32)
    return model


if __name__ == "__main__":
    main(sys.argv[1])

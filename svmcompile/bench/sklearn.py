"""scikit-learn's own predict, on dense rows and, for a model trained on sparse ones, on CSR rows."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from svmcompile.bench.peers import LeftOut, PythonPeer, Subject
from svmcompile.bench.result import LocalRunner


def start(subject: Subject) -> PythonPeer:
    """predict on float64 rows, which it does not have to convert."""
    subject.machine()
    return _peer("scikit-learn", subject, subject.rows)


def start_csr(subject: Subject) -> PythonPeer:
    """predict on CSR rows."""
    from scipy.sparse import csr_matrix

    if not getattr(subject.machine(), "_sparse", False):
        raise LeftOut("")  # a model of dense rows refuses sparse ones: nothing to tell
    return _peer("scikit-learn, CSR rows", subject, csr_matrix(subject.rows))


def _peer(title: str, subject: Subject, rows: Any) -> PythonPeer:
    estimator: Any = subject.estimator
    return PythonPeer(title, LocalRunner(estimator.predict, rows, subject.batch), version("scikit-learn"))

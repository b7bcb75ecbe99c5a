"""scikit-learn's own predict, on dense rows and, for a model trained on sparse ones, on CSR rows."""

from __future__ import annotations

import pickle
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from svmcompile.bench.peers import LeftOut, PythonPeer, Subject
from svmcompile.bench.result import LocalRunner


def start(subject: Subject) -> PythonPeer:
    """predict on float64 rows, which it does not have to convert; on frames where it learnt names from one.

    Rows without those names would make it warn at every call, within the clock.
    """
    subject.machine()
    frame = subject.frame()
    if frame is None:
        return _peer("scikit-learn", subject, subject.rows)
    return replace(_peer("scikit-learn, frames", subject, frame), like="ours-frames")


def start_csr(subject: Subject) -> PythonPeer:
    """predict on CSR rows."""
    from scipy.sparse import csr_matrix

    if not getattr(subject.machine(), "_sparse", False):
        raise LeftOut("")  # a model of dense rows refuses sparse ones: nothing to tell
    return _peer("scikit-learn, CSR rows", subject, csr_matrix(subject.rows))


def _peer(title: str, subject: Subject, rows: Any) -> PythonPeer:
    estimator: Any = subject.estimator
    size = len(pickle.dumps(estimator))
    runner = LocalRunner(estimator.predict, rows, subject.batch)
    return PythonPeer(title, runner, version("scikit-learn"), size)

"""scikit-learn's own predict, on dense rows and, for a model trained on sparse ones, on CSR rows."""

from __future__ import annotations

from svmcompile.bench.peers import LeftOut, PythonPeer, Subject
from svmcompile.bench.result import LocalRunner


def start(subject: Subject) -> PythonPeer:
    """predict on float64 rows, which it does not have to convert."""
    subject.machine()
    runner = LocalRunner(subject.estimator.predict, subject.rows, subject.batch)  # type: ignore[union-attr]
    return PythonPeer("scikit-learn", runner, _version())


def start_csr(subject: Subject) -> PythonPeer:
    """predict on CSR rows."""
    from scipy.sparse import csr_matrix

    if not getattr(subject.machine(), "_sparse", False):
        raise LeftOut("")  # a model of dense rows refuses sparse ones: nothing to tell
    predict = subject.estimator.predict  # type: ignore[union-attr]
    runner = LocalRunner(predict, csr_matrix(subject.rows), subject.batch)
    return PythonPeer("scikit-learn, CSR rows", runner, _version())


def _version() -> str:
    import sklearn

    return str(sklearn.__version__)

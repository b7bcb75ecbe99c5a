"""Estimators in files: skops, which is safe to open, and pickle, which needs the user's consent."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace

from svmcompile.errors import ReadError
from svmcompile.read.sklearn import read_estimator
from svmcompile.svm import SVM, Source


def read_skops(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The SVM in a skops file."""
    return _read(load_skops(content, where), content, where)


def read_pickle(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The SVM in a pickle or joblib file."""
    return _read(load_pickle(content, where, trust_pickle), content, where)


def _read(estimator: object, content: bytes, where: str) -> SVM:
    svm = read_estimator(estimator, where)
    return replace(svm, source=Source(svm.source.kind, hashlib.sha256(content).hexdigest()))


def load_pickle(content: bytes, where: str, trust_pickle: bool) -> object:
    """The object in a pickle or joblib file; nothing is unpickled without consent."""
    if not trust_pickle:
        raise ReadError(
            f"{where}: is a pickle, and opening a pickle can run any code in it; if you trust where it "
            "comes from, say so with --trust-pickle (Python: trust_pickle=True), "
            "or save the model with skops.io.dump or as LIBSVM text instead"
        )
    import joblib

    try:
        return joblib.load(io.BytesIO(content))
    except Exception as error:  # unpickling runs foreign code
        raise ReadError(f"{where}: cannot be unpickled ({type(error).__name__}: {error})") from None


def load_skops(content: bytes, where: str) -> object:
    """The object in a skops file that holds trusted types only."""
    import skops.io

    try:
        untrusted = skops.io.get_untrusted_types(data=content)
    except Exception as error:  # the file may be anything
        raise ReadError(f"{where}: is a damaged skops file ({type(error).__name__}: {error})") from None
    if untrusted:
        raise ReadError(
            f"{where}: holds types that skops does not trust: {', '.join(untrusted)}; "
            "save a plain scikit-learn estimator or Pipeline"
        )
    try:
        return skops.io.loads(content, trusted=[])
    except Exception as error:
        raise ReadError(f"{where}: is a damaged skops file ({type(error).__name__}: {error})") from None

"""read: a model file or an estimator becomes an SVM.

A new file format is one module here, one line in READERS and one rule in `detect.py`.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

from svmcompile.errors import OptionError, ReadError
from svmcompile.model.svm import SVM, Source
from svmcompile.read.detect import format_of, refuse_known
from svmcompile.read.limits import MAX_FEATURES

READERS: dict[str, str] = {
    "libsvm": "svmcompile.read.libsvm.model:read_text",
    "onnx": "svmcompile.read.onnx.model:read_onnx",
    "skops": "svmcompile.read.stored:load_skops",
    "pickle": "svmcompile.read.stored:load_pickle",
}


class Reader(Protocol):
    """A function that turns the bytes of a file into an SVM, or the estimator it holds.

    `where` names the file in messages.
    """

    def __call__(
        self, content: bytes, where: str, *, trust_pickle: bool, n_features: int | None
    ) -> object: ...


def read(
    source: object,
    *,
    format: str | None = None,
    trust_pickle: bool = False,
    n_features: int | None = None,
) -> SVM:
    """The SVM in a file (a path) or in a fitted estimator.

    `format` is a key of READERS and overrules what a file looks like.
    `n_features` matters for LIBSVM models, which do not store it; for others it must match.
    """
    content = content_of(source) if isinstance(source, (str, os.PathLike)) else b""
    return read_content(source, content, format, trust_pickle=trust_pickle, n_features=n_features)[0]


def read_content(
    source: object,
    content: bytes,
    format: str | None = None,
    *,
    trust_pickle: bool = False,
    n_features: int | None = None,
) -> tuple[SVM, object]:
    """The SVM in a file (path and content) or an estimator; with it the estimator, or else the path."""
    from svmcompile.read.sklearn.estimators import read_estimator

    _check_n_features(n_features)
    if isinstance(source, (str, os.PathLike)):
        where = os.fspath(source)
        reader = _reader(format or format_of(content, where), where)
        model = reader(content, where, trust_pickle=trust_pickle, n_features=n_features)
    elif format is not None:
        raise OptionError(f"format {format!r} is for files; got a {type(source).__name__}")
    else:
        where, model = type(source).__name__, source
    svm = model if isinstance(model, SVM) else read_estimator(model, where)
    if content and svm is not model:
        svm = replace(svm, source=Source(svm.source.kind, hashlib.sha256(content).hexdigest()))
    if n_features is not None and svm.n_features != n_features:
        raise ReadError(f"{where}: has {svm.n_features} features, n_features says {n_features}")
    return svm, source if svm is model else model


def content_of(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model file."""
    try:
        file = Path(path)
        if file.is_dir():
            raise ReadError(f"{path}: is a folder; pass a model file")
        if not file.exists():
            raise ReadError(f"{path}: there is no such file")
        if not file.is_file():
            raise ReadError(f"{path}: is not a regular file; pass a model file")
        return file.read_bytes()
    except (OSError, ValueError, TypeError) as error:
        raise ReadError(f"{path!r}: cannot be read ({error})") from None


def _reader(format: str, where: str) -> Reader:
    refuse_known(format, where)
    if format not in READERS:
        raise OptionError(f"unknown format {format!r}; known: {', '.join(READERS)}")
    module, function = READERS[format].split(":")
    return cast(Reader, getattr(importlib.import_module(module), function))


def _check_n_features(n_features: int | None) -> None:
    if n_features is None:
        return
    if (
        isinstance(n_features, bool)
        or not isinstance(n_features, int)
        or not 0 < n_features <= MAX_FEATURES
    ):
        raise OptionError(f"n_features is {n_features!r}; expected an integer in 1..{MAX_FEATURES}")

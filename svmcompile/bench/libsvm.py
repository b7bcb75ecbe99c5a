"""LIBSVM itself, called from C: its shared library, and the model as a file of its own format."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

from svmcompile.bench.peers import CPeer, LeftOut, Subject
from svmcompile.errors import UnsupportedError
from svmcompile.ir.program import Labels
from svmcompile.model.libsvm import layout_of, model_text
from svmcompile.model.svm import SVM, Source

CLASSIFIER = Source("SVC", "")  # one-class models count as such, so that their answers are indices too


def start(subject: Subject) -> CPeer:
    """The library that the package libsvm-official brings, or the system's."""
    svm = subject.original()
    library = _library()
    path = subject.work / "libsvm.model"
    write_model(svm, path)
    number = ctypes.c_int.in_dll(library, "libsvm_version").value
    version = f"{number // 100}.{number % 100:02d}"
    return CPeer("LIBSVM", "libsvm", path.name, version, library=Path(library._name))


def _library() -> Any:
    try:
        from libsvm.svm import libsvm
    except ImportError:
        raise
    except Exception as error:  # the package raises a bare Exception where its library is missing
        raise LeftOut(f"LIBSVM cannot be loaded: {error}") from None
    return libsvm


def write_model(svm: SVM, path: Path) -> None:
    """The kernel machine (without preprocessing) as LIBSVM text; labels are class indices."""
    if svm.n_sums > 1 and not svm.counts:
        raise LeftOut("LIBSVM has no one-vs-rest models")
    if svm.labels:
        svm = replace(svm, labels=Labels(tuple(range(len(svm.labels))), "<i8"), platt=None)
    try:
        layout = layout_of(replace(svm, source=CLASSIFIER))
    except UnsupportedError as error:
        raise LeftOut(str(error)) from None
    path.write_text(model_text(layout), encoding="ascii")

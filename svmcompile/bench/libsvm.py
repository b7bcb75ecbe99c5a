"""LIBSVM itself, called from C: its shared library, and the model as a file of its own format."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.bench.peers import CPeer, LeftOut, Subject
from svmcompile.model.svm import SVM, LabelRule

KINDS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
ZERO = 0.0


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
    with path.open("w", encoding="ascii") as file:
        file.writelines(_header(svm))
        file.write("SV\n")
        file.writelines(_vectors(svm))


def _header(svm: SVM) -> Iterator[str]:
    kernel = svm.kernel
    yield f"svm_type {'epsilon_svr' if svm.label_rule is LabelRule.NONE else 'c_svc'}\n"
    yield f"kernel_type {KINDS[kernel.kind]}\n"
    if kernel.kind == "poly":
        yield f"degree {kernel.degree}\n"
    if kernel.kind != "linear":
        yield f"gamma {kernel.gamma!r}\n"
    if kernel.kind in ("poly", "sigmoid"):
        yield f"coef0 {kernel.coef0!r}\n"
    labels, counts = _classes(svm)
    yield f"nr_class {len(counts)}\ntotal_sv {svm.n_vectors}\n"
    yield f"rho {' '.join(repr(ZERO - float(value)) for value in svm.intercepts)}\n"
    if svm.label_rule is not LabelRule.NONE:
        yield f"label {' '.join(map(str, labels))}\nnr_sv {' '.join(map(str, counts))}\n"


def _classes(svm: SVM) -> tuple[list[int], list[int]]:
    """Class indices in the order LIBSVM wants, and how many vectors each has.

    For two classes it answers the first label above zero, and how the vectors
    are shared out between the two does not matter.
    """
    if svm.counts:
        if svm.label_rule is not LabelRule.VOTE:
            raise LeftOut("LIBSVM does not break ties by scores")
        return list(range(len(svm.counts))), list(svm.counts)
    if svm.n_sums > 1:
        raise LeftOut("LIBSVM has no one-vs-rest models")
    order = [0, 1] if svm.label_rule is LabelRule.POSITIVE_FIRST else [1, 0]
    return order, [svm.n_vectors, 0]


def _vectors(svm: SVM) -> Iterator[str]:
    for coefficients, vector in zip(svm.coefficients.T.tolist(), svm.vectors, strict=True):
        indices = np.flatnonzero(vector)
        weights = " ".join(map(repr, coefficients))
        entries = zip((indices + 1).tolist(), vector[indices].tolist(), strict=True)
        yield weights + " " + "".join(f"{index}:{value!r} " for index, value in entries) + "\n"

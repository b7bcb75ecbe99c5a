"""LIBSVM text models: the bytes of a file in, an SVM out.

Scores are LIBSVM's decision values, sum - rho, and labels follow its rules:
above zero is the first label of the file for two classes, the vote for more.

A model file does not store how many features there are. Unless the caller
says so, it is the largest index met; features beyond that are zero in every
vector, so an RBF model still depends on them: pass `n_features` for rows that
have more. Where a vector has the index 0, indices start there: ThunderSVM, which
writes the same text, does so for models trained on arrays.

Models trained with -b 1 have probabilities: `platt` holds probA and probB of a
classifier, `density_marks` those of a one-class model, and `noise_scale` is a
regressor's probA. Labels stay those of LIBSVM's predict without -b 1, which is
the vote; `most_probable` asks for the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.data.sparse import stays_sparse
from svmcompile.errors import ReadError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.read.kernels import (
    FROM_ZERO,
    MAX_ENTRIES,
    MAX_FEATURES,
    check_dense_size,
    entries_limit,
    make_kernel,
)
from svmcompile.read.libsvm.text import INT_MAX, INT_MIN, Header, Lines, Rows, read_header, read_rows, shown

CLASSIFIERS = ("c_svc", "nu_svc")
ONE_CLASS = "one_class"
REGRESSORS = ("epsilon_svr", "nu_svr")
TYPES = (*CLASSIFIERS, ONE_CLASS, *REGRESSORS)
KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
DENSITY_MARKS = 10  # as many as LIBSVM writes


def read_text(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The SVM in a model file; an error with file and line for any other bytes."""
    lines = Lines(content, where)
    header = read_header(lines)
    kind = _known(header, "svm_type", TYPES)
    n_classes = header.class_count(kind, CLASSIFIERS)
    intercepts = 0.0 - np.array(header.decimals("rho", _pairs(n_classes)))
    kernel = _kernel(header)
    rows = read_rows(lines, header.wholes("total_sv", 1, 0, INT_MAX)[0], n_classes - 1)
    given = kernel.kind == "precomputed"
    vectors = _points(rows, where) if given else vectors_of(rows, where, n_features, len(content))
    points = (n_features or int(vectors.max(initial=0)) + 1) if given else 0
    coefficients = np.array(rows.coefficients).reshape(len(rows), n_classes - 1).T.copy()
    library = "ThunderSVM" if header.ends_in_space else "LIBSVM"
    library += f" {FROM_ZERO}" if rows.from_zero and not given else ""
    source = Source(f"{library} {kind}", hashlib.sha256(content).hexdigest())
    svm = SVM(kernel, vectors, coefficients, intercepts, LabelRule.NONE, source, training_points=points)
    finish = _classifier if kind in CLASSIFIERS else _one_class if kind == ONE_CLASS else _regressor
    return finish(header, svm, n_classes).check(where)


def _pairs(n_classes: int) -> int:
    return n_classes * (n_classes - 1) // 2


def _known(header: Header, key: str, names: Iterable[str]) -> str:
    name = header.word(key)
    if name not in names:
        raise header.error(key, f"{key} {shown(name.encode())} is not known; known: {', '.join(names)}")
    return name


def _kernel(header: Header) -> Kernel:
    for key in ("gamma", "coef0", "degree"):
        if key in header:  # used or not: LIBSVM takes what stands behind a number for the next key
            header.decimals(key, 1)
    if header.word("kernel_type") == "precomputed":
        return Kernel("precomputed")
    kind = KERNELS[_known(header, "kernel_type", KERNELS)]
    gamma = header.decimals("gamma", 1)[0] if kind != "linear" else 1.0
    coef0 = header.decimals("coef0", 1)[0] if kind in ("poly", "sigmoid") else 0.0
    degree = header.wholes("degree", 1, 0, INT_MAX)[0] if kind == "poly" else 1
    return make_kernel(kind, gamma, coef0, degree, header.place("kernel_type"))


def _points(rows: Rows, where: str) -> Array:
    """Vectors of a precomputed kernel: the numbers of their points, which LIBSVM stores as 0:NUMBER."""
    numbers = np.array(rows.values)
    alone = len(numbers) == len(rows) and rows.largest == 0 and all(length == 1 for length in rows.lengths)
    if not alone or not ((numbers == np.floor(numbers)) & (numbers >= 1) & (numbers <= MAX_FEATURES)).all():
        raise ReadError(
            f"{where}: the kernel is precomputed, so each support vector must be 0:NUMBER, "
            f"the number of a training point in 1..{MAX_FEATURES}"
        )
    return numbers[:, None] - 1


def vectors_of(rows: Rows, where: str, n_features: int | None, n_bytes: int, least: int = 0) -> Any:
    """The support vectors, `least` features wide unless the caller says how wide.

    Dense, unless the table is large and mostly zeros.
    """
    first = 0 if rows.from_zero else 1
    largest = rows.largest + 1 - first
    width = max(largest, least) if n_features is None else n_features
    if largest > width:
        raise ReadError(
            f"{where}:{rows.largest_line}: feature index {rows.largest}, but n_features is {n_features}"
        )
    if width < 1:
        raise ReadError(f"{where}: no vector has a feature, so their number is unknown; pass n_features")
    # Features that the caller asks for are no surprise, whatever the size of the file.
    limit = MAX_ENTRIES if n_features else entries_limit(n_bytes)
    columns = np.array(rows.indices, dtype=np.int64) - first
    if stays_sparse((len(rows), width), len(rows.values)):
        from svmcompile.data.csr import Csr, canonical

        check_dense_size(1, width, where, limit)
        ends = np.cumsum([0, *rows.lengths])
        return canonical(Csr((np.array(rows.values), columns, ends), shape=(len(rows), width)))
    check_dense_size(len(rows), width, where, limit)
    vectors = np.zeros((len(rows), width))
    row_of = np.repeat(np.arange(len(rows)), np.array(rows.lengths, dtype=np.int64))
    vectors[row_of, columns] = np.array(rows.values)
    return vectors


def _classifier(header: Header, svm: SVM, n_classes: int) -> SVM:
    """c_svc and nu_svc."""
    _refuse(header, ("prob_density_marks",))
    labels = header.wholes("label", n_classes, INT_MIN, INT_MAX)
    if len(set(labels)) != n_classes:
        raise header.error("label", "a label appears twice")
    counts = header.wholes("nr_sv", n_classes, 0, INT_MAX)
    if sum(counts) != svm.n_vectors:
        raise header.error("nr_sv", f"nr_sv adds up to {sum(counts)}, total_sv is {svm.n_vectors}")
    return replace(
        svm,
        label_rule=LabelRule.POSITIVE_FIRST if n_classes == 2 else LabelRule.VOTE,
        labels=Labels(tuple(labels), np.dtype(np.int64).str),
        counts=() if n_classes == 2 else tuple(counts),
        platt=_platt(header, n_classes),
    )


def _platt(header: Header, n_classes: int) -> tuple[Array, Array] | None:
    if "probA" not in header and "probB" not in header:
        return None
    pairs = _pairs(n_classes)
    return np.array(header.decimals("probA", pairs)), np.array(header.decimals("probB", pairs))


def _one_class(header: Header, svm: SVM, n_classes: int) -> SVM:
    """Above zero is an inlier."""
    _refuse(header, ("label", "nr_sv", "probA", "probB"))
    return replace(
        svm,
        label_rule=LabelRule.POSITIVE_SECOND,
        labels=Labels((-1, 1), np.dtype(np.int64).str),
        density_marks=_marks(header),
    )


def _marks(header: Header) -> Array | None:
    key = "prob_density_marks"
    if key not in header:
        return None
    marks = np.array(header.decimals(key, DENSITY_MARKS))
    if (np.diff(marks) < 0).any():
        raise header.error(key, f"{key} do not rise")
    return marks


def _regressor(header: Header, svm: SVM, n_classes: int) -> SVM:
    """epsilon_svr and nu_svr: the score is the value."""
    _refuse(header, ("label", "nr_sv", "probB", "prob_density_marks"))
    return replace(svm, noise_scale=header.decimals("probA", 1)[0] if "probA" in header else None)


def _refuse(header: Header, keys: tuple[str, ...]) -> None:
    for key in keys:
        zeros = key in ("label", "nr_sv") and {*header.values.get(key, ())} == {b"0"}  # as R's e1071 writes
        if key in header and not zeros:
            raise header.error(key, f"{key} does not belong in a model of type {header.word('svm_type')}")

"""LIBSVM itself, through its Python package: a model file in, labels, decision values, probabilities out.

The package's own `svm_predict` is not used: it makes its buffer for decision
values too small for nu_svc models of three or more classes, and takes one
Python loop per feature.
"""

from __future__ import annotations

import ctypes
import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.kernels import FROM_ZERO
from svmcompile.read.original import Original, rows_of

Floats = NDArray[np.float64]
CHUNK_NODES = 1 << 22


class LibsvmModel:
    """A model loaded by LIBSVM. Raises ImportError where the package is missing."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._api = _import_api()
        self._model = self._api.libsvm.svm_load_model(os.fsencode(path))
        if not self._model:
            raise ReadError(f"{path}: LIBSVM itself cannot load this model")

    def __del__(self) -> None:
        if getattr(self, "_model", None):
            self._api.libsvm.svm_free_and_destroy_model(ctypes.byref(self._model))

    @property
    def version(self) -> str:
        """Such as 3.37."""
        number = ctypes.c_int.in_dll(self._api.libsvm, "libsvm_version").value
        return f"{number // 100}.{number % 100:02d}"

    def run(self, rows: Floats, n_scores: int, first: int = 1) -> tuple[Floats, Floats]:
        """What svm_predict_values gives for each row: its result, and all decision values."""
        function = partial(self._api.libsvm.svm_predict_values, self._model)
        return run_rows(function, self._api.svm_node, rows, n_scores, first)

    def run_probability(self, rows: Floats, n_classes: int, first: int = 1) -> tuple[Floats, Floats]:
        """What svm_predict_probability gives for each row: its result, and all probabilities."""
        function = partial(self._api.libsvm.svm_predict_probability, self._model)
        return run_rows(function, self._api.svm_node, rows, n_classes, first)


def run_rows(function: Any, node: Any, rows: Any, width: int, first: int) -> tuple[Floats, Floats]:
    """The result and `width` values that a function of LIBSVM or LIBLINEAR gives for each row.

    Rows are an array, or compressed; zeros may be left out, but those of an array are not.
    """
    results = np.empty(len(rows))
    values = np.empty((len(rows), width))
    step = max(1, CHUNK_NODES // (rows.shape[1] + 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        nodes, starts = _nodes(rows[part], np.dtype(node), first)
        _run_chunk(function, node, nodes, starts, results[part], values[part])
    return results, values


def _nodes(rows: Any, node: Any, first: int) -> tuple[Any, NDArray[np.intp]]:
    """C arrays of nodes, each row ending with index -1, and where each row begins."""
    n, width = rows.shape
    if isinstance(rows, np.ndarray):
        counts, indices, values = np.full(n, width), np.tile(np.arange(width), n), rows.ravel()
    else:
        counts, indices, values = np.diff(rows.indptr), rows.indices, rows.data
    starts = np.concatenate([[0], np.cumsum(counts + 1)])
    nodes = np.zeros(starts[-1], dtype=node)
    held = np.ones(len(nodes), dtype=bool)
    held[starts[1:] - 1] = False
    nodes["index"][held], nodes["value"][held] = indices + first, values
    nodes["index"][~held] = -1
    return nodes, starts[:-1]


def _run_chunk(
    function: Any, node: Any, nodes: Any, starts: NDArray[np.intp], results: Floats, values: Floats
) -> None:
    """Fill `results` and `values`."""
    pointer, double = ctypes.POINTER(node), ctypes.POINTER(ctypes.c_double)
    for index, start in enumerate(starts.tolist()):
        x = ctypes.cast(nodes.ctypes.data + start * nodes.itemsize, pointer)
        out = ctypes.cast(values.ctypes.data + index * values.strides[0], double)
        results[index] = function(x, out)


def _import_api() -> Any:
    try:
        import libsvm.svm as api
    except Exception as error:  # the package raises a bare Exception where its C library is missing
        raise ImportError(str(error)) from None
    return api


def load_libsvm(path: str | os.PathLike[str], svm: SVM) -> Original:
    """A model as LIBSVM runs it. Raises ImportError where the package is missing."""
    model = LibsvmModel(path)

    given = svm.kernel.kind == "precomputed"
    first = 0 if given or FROM_ZERO in svm.source.kind else 1

    def rows(data: Any) -> Floats:
        found = rows_of(data, svm)
        return np.insert(found, 0, 1.0, axis=1) if given else found  # such rows begin with their number

    def predict(data: Any) -> NDArray[Any]:
        results, _ = model.run(rows(data), svm.n_sums, first)
        return results if svm.labels is None else results.astype(svm.labels.dtype)

    def decision_function(data: Any) -> NDArray[Any]:
        _, scores = model.run(rows(data), svm.n_sums, first)
        return scores[:, 0] if svm.n_sums == 1 else scores

    def probabilities(data: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        return model.run_probability(rows(data), len(svm.labels or ()), first)

    def predict_proba(data: Any) -> NDArray[Any]:
        found = probabilities(data)[1]
        return found[:, ::-1] if svm.density_marks is not None else found  # LIBSVM has the inlier first

    def most_probable(data: Any) -> NDArray[Any]:
        assert svm.labels
        return probabilities(data)[0].astype(svm.labels.dtype)

    return Original(
        f"LIBSVM {model.version}",
        most_probable if svm.most_probable else predict,
        None if svm.label_rule is LabelRule.NONE else decision_function,
        predict_proba if svm.has_probabilities else None,
    )

"""LIBSVM itself, through its Python package: a model file in, labels, decision values, probabilities out.

The package's own `svm_predict` is not used: it makes its buffer for decision
values too small for nu_svc models of three or more classes, and takes one
Python loop per feature.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError

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

    def run(self, rows: Floats, n_scores: int) -> tuple[Floats, Floats]:
        """What svm_predict_values gives for each row: its result, and all decision values."""
        return self._run(self._api.libsvm.svm_predict_values, rows, n_scores)

    def run_probability(self, rows: Floats, n_classes: int) -> tuple[Floats, Floats]:
        """What svm_predict_probability gives for each row: its result, and all probabilities."""
        return self._run(self._api.libsvm.svm_predict_probability, rows, n_classes)

    def _run(self, function: Any, rows: Any, width: int) -> tuple[Floats, Floats]:
        """Rows are an array, or compressed; LIBSVM may leave out zeros, but gets those of an array."""
        results = np.empty(len(rows))
        values = np.empty((len(rows), width))
        step = max(1, CHUNK_NODES // (rows.shape[1] + 1))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            nodes, starts = self._nodes(rows[part])
            self._run_chunk(function, nodes, starts, results[part], values[part])
        return results, values

    def _nodes(self, rows: Any) -> tuple[Any, NDArray[np.intp]]:
        """C arrays of nodes, each row ending with index -1, and where each row begins."""
        n, width = rows.shape
        if isinstance(rows, np.ndarray):
            counts, indices, values = np.full(n, width), np.tile(np.arange(width), n), rows.ravel()
        else:
            counts, indices, values = np.diff(rows.indptr), rows.indices, rows.data
        starts = np.concatenate([[0], np.cumsum(counts + 1)])
        nodes = np.zeros(starts[-1], dtype=np.dtype(self._api.svm_node))
        held = np.ones(len(nodes), dtype=bool)
        held[starts[1:] - 1] = False
        nodes["index"][held], nodes["value"][held] = indices + 1, values
        nodes["index"][~held] = -1
        return nodes, starts[:-1]

    def _run_chunk(
        self, function: Any, nodes: Any, starts: NDArray[np.intp], results: Floats, values: Floats
    ) -> None:
        """Fill `results` and `values`."""
        node, double = ctypes.POINTER(self._api.svm_node), ctypes.POINTER(ctypes.c_double)
        for index, start in enumerate(starts.tolist()):
            x = ctypes.cast(nodes.ctypes.data + start * nodes.itemsize, node)
            out = ctypes.cast(values.ctypes.data + index * values.strides[0], double)
            results[index] = function(self._model, x, out)


def _import_api() -> Any:
    try:
        import libsvm.svm as api
    except Exception as error:  # the package raises a bare Exception where its C library is missing
        raise ImportError(str(error)) from None
    return api

"""LIBLINEAR itself, through its Python package: a model file in, labels, values, probabilities out."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError
from svmcompile.model.svm import SVM
from svmcompile.read.liblinear.model import CRAMMER_SINGER
from svmcompile.read.libsvm.original import run_rows
from svmcompile.read.original import Original, rows_of


def load_liblinear(path: str | os.PathLike[str], svm: SVM) -> Original:
    """A model as LIBLINEAR runs it. Raises ImportError where the package is missing."""
    try:
        import liblinear.liblinear as api
    except Exception as error:  # the package raises a bare Exception where its C library is missing
        raise ImportError(str(error)) from None
    pointer: Any = api.liblinear.load_model(os.fsencode(path))
    if not pointer:
        raise ReadError(f"{path}: LIBLINEAR itself cannot load this model")
    model = api.toPyModel(pointer)  # frees it in the end
    columns = 2 if svm.source.kind.endswith(CRAMMER_SINGER) else 1
    columns = columns if model.nr_class == 2 else model.nr_class

    def run(name: str, data: Any, width: int) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = rows_of(data, svm)
        if model.bias >= 0:
            rows = np.insert(rows, svm.n_features, model.bias, axis=1)
        function = partial(getattr(api.liblinear, name), model)
        return run_rows(function, api.feature_node, rows, width, 1)

    def predict(data: Any) -> NDArray[Any]:
        results = run("predict_values", data, columns)[0]
        return results if svm.labels is None else results.astype(svm.labels.dtype)

    def decision_function(data: Any) -> NDArray[Any]:
        values = run("predict_values", data, columns)[1]
        return values[:, 0] if svm.n_sums == 1 else values

    def predict_proba(data: Any) -> NDArray[Any]:
        return run("predict_probability", data, model.nr_class)[1]

    def most_probable(data: Any) -> NDArray[Any]:
        assert svm.labels  # LIBLINEAR's own label is that of the values, with probabilities too
        return np.asarray(svm.labels.array()[predict_proba(data).argmax(axis=1)])

    return Original(
        "LIBLINEAR",
        most_probable if svm.most_probable else predict,
        None if svm.labels is None else decision_function,
        predict_proba if svm.has_probabilities else None,
    )

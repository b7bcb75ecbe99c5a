"""OpenCV itself: a model file in, labels and decision values out, computed in float32."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError
from svmcompile.model.svm import SVM
from svmcompile.read.original import Original, rows_of


def load_opencv(path: str | os.PathLike[str], svm: SVM) -> Original:
    """A model as OpenCV runs it; of three classes or more it gives labels alone.

    Raises ImportError where the package, or its module ml, is missing.
    """
    import cv2

    if not hasattr(cv2, "ml"):  # OpenCV 5 has it in another package
        raise ImportError("cv2 has no module ml")
    try:
        machine: Any = cv2.ml.SVM.load(os.fspath(path))
    except cv2.error as error:
        raise ReadError(f"{path}: OpenCV itself cannot load this model ({error})") from None
    _check(machine, svm, path)

    def run(data: Any, flags: int) -> NDArray[Any]:
        _, found = machine.predict(rows_of(data, svm).astype(np.float32), flags=flags)
        return np.asarray(found[:, 0], dtype=np.float64)

    def values(data: Any) -> NDArray[Any]:
        return run(data, cv2.ml.STAT_MODEL_RAW_OUTPUT)

    def labels(data: Any) -> NDArray[Any]:
        assert svm.labels
        return run(data, 0).astype(svm.labels.dtype)

    name = f"OpenCV {cv2.__version__}"
    if svm.labels is None:
        return Original(name, values, None, precision="f32")
    return Original(name, labels, values if len(svm.labels) == 2 else None, precision="f32")


def _check(machine: Any, svm: SVM, path: object) -> None:
    """OpenCV follows its indices without a look at how many vectors there are."""
    n_vectors = len(machine.getSupportVectors())
    counts = range(svm.n_sums)
    indices = np.concatenate([machine.getDecisionFunction(pair)[2].ravel() for pair in counts])
    inside = (indices >= 0) & (indices < n_vectors)
    if machine.getVarCount() != svm.n_features or not inside.all():
        raise ReadError(f"{path}: OpenCV itself reads other numbers in this model; save it again")

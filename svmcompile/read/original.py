"""Estimators in files; and models run by the library that made them, to compare compiled ones with."""

from __future__ import annotations

import importlib
import io
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows, side_by_side
from svmcompile.data.text import as_texts, is_text
from svmcompile.errors import OptionError, ReadError, UnsupportedError, VerifyError
from svmcompile.ir.arithmetic import Number
from svmcompile.model.svm import SVM
from svmcompile.plugins.entries import guarded
from svmcompile.read import READERS, content_of, format_of, plugged_reader, read_content

Run = Callable[[Any], NDArray[Any]]
ORIGINALS = {  # formats of libraries that can run their own files
    "libsvm": "svmcompile.read.libsvm.original:load_libsvm",
    "liblinear": "svmcompile.read.liblinear.original:load_liblinear",
    "opencv": "svmcompile.read.opencv.original:load_opencv",
}
HOLDERS = ("skops", "pickle")  # formats whose files hold an estimator


@dataclass(frozen=True)
class Original:
    """Labels (or a regressor's values) and scores, [n] or [n, k] float64, as the library gives them.

    Rows are passed on as float64 copies, whatever they come in, so that the
    library neither rounds preprocessing to float32 nor changes the caller's data.
    """

    name: str
    predict: Run
    decision_function: Run | None
    predict_proba: Run | None = None
    score_samples: Run | None = None
    predict_std: Run | None = None
    exact: Any = None  # the program of what the library adds up, for its rounding errors
    precision: Number = "f64"  # what the library computes in


def load_original(
    source: object, svm: SVM, trust_pickle: bool = False, format: str | None = None
) -> Original | None:
    """The original behind a source that `read` has read into `svm`; None if its library is missing.

    None for ONNX too: its SVM nodes compute in float32 and were compared by the reader.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _from_estimator(source, svm)
    where = os.fspath(source)
    format = format or format_of(content_of(source), where)
    if format in ORIGINALS:
        module, function = ORIGINALS[format].split(":")
        try:
            found: Original = getattr(importlib.import_module(module), function)(source, svm)
        except ImportError:
            return None
        return found
    if format not in (*READERS, "svmc"):
        return _from_plugin(format, source, svm)
    if format not in HOLDERS:
        return None
    _, estimator = read_content(source, content_of(source), format, trust_pickle=trust_pickle)
    return _from_estimator(estimator, svm)


def _from_plugin(format: str, source: Any, svm: SVM) -> Original | None:
    plugin, reader = plugged_reader(format)
    if reader.original is None:
        return None
    found = guarded(plugin, reader.original)(source, svm)
    runs = [getattr(found, name, None) for name in ("predict", "decision_function", "predict_proba")]
    own = [(lambda data, run=run: np.asarray(run(rows_of(data, svm)))) if run else None for run in runs]
    if own[0] is None:
        raise plugin.error("gave an original that cannot predict")
    return Original(f"{plugin.name} ({plugin.package})", own[0], own[1], own[2])


def rows_of(data: Any, svm: SVM) -> Any:
    if svm.text:
        if not is_text(data):
            raise OptionError("the original takes texts, and was given numbers; pass the texts")
        return as_texts(data)
    rows: Any = as_rows(data, svm.n_features, svm.feature_names, svm.categories)
    if not isinstance(rows, np.ndarray):  # large and sparse
        return rows.astype(np.float64)
    return np.array(rows, dtype=np.float64, order="C")


def _named(rows: Any, svm: SVM) -> Any:
    """The rows as a frame where the model knows names, by which it may pick its columns."""
    if not isinstance(rows, np.ndarray):
        from scipy.sparse import csr_matrix

        return csr_matrix(rows) if svm.is_sparse and not svm.text else np.asarray(rows)
    return svm.categories.frame(rows, svm.feature_names)


def _from_estimator(estimator: Any, svm: SVM) -> Original:
    if not hasattr(estimator, "predict"):
        raise UnsupportedError(f"{type(estimator).__name__} cannot predict; pass the fitted estimator")

    def runner(method: str, **options: Any) -> Run:
        def run(data: Any) -> NDArray[Any]:
            with warnings.catch_warnings():
                # The rows are in the model's order already, perhaps without their names.
                warnings.filterwarnings("ignore", message=".*feature names", category=UserWarning)
                rows = _named(rows_of(data, svm), svm)
                return side_by_side(_answer(lambda: getattr(estimator, method)(rows, **options)))

        return run

    def offered(method: str) -> Run | None:
        return runner(method) if _answer(lambda: hasattr(estimator, method)) else None

    probabilities = offered("predict_proba") if svm.has_probabilities else None
    predict = (
        _most_probable(probabilities, svm) if svm.most_probable and probabilities else runner("predict")
    )
    samples = offered("score_samples") if svm.sample_offset is not None else None
    both = runner("predict", return_std=True) if _tells_deviations(estimator) else None
    deviation = (lambda data: np.asarray(both(data)[1])) if both else None
    scores = offered("decision_function")
    return Original(svm.source.kind, predict, scores, probabilities, samples, deviation)


def _tells_deviations(estimator: Any) -> bool:
    """Whether it, or the last step of a pipeline, gives standard deviations where it predicts."""
    last = getattr(estimator, "steps", [(None, estimator)])[-1][1]
    return type(last).__name__ == "GaussianProcessRegressor"


def _answer(call: Callable[[], Any]) -> Any:
    """What the estimator answers. Files may break it in ways that no reader meets."""
    try:
        return call()
    except Exception as error:
        told = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise VerifyError(f"the original refuses these rows: {told}") from error


def _most_probable(probabilities: Run, svm: SVM) -> Run:
    assert svm.labels
    labels = svm.labels.array()
    return lambda data: np.asarray(labels[probabilities(data).argmax(axis=1)])


def load_pickle(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None = None) -> object:
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

"""load for ONNX: an emitted `.onnx` file becomes a model that predicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.labels import Labels
from svmcompile.rows import as_rows

BLOCK_ROWS = 1024  # rows per call, which bounds the matrix of kernel values

Run = Callable[[NDArray[Any]], dict[str, NDArray[Any]]]


class OnnxModel:
    """Runs an emitted model under scikit-learn's names.

    `backend` says what runs it, `number` the type it computes in.
    """

    def __init__(
        self,
        run: Run,
        backend: str,
        number: np.dtype[Any],
        labels: Labels | None,
        n_features: int,
        feature_names: tuple[str, ...],
    ) -> None:
        self._run = run
        self.backend = backend
        self.number = number
        self.labels = labels
        self.n_features = n_features
        self.feature_names = feature_names

    @property
    def precision(self) -> Literal["f32", "f64"]:
        """The number type as the compiler names it."""
        return "f32" if self.number == np.float32 else "f64"

    def outputs(self, rows: Any) -> dict[str, NDArray[Any]]:
        """Every output of the graph by name, for any number of rows."""
        matrix = as_rows(rows, self.n_features, self.feature_names)
        with np.errstate(over="ignore"):  # beyond float's range is infinity
            matrix = np.ascontiguousarray(matrix, self.number)
        starts = range(0, len(matrix), BLOCK_ROWS) or range(1)  # no rows still have a shape
        parts = [self._run(matrix[at : at + BLOCK_ROWS]) for at in starts]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def predict(self, rows: Any) -> NDArray[Any]:
        """Labels of the original dtype, or values for a regressor."""
        outputs = self.outputs(rows)
        if "label" not in outputs:
            return outputs["value"].astype(np.float64)
        return outputs["label"].astype(self.labels.dtype) if self.labels else outputs["label"]

    def decision_function(self, rows: Any) -> NDArray[np.float64]:
        """Scores in the original's shape: [n] for one score, else [n, scores]."""
        outputs = self.outputs(rows)
        if "scores" not in outputs:
            use = "a regressor's value comes from predict" if "value" in outputs else "use predict"
            raise UnsupportedError(f"this model has no decision function; {use}")
        scores = outputs["scores"].astype(np.float64)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def load_onnx(
    content_or_path: bytes | str | Path,
    labels: Labels | None,
    n_features: int,
    feature_names: tuple[str, ...] = (),
) -> OnnxModel:
    """The model in ONNX Runtime where it is installed, else in the slow reference of `onnx`."""
    content, where = _content(content_or_path)
    try:
        import onnxruntime
    except ImportError:
        start, backend = _reference, "onnx reference"
    else:
        start, backend = _session, f"onnxruntime {onnxruntime.__version__}"
    try:
        run, number = start(content)
    except Exception as error:  # each run time has its own errors, with no common root
        raise ReadError(f"{where}: {backend} cannot load the model: {error}") from error
    return OnnxModel(run, backend, number, labels, n_features, feature_names)


def _content(source: bytes | str | Path) -> tuple[bytes, str]:
    """The file's bytes, and what to call it in messages."""
    if isinstance(source, bytes):
        return source, "ONNX model"
    try:
        return Path(source).read_bytes(), str(source)
    except OSError as error:
        raise ReadError(f"{source}: cannot be read: {error.strerror}") from None


def _session(content: bytes) -> tuple[Run, np.dtype[Any]]:
    """A single-threaded session: figures that repeat, and no fight over cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    (entry,) = session.get_inputs()

    def run(rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return dict(zip(names, map(np.asarray, session.run(names, {entry.name: rows})), strict=True))

    return run, np.dtype(np.float32 if entry.type == "tensor(float)" else np.float64)


def _reference(content: bytes) -> tuple[Run, np.dtype[Any]]:
    """onnx's own evaluator: pure numpy."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_from_string(content)
    evaluator = ReferenceEvaluator(model)
    (entry,) = model.graph.input
    element = entry.type.tensor_type.elem_type

    def run(rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        with np.errstate(all="ignore"):  # infinities and NaN are part of the meaning
            results = evaluator.run(None, {entry.name: rows})
        return dict(zip(evaluator.output_names, map(np.asarray, results), strict=True))

    return run, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element))

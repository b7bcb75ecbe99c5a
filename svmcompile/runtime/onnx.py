"""load for ONNX: an emitted `.onnx` file becomes a model that predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows, check_complete
from svmcompile.errors import ReadError
from svmcompile.ir.program import Labels
from svmcompile.runtime.scikit import FrozenModel, given

BLOCK_ROWS = 1024  # rows per call, which bounds the matrix of kernel values

Run = Callable[[NDArray[Any], Sequence[str]], dict[str, NDArray[Any]]]  # rows and names of outputs


@dataclass(eq=False, repr=False)
class OnnxModel(FrozenModel):
    """Runs an emitted model under scikit-learn's names.

    `backend` says what runs it, `number` the type it computes in.
    """

    name: str
    _run: Run
    names: tuple[str, ...]
    backend: str
    number: np.dtype[Any]
    labels: Labels | None
    n_features: int
    feature_names: tuple[str, ...]
    may_miss: NDArray[np.bool_] | None = None  # features that the model fills in where they are NaN

    @property
    def precision(self) -> Literal["f32", "f64"]:
        """The number type as the compiler names it."""
        return "f32" if self.number == np.float32 else "f64"

    def outputs(self, rows: Any, *names: str) -> dict[str, NDArray[Any]]:
        """Some outputs of the graph by name, or all of them, for any number of rows."""
        matrix = as_rows(rows, self.n_features, self.feature_names)
        with np.errstate(over="ignore"):  # beyond float's range is infinity
            matrix = np.ascontiguousarray(matrix, self.number)
        wanted = names or self.names
        starts = range(0, len(matrix), BLOCK_ROWS) or range(1)  # no rows still have a shape
        parts = [self._run(matrix[at : at + BLOCK_ROWS], wanted) for at in starts]
        return {name: np.concatenate([part[name] for part in parts]) for name in wanted}

    def predict(self, rows: Any, allow_nan: bool = False) -> NDArray[Any]:
        """Labels of the original dtype, or values for a regressor; NaN as `BatchModel` has it."""
        rows = self._rows(rows, allow_nan)
        if "label" not in self.names:
            return self.outputs(rows, "value")["value"].astype(np.float64)
        label = self.outputs(rows, "label")["label"]
        return label.astype(self.labels.dtype) if self.labels else label

    @given
    def decision_function(self, rows: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Scores in the original's shape: [n] for one score, else [n, scores]."""
        scores = self._output(rows, allow_nan, "scores")
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @given
    def predict_proba(self, rows: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of the labels."""
        return self._output(rows, allow_nan, "probabilities")

    @given
    def score_samples(self, rows: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Raw scores of a one-class SVM: its decision values without their offset."""
        return self._output(rows, allow_nan, "score_samples")

    def _has(self, function: str) -> bool:
        known = {"decision_function": "scores", "score_samples": "score_samples"}
        return known.get(function, "probabilities") in self.names

    def _output(self, rows: Any, allow_nan: bool, name: str) -> NDArray[np.float64]:
        return self.outputs(self._rows(rows, allow_nan), name)[name].astype(np.float64)

    def _rows(self, data: Any, allow_nan: bool) -> NDArray[np.floating[Any]]:
        rows = as_rows(data, self.n_features, self.feature_names)
        if not allow_nan:
            check_complete(rows, self.feature_names, self.may_miss)
        return rows


def load_onnx(
    source: bytes | str | Path, labels: Labels | None, n_features: int, feature_names: tuple[str, ...] = (),
    name: str = "model",
) -> OnnxModel:  # fmt: skip
    """The model in ONNX Runtime where it is installed, else in the slow reference of `onnx`."""
    content, where = _content(source)
    try:
        import onnxruntime
    except ImportError:
        start, backend = _reference, "onnx reference"
    else:
        start, backend = _session, f"onnxruntime {onnxruntime.__version__}"
    try:
        run, names, number = start(content)
    except Exception as error:  # each run time has its own errors, with no common root
        raise ReadError(f"{where}: {backend} cannot load the model: {error}") from error
    return OnnxModel(name, run, names, backend, number, labels, n_features, feature_names)


def _content(source: bytes | str | Path) -> tuple[bytes, str]:
    """The file's bytes, and what to call it in messages."""
    if isinstance(source, bytes):
        return source, "ONNX model"
    try:
        return Path(source).read_bytes(), str(source)
    except OSError as error:
        raise ReadError(f"{source}: cannot be read: {error.strerror}") from None


def _session(content: bytes) -> tuple[Run, tuple[str, ...], np.dtype[Any]]:
    """A single-threaded session: figures that repeat, and no fight over cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    partly = onnxruntime.RunOptions()
    partly.only_execute_path_to_fetches = True  # labels do not wait for probabilities

    def run(rows: NDArray[Any], names: Sequence[str]) -> dict[str, NDArray[Any]]:
        results = session.run(list(names), {entry.name: rows}, partly)
        return dict(zip(names, map(np.asarray, results), strict=True))

    names = tuple(output.name for output in session.get_outputs())
    return run, names, np.dtype(np.float32 if entry.type == "tensor(float)" else np.float64)


def _reference(content: bytes) -> tuple[Run, tuple[str, ...], np.dtype[Any]]:
    """onnx's own evaluator: pure numpy."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_from_string(content)
    evaluator = ReferenceEvaluator(model)
    (entry,) = model.graph.input
    element = entry.type.tensor_type.elem_type

    def run(rows: NDArray[Any], names: Sequence[str]) -> dict[str, NDArray[Any]]:
        with np.errstate(all="ignore"):  # infinities and NaN are part of the meaning
            results = evaluator.run(list(names), {entry.name: rows})
        return dict(zip(names, map(np.asarray, results), strict=True))

    return run, tuple(evaluator.output_names), np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element))

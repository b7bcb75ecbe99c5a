"""load for ONNX: an emitted `.onnx` file becomes a model that predicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import NO_CATEGORIES, Categories
from svmcompile.data.rows import as_rows, check_complete
from svmcompile.data.text import NO_TEXT, Text, as_texts, is_text
from svmcompile.errors import ReadError
from svmcompile.ir.program import Labels
from svmcompile.runtime.scikit import FrozenModel, given
from svmcompile.targets.onnx.options import told_outputs

BLOCK_ROWS = 256  # rows per call: the matrix of their kernel values should stay in the cache
BLOCK_VALUES = 1 << 23  # numbers of rows per call, which bounds memory

Feed = Callable[[NDArray[Any]], dict[str, NDArray[Any]]]  # of rows, the inputs of a graph by name
Run = Callable[[NDArray[Any], Sequence[str]], list[Any]]  # of rows, the outputs of these names


@dataclass(frozen=True, eq=False)
class Started:
    """A graph that runs: the type and fixed number of its rows, and its outputs by what they mean."""

    run: Run
    outputs: Mapping[str, str]  # the graph's own name of each
    number: np.dtype[Any]
    batch: int  # 0 for any
    metadata: Mapping[str, str]

    @classmethod
    def of(
        cls, run: Run, names: Sequence[str], number: np.dtype[Any], rows: Any, metadata: Mapping[str, str]
    ) -> Started:
        """Names are those the graph tells in its metadata, else taken as they are."""
        told = told_outputs(metadata)
        outputs = {meaning: name for meaning, name in told.items() if name in names}
        outputs = outputs or {name: name for name in names}
        return cls(run, outputs, number, rows if isinstance(rows, int) and rows > 0 else 0, metadata)

    def call(self, rows: NDArray[Any], wanted: Sequence[str]) -> list[Any]:
        """The outputs of some rows; those short of a fixed number are filled up with zeros."""
        count = len(rows)
        if count < self.batch:
            rows = np.concatenate([rows, np.zeros((self.batch - count, rows.shape[1]), rows.dtype)])
        parts = self.run(rows, [self.outputs[name] for name in wanted])
        return [_beside(part)[:count] for part in parts]


@dataclass(eq=False, repr=False)
class OnnxModel(FrozenModel):
    """Runs an emitted model under scikit-learn's names.

    `backend` says what runs it, `number` the type of its rows.
    """

    name: str
    _graph: Started
    backend: str
    labels: Labels | None
    n_features: int
    feature_names: tuple[str, ...]
    may_miss: NDArray[np.bool_] | None = None  # features that the model fills in where they are NaN
    text: Text = NO_TEXT  # how text becomes rows, where the model is one of text
    categories: Categories = NO_CATEGORIES  # of features that are text

    @property
    def names(self) -> tuple[str, ...]:
        """Its outputs by what they mean, whatever the graph calls them."""
        return tuple(self._graph.outputs)

    @property
    def number(self) -> np.dtype[Any]:
        """The type of its rows."""
        return self._graph.number

    @property
    def precision(self) -> Literal["f32", "f64"]:
        """What it computes in."""
        told = self._graph.metadata.get("precision", "f32" if self.number == np.float32 else "f64")
        return "f32" if told == "f32" else "f64"

    def outputs(self, rows: Any, *names: str) -> dict[str, NDArray[Any]]:
        """Some outputs of the graph by name, or all of them, for any number of rows."""
        if self.text and is_text(rows):
            some = [self.outputs(self.text.rows(rows[part]), *names) for part in self.text.chunks(rows)]
            return {name: np.concatenate([part[name] for part in some]) for name in some[0]}
        matrix = as_rows(rows, self.n_features, self.feature_names, self.categories)
        wanted, most = names or self.names, max(1, BLOCK_VALUES // matrix.shape[1])
        size = self._graph.batch or min(BLOCK_ROWS, most)
        starts = range(0, len(matrix), size) or range(1)  # no rows still have a shape
        with np.errstate(over="ignore"):  # beyond float's range is infinity
            blocks = (np.ascontiguousarray(matrix[at : at + size], self.number) for at in starts)
            parts = [self._graph.call(block, wanted) for block in blocks]
        return {name: self._joined(some) for name, *some in zip(wanted, *parts, strict=True)}

    def _joined(self, parts: list[Any]) -> NDArray[Any]:
        """One array of several parts; of maps, their values in the order of the labels."""
        if not isinstance(parts[0], list):
            return np.concatenate(parts)
        keys = self.labels.values if self.labels else ()
        found = [[row[key] for key in keys] for part in parts for row in part]
        return np.array(found, np.float64).reshape(-1, len(keys))

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
    def predict_proba(self, rows: Any, allow_nan: bool = False) -> Any:
        """Probabilities of the classes, in the order of the labels; of several targets a list of such."""
        found = self._output(rows, allow_nan, "probabilities")
        return self.labels.by_target(found) if self.labels else found

    @given
    def score_samples(self, rows: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Raw scores of a one-class SVM: its decision values without their offset."""
        return self._output(rows, allow_nan, "score_samples")

    @given
    def predict_std(self, rows: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Standard deviations of the values of a Gaussian process."""
        return self._output(rows, allow_nan, "std")

    def _has(self, function: str) -> bool:
        known = {"decision_function": "scores", "score_samples": "score_samples", "predict_std": "std"}
        return known.get(function, "probabilities") in self.names

    def _output(self, rows: Any, allow_nan: bool, name: str) -> NDArray[np.float64]:
        return self.outputs(self._rows(rows, allow_nan), name)[name].astype(np.float64)

    def _rows(self, data: Any, allow_nan: bool) -> Any:
        if self.text and is_text(data):
            return as_texts(data)
        rows = as_rows(data, self.n_features, self.feature_names, self.categories)
        if not allow_nan:
            check_complete(rows, self.feature_names, self.may_miss)
        return rows


def _beside(part: Any) -> Any:
    """An output; of a sequence of tensors, these side by side."""
    is_sequence = isinstance(part, list) and part and isinstance(part[0], np.ndarray)
    return np.concatenate(part, axis=1) if is_sequence else part


def load_onnx(
    source: bytes | str | Path, labels: Labels | None, n_features: int, feature_names: tuple[str, ...] = (),
    name: str = "model", categories: Categories = NO_CATEGORIES,
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
        graph = start(content, categories)
    except Exception as error:  # each run time has its own errors, with no common root
        raise ReadError(f"{where}: {backend} cannot load the model: {error}") from error
    return OnnxModel(name, graph, backend, labels, n_features, feature_names)


def _content(source: bytes | str | Path) -> tuple[bytes, str]:
    """The file's bytes, and what to call it in messages."""
    if isinstance(source, bytes):
        return source, "ONNX model"
    try:
        return Path(source).read_bytes(), str(source)
    except OSError as error:
        raise ReadError(f"{source}: cannot be read: {error.strerror}") from None


def _fed(names: list[str], columns: str | None, categories: Categories) -> Feed:
    """How a graph is given rows: as they are, or the columns that its metadata name, texts for codes."""
    places = [] if columns is None else json.loads(columns)

    def feed(rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        if columns is None:
            return {names[0]: rows}
        held = categories.decoded(rows)
        return {name: _column(held[at]) for name, at in zip(names, places, strict=True)}

    return feed


def _column(values: NDArray[Any]) -> NDArray[Any]:
    """One column for a graph, in which a missing text is an empty one."""
    if values.dtype == object:
        values = np.array([one if isinstance(one, str) else "" for one in values.tolist()], dtype=object)
    return np.ascontiguousarray(values[:, None])


def _session(content: bytes, categories: Categories) -> Started:
    """A single-threaded session: figures that repeat, and no fight over cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    entries, metadata = session.get_inputs(), session.get_modelmeta().custom_metadata_map
    feed = _fed([entry.name for entry in entries], metadata.get("columns"), categories)
    partly = onnxruntime.RunOptions()
    partly.only_execute_path_to_fetches = True  # labels do not wait for probabilities

    def run(rows: NDArray[Any], names: Sequence[str]) -> list[Any]:
        found: list[Any] = session.run(list(names), feed(rows), partly)
        return found

    names = [output.name for output in session.get_outputs()]
    single = any(entry.type == "tensor(float)" for entry in entries)
    number = np.dtype(np.float32 if single else np.float64)
    return Started.of(run, names, number, entries[0].shape[0], metadata)


def _reference(content: bytes, categories: Categories) -> Started:
    """onnx's own evaluator: pure numpy."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_from_string(content)
    evaluator = ReferenceEvaluator(model)
    told = {entry.key: entry.value for entry in model.metadata_props}
    feed = _fed([entry.name for entry in model.graph.input], told.get("columns"), categories)
    tensors = [entry.type.tensor_type for entry in model.graph.input]
    wrong = _wrong_in_reference(model)

    def run(rows: NDArray[Any], names: Sequence[str]) -> list[Any]:
        if {*wrong} & {*names}:
            raise ReadError(
                "the reference of onnx couples probabilities wrongly; install onnxruntime, or compile with "
                "--onnx-form plain"
            )
        with np.errstate(all="ignore"):  # infinities and NaN are part of the meaning
            found: list[Any] = evaluator.run(list(names), feed(rows))
        return found

    single = any(tensor.elem_type == onnx.TensorProto.FLOAT for tensor in tensors)
    number = np.dtype(np.float32 if single else np.float64)
    return Started.of(run, evaluator.output_names, number, tensors[0].shape.dim[0].dim_value, told)


def _wrong_in_reference(model: Any) -> list[str]:
    """Outputs that come from coupled probabilities of three classes or more."""
    bad: set[str] = set()
    for node in model.graph.node:
        told = {attribute.name: attribute for attribute in node.attribute}
        if "prob_a" in told and len(told["classlabels_ints"].ints) > 2:
            bad.add(node.output[1])
        elif bad & {*node.input}:
            bad |= {*node.output}
    return [output.name for output in model.graph.output if output.name in bad]

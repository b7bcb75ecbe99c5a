"""Is it the same model? The nodes of an ONNX file run on random rows, beside the SVM read from them.

What runs is made anew of nodes whose operators, sizes and constants have been
checked, in ONNX Runtime if it is installed and takes the model, else in the
reference evaluator of `onnx`, which is plain numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.node import At, run
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.onnx.graph import ML, Graph, GraphInput
from svmcompile.read.onnx.tail import Tail

MOST_ROWS, LEAST_ROWS = 64, 4
MOST_PRODUCTS = 1 << 28  # of rows, vectors and features
SHARE = 1e-5  # of the sum of |coefficient * kernel value|: what float32 may lose
HUGE = 1e30  # float32 ends at 3e38
NEWEST_IR = 10
ELEMENTS = {1: np.float32, 11: np.float64, 6: np.int32, 7: np.int64}
CHECKED = "the nodes of the ONNX file were run on random rows and agree with the model read from them"
NOT_CHECKED = "the model read from the ONNX file could not be checked by running its nodes: "

Outputs = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a graph: nodes in front, the SVM, nodes behind."""

    graph: Graph
    before: tuple[Any, ...]
    machine: Any
    tail: Tail


def check_by_running(parts: Parts, svm: SVM) -> str:
    """A note that says whether the model was checked; an error if it is another."""
    feed = _feed(list(parts.graph.inputs.values()), _rows(svm))
    rows = np.concatenate([np.asarray(part, dtype=np.float64) for part in feed.values()], axis=1)
    # ONNX Runtime up to 1.20 ends the process if a class has no vectors.
    found, problem = _run(_rebuilt(parts), feed, plain_only=0 in svm.counts)
    if found is None:
        return NOT_CHECKED + problem
    with np.errstate(all="ignore"):  # rows beyond float32 are left out
        difference = _difference(_Expected.of(svm, rows), found, svm)
    if difference:
        raise ReadError(
            f"{parts.graph.where}: the ONNX nodes do not compute what a {parts.machine.op_type} "
            f"should: {difference}; the file is damaged, or made by a converter that is not known"
        )
    return CHECKED


def _rows(svm: SVM) -> Array:
    """Rows that the kernel sees near support vectors, in the space of the inputs."""
    random = np.random.default_rng(0)
    count = int(np.clip(MOST_PRODUCTS // svm.vectors.size, LEAST_ROWS, MOST_ROWS))
    spread = svm.vectors.std(axis=0) + 0.1 * np.abs(svm.vectors).mean() + 1e-3
    picked = svm.vectors[random.integers(len(svm.vectors), size=count)]
    rows: Array = picked + spread * random.normal(size=picked.shape)
    return svm.front.source(rows)


def _feed(inputs: list[GraphInput], rows: Array) -> Outputs:
    """The rows as the graph takes them; one input takes all columns that the others leave."""
    feed, start = {}, 0
    with np.errstate(all="ignore"):
        for one in inputs:
            width = rows.shape[1] if len(inputs) == 1 else one.width or 1
            feed[one.name] = rows[:, start : start + width].astype(ELEMENTS[one.element])
            start += width
    return feed


def _rebuilt(parts: Parts) -> Any:
    """A model of checked nodes that gives label, raw scores and scores by class."""
    from onnx import ValueInfoProto, helper

    machine = _without_probabilities(parts.machine)
    names = {"raw": machine.output[-1]}
    if parts.tail.label:
        names["label"] = parts.tail.label
    if parts.tail.by_class and parts.tail.scores:
        names["by_class"] = parts.tail.scores
    nodes = [*parts.before, machine, *parts.tail.nodes]
    nodes += [
        helper.make_node("Identity", [value], [f"svmcompile_{name}"]) for name, value in names.items()
    ]
    inputs = [
        helper.make_tensor_value_info(one.name, one.element, [None, one.width])
        for one in parts.graph.inputs.values()
    ]
    used = {name for node in nodes for name in node.input}
    tensors = [
        helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.ravel())
        for name, array in parts.graph.constants.items()
        if name in used
    ]
    outputs = [ValueInfoProto(name=f"svmcompile_{name}") for name in names]
    graph = helper.make_graph(nodes, "check", inputs, outputs, tensors)
    opsets = [helper.make_opsetid(domain, version) for domain, version in _opsets(parts.graph).items()]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = NEWEST_IR
    return model


def _without_probabilities(machine: Any) -> Any:
    """A copy of the SVM node that gives decision values, under a name even if the file has none."""
    copy = type(machine)()
    copy.CopyFrom(machine)
    del copy.attribute[:]
    copy.attribute.extend(one for one in machine.attribute if one.name not in ("prob_a", "prob_b"))
    if "Classifier" in machine.op_type and not (len(copy.output) > 1 and copy.output[1]):
        label = copy.output[0]
        del copy.output[:]
        copy.output.extend([label, "svmcompile_scores"])
    return copy


def _opsets(graph: Graph) -> dict[str, int]:
    found = {"": 9, ML: 1}
    for entry in graph.proto.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if domain in found:
            found[domain] = max(found[domain], entry.version)
    return found


def _run(model: Any, feed: Outputs, plain_only: bool) -> tuple[Outputs | None, str]:
    """What the model gives, from the first evaluator that takes it; else None and why not."""
    problem = ""
    for evaluate in (_reference,) if plain_only else (_runtime, _reference):
        try:
            return evaluate(model, feed), ""
        except Exception as error:  # each has its own errors, with no common root
            problem = problem or f"{type(error).__name__}: {str(error)[:200]}"
    return None, problem


def _runtime(model: Any, feed: Outputs) -> Outputs:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its messages would go to standard error
    content = model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, map(np.asarray, session.run(names, feed)), strict=True))


def _reference(model: Any, feed: Outputs) -> Outputs:
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        evaluator = ReferenceEvaluator(model)
        results = map(np.asarray, evaluator.run(None, feed))
    return dict(zip(evaluator.output_names, results, strict=True))


@dataclass(frozen=True, eq=False)
class _Expected:
    """Sums of the SVM in float64, what float32 may change of them, and labels as class numbers."""

    sums: Array
    room: Array
    steady: NDArray[np.bool_]  # rows whose label float32 cannot change

    @classmethod
    def of(cls, svm: SVM, rows: Array) -> _Expected:
        prepared = svm.prepared(rows)
        weights = svm.weights_by_sum
        sums = svm.kernel.values(prepared, svm.vectors) @ weights.T + svm.intercepts
        size = _kernel_sizes(svm.kernel, prepared, svm.vectors) @ np.abs(weights).T + np.abs(svm.intercepts)
        room = SHARE * (1 + size) * _loss_before(svm)
        if svm.label_rule is LabelRule.ARGMAX:
            best = np.sort(sums, axis=1)
            steady = best[:, -1] - best[:, -2] > 2 * room.max(axis=1)
        else:
            steady = (np.abs(sums) > room).all(axis=1)
        return cls(sums, room, steady & (size < HUGE).all(axis=1))


def _kernel_sizes(kernel: Kernel, rows: Array, vectors: Array) -> Array:
    """How large the numbers are that a kernel value is made of."""
    if kernel.kind == "rbf":
        return np.ones((len(rows), len(vectors)))
    dots = np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(vectors, axis=1))
    if kernel.kind == "linear":
        return dots
    dots = abs(kernel.gamma) * dots + abs(kernel.coef0)
    return np.asarray(dots**kernel.degree if kernel.kind == "poly" else np.maximum(dots, 1.0))


def _loss_before(svm: SVM) -> float:
    """Scalings that subtract large numbers lose as many digits as these have."""
    scalings = [At(node, svm.front.tables) for node in svm.front.of_kind(ir.Scale)]
    return 1.0 + max((float(np.abs(one.shift * one.factor).max()) for one in scalings), default=0.0)


def _difference(expected: _Expected, found: Outputs, svm: SVM) -> str:
    """What differs, in words; empty if nothing does."""
    raw = np.asarray(found["svmcompile_raw"], dtype=np.float64).reshape(len(expected.sums), -1)
    sums, room = expected.sums, expected.room
    if svm.n_sums == 1 and svm.label_rule in (LabelRule.NEGATIVE_FIRST, LabelRule.POSITIVE_SECOND):
        raw, sums = np.abs(raw[:, -1:]), np.abs(sums)  # two columns of either sign; labels tell which
    if raw.shape != sums.shape:
        return f"there are {raw.shape[1]} scores, expected {sums.shape[1]}"
    usual = (room < SHARE * HUGE).all(axis=1)
    if not usual.any():
        return ""
    error = np.abs(raw - sums)[usual]
    if not (error <= room[usual]).all():
        return f"values differ by {np.nanmax(error, initial=0.0):.3g}"
    return _label_difference(expected, found, svm) or _class_difference(expected, found, svm)


def _label_difference(expected: _Expected, found: Outputs, svm: SVM) -> str:
    if svm.labels is None or "svmcompile_label" not in found:
        return ""
    labels = np.asarray(found["svmcompile_label"]).ravel()
    wanted = svm.labels.array()[_classes(svm, expected.sums)]
    differ = (labels.astype(wanted.dtype) != wanted) & expected.steady
    return f"{int(differ.sum())} of {len(labels)} labels differ" if differ.any() else ""


def _classes(svm: SVM, sums: Array) -> NDArray[Any]:
    if svm.label_rule is LabelRule.VOTE:
        return np.asarray(run(ir.Vote("label", "sums", len(svm.counts)), {"sums": sums}, {}))
    if svm.label_rule is LabelRule.ARGMAX:
        return np.asarray(np.argmax(sums, axis=1))
    return np.asarray(sums[:, 0] > 0, dtype=np.intp)  # rows at exactly zero are not compared


def _class_difference(expected: _Expected, found: Outputs, svm: SVM) -> str:
    if "svmcompile_by_class" not in found:
        return ""
    scores = np.asarray(found["svmcompile_by_class"], dtype=np.float64)
    wanted = run(ir.OvrScores("scores", "sums", len(svm.counts)), {"sums": expected.sums}, {})
    if scores.shape != wanted.shape:
        return f"there are {scores.shape} scores by class, expected {wanted.shape}"
    error = np.abs(scores - wanted)[expected.steady]
    room = expected.room.sum(axis=1, keepdims=True)[expected.steady]
    return "" if (error <= room).all() else f"scores by class differ by {error.max():.3g}"

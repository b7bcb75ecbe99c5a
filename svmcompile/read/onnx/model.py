"""ONNX models of SVMs, as skl2onnx writes them: the bytes of a file in, an SVM out.

One SVM node is read, with the scaling in front of it. The nodes of the file are
then run on random rows and must agree with what was read (`check.py`).
Scores are scikit-learn's: one for two classes, positive for the second, where
the ONNX node gives two columns. What ONNX does not store is not recovered:
digits beyond float32, and `break_ties`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.read.onnx.check import Parts, check_by_running
from svmcompile.read.onnx.front import read_front
from svmcompile.read.onnx.graph import Graph
from svmcompile.read.onnx.machines import ONNX_MACHINES
from svmcompile.read.onnx.tail import Tail, read_tail

SHAPE_UNKNOWN = (
    "the ONNX model gives probabilities, which do not tell the shape of the decision function; "
    "'ovr' was taken, scikit-learn's default"
)
INTEGERS = {6: np.int32, 7: np.int64}  # what a label may be cast to


def read_onnx(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    graph = Graph(content, where)
    machine = _machine(graph)
    svm = ONNX_MACHINES[machine.op_type](graph, machine)
    if len(machine.input) != 1:
        raise graph.damaged(f"{machine.op_type} has {len(machine.input)} inputs")
    front = read_front(graph, machine.input[0], int(svm.vectors.shape[1]))
    before = _nodes_before(graph, machine)
    tail = read_tail(graph, machine, before, _n_outputs(svm), svm.labels is not None)
    kind = "OneClassSVM" if tail.sign else machine.op_type
    svm = replace(
        _with_tail(graph, svm, tail),
        front=front,
        feature_names=_names(graph),
        source=Source(f"ONNX {kind}", hashlib.sha256(content).hexdigest()),
    ).check(where)
    note = check_by_running(Parts(graph, before, machine, tail), svm)
    return replace(svm, notes=(*svm.notes, note))


def _machine(graph: Graph) -> Any:
    found = [node for node in graph.nodes if node.op_type in ONNX_MACHINES]
    if len(found) == 1:
        return found[0]
    known = ", ".join(ONNX_MACHINES)
    if not found:
        raise graph.refuse(f"is an ONNX model without an SVM node ({known})")
    raise graph.refuse(f"is an ONNX model with {len(found)} SVM nodes, of which one alone is read")


def _nodes_before(graph: Graph, machine: Any) -> tuple[Any, ...]:
    """The nodes that lead to the SVM, in order."""
    wanted, found = set(machine.input), []
    for node in reversed(graph.nodes):
        if node is not machine and wanted & set(node.output):
            found.append(node)
            wanted.update(node.input)
    return tuple(found[::-1])


def _n_outputs(svm: SVM) -> int:
    """Columns of scores that the ONNX node gives."""
    if svm.labels is None:
        return 1
    if svm.platt:
        return len(svm.labels)
    return max(2, svm.n_sums)


def _with_tail(graph: Graph, svm: SVM, tail: Tail) -> SVM:
    """The SVM with what the nodes behind it tell of labels and scores."""
    if svm.labels is None:
        if not tail.sign and not tail.scores:
            raise graph.damaged("the ONNX model gives no value")
        if not tail.plain:
            raise graph.refuse("operators behind the SVM change its value, which is not supported")
        if not tail.sign:
            return svm
        labels = Labels((-1, 1), np.dtype(np.int64).str)
        offset = -float(svm.intercepts[0])
        return replace(svm, label_rule=LabelRule.POSITIVE_SECOND, labels=labels, sample_offset=offset)
    svm = replace(svm, labels=_cast_labels(graph, svm.labels, tail))
    if not svm.counts:
        return svm
    if not tail.plain and not tail.by_class:
        raise graph.refuse("operators behind the SVM change its scores, which is not supported")
    unknown = svm.platt is not None or tail.scores is None
    notes = (SHAPE_UNKNOWN,) if unknown else ()
    return replace(svm, one_vs_rest_scores=tail.by_class or unknown, notes=notes)


def _cast_labels(graph: Graph, labels: Labels, tail: Tail) -> Labels:
    """The labels in the type they leave the graph in."""
    cast = graph.maker[tail.label or ""]
    if cast.op_type != "Cast":
        return labels
    to = next((one.i for one in cast.attribute if one.name == "to"), 0)
    if labels.kind == "str" and to == 8:
        return labels
    if labels.kind != "int" or to not in INTEGERS:
        raise graph.refuse("a Cast of the label to another type than an integer is not supported")
    return Labels(labels.values, np.dtype(INTEGERS[to]).str)


def _names(graph: Graph) -> tuple[str, ...]:
    """Names of features: those of inputs, where each input is one column of a frame."""
    columns = list(graph.inputs.values())
    single = len(columns) > 1 and all(one.width == 1 for one in columns)
    return tuple(one.name for one in columns) if single else ()

"""emit for ONNX: a math program becomes one `.onnx` file of plain operators, opset 17.

Trees use one operator more, `TreeEnsembleRegressor` of ai.onnx.ml 3.

Precision. With "f64" all is double. With "f32" the input and the scores are
float, and so are the one wide product of rows with support vectors, with its
exponential or tanh, the tests of trees, and the dot products of their leaves;
whatever is narrow or loses digits (scaling by numbers that float cannot hold,
squared norms, powers, weighted sums, affine and quadratic functions) is double.
Labels are decided on the double sums, before scores are rounded.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import __version__
from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Labels, Program
from svmcompile.targets.onnx.graph import DOUBLE, Graph, Values, element_of
from svmcompile.targets.onnx.nodes import build_needed

Precision = Number
PUBLIC_NAMES = {"samples": "score_samples"}


def emit(program: Program, name: str, precision: Precision) -> dict[str, bytes]:
    """The model as {"NAME.onnx": bytes}; equal programs give equal bytes."""
    values = Values(Graph(), program, precision)
    build_needed(values, [output.value for output in program.outputs])
    _outputs(program, values)
    model = values.graph.model(name, values.element, program.n_features, metadata(program, precision))
    return {f"{name}.onnx": bytes(model.SerializeToString(deterministic=True))}


def metadata(program: Program, precision: Precision) -> dict[str, str]:
    """Where the model came from and what its outputs mean; nothing about the machine or the time."""
    origin = program.origin
    entries = {
        "producer": f"svmcompile {__version__}",
        "source": origin.source,
        "source_sha256": origin.sha256,
        "method": origin.method,
        "claim": origin.claim.value,
        "precision": precision,
    }
    if "noise_scale" in origin.details:
        entries["noise_scale"] = repr(origin.details["noise_scale"])
    if program.labels:
        entries["labels"] = json.dumps(program.labels.values)
    if program.input.feature_names:
        entries["feature_names"] = json.dumps(program.input.feature_names)
    return entries


def _outputs(program: Program, values: Values) -> None:
    """Public names for the program's outputs; scores are rounded to the input's type."""
    graph, element = values.graph, values.element
    for output in program.outputs:
        value = values.names[output.value]
        if output.name == "label":
            _label_output(program, values, value)
        elif output.name in ("scores", "probabilities"):
            width = values.types[output.value].width
            graph.output(output.name, values.narrow(value), element, width)
        else:
            name = PUBLIC_NAMES.get(output.name, output.name)
            graph.output(name, values.column(values.narrow(value)), element, None)


def _label_output(program: Program, values: Values, index: str) -> None:
    if program.labels is None:
        raise EmitError("the program gives a label but holds no labels")
    table = label_table(program.labels, values.number)
    label = values.graph.op("Gather", table, index, axis=0)
    values.graph.output("label", label, element_of(table.dtype), None)


def label_table(labels: Labels, number: np.dtype[Any]) -> NDArray[Any]:
    """The labels as an array that an ONNX tensor can hold without loss."""
    if labels.kind == "str":
        return np.array([_utf8(str(value)) for value in labels.values], dtype=object)
    if labels.kind == "bool":
        return np.array(labels.values, np.bool_)
    if labels.kind == "float":
        exact = np.array(labels.values, DOUBLE)
        with np.errstate(over="ignore"):
            rounded = exact.astype(number)
        return rounded if (rounded == exact).all() else exact
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(labels.values, dtype)
        except OverflowError:
            continue
    raise EmitError("a label does not fit into 64 bits; retrain with smaller labels")


def _utf8(label: str) -> bytes:
    try:
        return label.encode()
    except UnicodeEncodeError:
        raise EmitError(
            f"label {label!r} is not valid Unicode and ONNX cannot hold it; rename it"
        ) from None

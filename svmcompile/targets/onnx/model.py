"""emit for ONNX: a math program becomes one `.onnx` file of plain operators.

Where they are faster, and `onnx_form` allows it, operators of ai.onnx.ml 3 walk trees
(`TreeEnsembleRegressor`) and couple probabilities or add up small sums (`SVMClassifier`).

Precision. With "f64" all is double. With "f32" the input and the scores are
float, and so are the one wide product of rows with support vectors, with its
exponential or tanh, the tests of trees, and the dot products of their leaves;
whatever is narrow or loses digits (scaling by numbers that float cannot hold,
squared norms, powers, weighted sums, affine and quadratic functions) is double.
Labels are decided on the double sums, before scores are rounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import __version__
from svmcompile.errors import EmitError, OptionError
from svmcompile.files.plain import json_text
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Labels, Program
from svmcompile.targets.onnx.columns import column_names, columns_of
from svmcompile.targets.onnx.early import described
from svmcompile.targets.onnx.finish import finish
from svmcompile.targets.onnx.graph import BATCH, DOUBLE, Graph, Values, element_of
from svmcompile.targets.onnx.nodes import build_needed
from svmcompile.targets.onnx.options import COLUMNS, INPUT, OUTPUTS, USUAL, OnnxOptions, told_outputs
from svmcompile.targets.report import by_target

Precision = Number
FIGURES = ("agreement", "agreement_interval", "max_decision_error", "rows", "accuracy")
PUBLIC_NAMES = {"samples": "score_samples", "deviation": "std"}
MEANINGS = {
    "label": "the class",
    "probabilities": "of the classes, in the order of `labels`",
    "scores": "decision values",
    "score_samples": "decision values without their offset",
    "value": "the value",
    "std": "its standard deviation",
}

OF_SEVERAL = {  # labels per row
    "label": "the label of each target, a column each",
    "probabilities": "of 1 for each target, or for each target a tensor of its classes",
}


def emit(
    program: Program, name: str, precision: Precision, options: OnnxOptions | None = None
) -> dict[str, bytes]:
    """The model as {"NAME.onnx": bytes}; equal programs and options give equal bytes."""
    options = options or USUAL
    values = Values(Graph(opset=options.opset), program, precision, options)
    outputs = chosen_outputs(program, options)
    # Probabilities first: where an operator couples them, it knows the label too.
    for wanted in sorted(outputs, key=lambda output: output != "probabilities"):
        build_needed(values, [outputs[wanted]])
    for output, value in outputs.items():
        _output(program, values, output, value)
    told = {
        "doc_string": _doc(program, precision, options, outputs),
        "model_version": options.model_version,
    }
    entries = metadata(program, precision) | {
        "outputs": json.dumps({output: options.names[output] for output in outputs})
    }
    if options.onnx_input == COLUMNS:
        entries["columns"] = json.dumps(list(column_names(program)))
    model = values.graph.model(name, rows_of(values, program), entries, told)
    finish(model)
    return {f"{name}.onnx": bytes(model.SerializeToString(deterministic=True))}


def chosen_outputs(program: Program, options: OnnxOptions) -> dict[str, str]:
    """The value of each output that the graph is to have, in its order."""
    found = {PUBLIC_NAMES.get(output.name, output.name): output.value for output in program.outputs}
    if options.zipmap and "probabilities" not in found:
        raise OptionError("zipmap is about probabilities, and the model has none")
    if options.zipmap and program.labels and program.labels.targets:
        raise OptionError("zipmap is for one label per row, and this model gives several; leave it out")
    order = options.outputs or (tuple(found) if options.keeps_order else OUTPUTS)
    missing = [output for output in options.outputs if output not in found]
    if missing:
        raise OptionError(f"the model has no output {missing[0]!r}; it has: {', '.join(found)}")
    return {output: found[output] for output in order if output in found}


def rows_of(values: Values, program: Program) -> list[Any]:
    """The graph's one input, or one for each column."""
    from onnx import helper

    name, rows = values.options.names[INPUT], values.options.onnx_batch or BATCH
    if values.options.onnx_input == COLUMNS:
        return columns_of(program, element_of(values.input), rows)
    return [helper.make_tensor_value_info(name, element_of(values.input), [rows, program.n_features])]


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
        entries |= {key: json.dumps(classes) for key, classes in by_target(program.labels).items()}
    if program.input.feature_names:
        entries["feature_names"] = json.dumps(program.input.feature_names)
    if program.categories:
        entries["categories"] = json.dumps(program.categories.facts(program.feature_names))
    return entries


def annotated(content: bytes, figures: Mapping[str, Any]) -> bytes:
    """The model with what was measured after it was made: agreement and its interval, rows, accuracy."""
    import onnx

    told = {key: json_text(figures[key], indent=None).rstrip() for key in FIGURES if key in figures}
    if not told:
        return content
    model = onnx.load_from_string(content)
    entries = {entry.key: entry.value for entry in model.metadata_props}
    onnx.helper.set_model_props(model, entries | told)
    return bytes(model.SerializeToString(deterministic=True))


def graph_facts(content: bytes) -> dict[str, Any]:
    """What a stored graph is made of, and whether rows leave it early."""
    import onnx

    return described(onnx.load_from_string(content).graph.node)


def public_name(content: bytes, output: str) -> str:
    """What a stored graph calls an output; empty where it lacks it, or takes a fixed number of rows."""
    import onnx

    model = onnx.load_from_string(content)
    entries = {entry.key: entry.value for entry in model.metadata_props}
    name = told_outputs(entries).get(output, output)
    fixed = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value
    return name if not fixed and name in {one.name for one in model.graph.output} else ""


def _doc(program: Program, precision: Precision, options: OnnxOptions, outputs: Iterable[str]) -> str:
    """What the graph takes and gives, for those who meet it without its documentation."""
    origin, names = program.origin, options.names
    told = MEANINGS | (OF_SEVERAL if program.labels and program.labels.targets else {})
    lines = [
        f"{origin.source}, compiled by svmcompile {__version__}: method {origin.method}, claim "
        f"{origin.claim.value}, {precision}.",
        f"Input {names[INPUT]}: rows of {program.n_features} features.",
        *(f"Output {names[output]}: {told[output]}." for output in outputs),
    ]
    return "\n".join([*filter(None, [options.doc_string]), *lines])


def _output(program: Program, values: Values, output: str, value: str) -> None:
    """One output under its public name; scores are rounded to the number type."""
    graph, tensor, options = values.graph, values.names[value], values.options
    name, rows = options.names[output], options.onnx_batch or BATCH
    targets = program.labels.targets if program.labels else ()
    if output == "label":
        table = label_table(_labels(program), values.number)
        width = len(targets) or None
        graph.output(name, graph.op("Gather", table, tensor, axis=0), element_of(table.dtype), width, rows)
    elif output == "probabilities" and targets and values.types[value].width > len(targets):
        graph.split_output(name, values.narrow(tensor), values.element, [*map(len, targets)])
    elif output == "probabilities" and options.zipmap:
        floats = tensor if tensor in values.floats else values.cast(tensor, np.dtype(np.float32))
        graph.zipped_output(name, floats, _keys(_labels(program)))
    elif output in ("scores", "probabilities") or values.types[value].width > 1:
        graph.output(name, values.narrow(tensor), values.element, values.types[value].width, rows)
    else:
        graph.output(name, values.column(values.narrow(tensor)), values.element, None, rows)


def _labels(program: Program) -> Labels:
    if program.labels is None:
        raise EmitError("the program gives a label but holds no labels")
    return program.labels


def _keys(labels: Labels) -> dict[str, Any]:
    """The attribute that names the keys of maps."""
    if labels.kind == "str":
        return {"classlabels_strings": tuple(_utf8(str(value)) for value in labels.values)}
    if labels.kind != "int" or max(abs(int(value)) for value in labels.values) >= 2**63:
        raise OptionError("zipmap needs labels that are text or whole numbers of 64 bits; leave it out")
    return {"classlabels_int64s": tuple(map(int, labels.values))}


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

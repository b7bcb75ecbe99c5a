"""Running programs in ONNX beside the interpreter, for tests of trees and guards."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.runtime.onnx import load_onnx
from svmcompile.targets.onnx.graph import Graph
from svmcompile.targets.onnx.model import emit, rows_of
from svmcompile.targets.onnx.options import OnnxOptions
from svmcompile.targets.onnx.values import Values, build_needed

PRECISIONS = ("f32", "f64")
NUMBERS = {"f32": np.float32, "f64": np.float64}


def content(program: Program, precision: Any, **options: Any) -> bytes:
    """The file, which ONNX's own checker accepts."""
    (data,) = emit(program, "m", precision, OnnxOptions(**options)).values()
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    assert {tensor.name for tensor in model.graph.initializer} <= _read(model.graph)
    return data


def _read(graph: Any) -> set[str]:
    """Tensors read in a graph or in the bodies of its loops."""
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return {name for node in graph.node for name in node.input}.union(*map(_read, bodies))


def outputs(program: Program, rows: Any, precision: Any, **options: Any) -> dict[str, Any]:
    return load_onnx(content(program, precision, **options), program.labels, program.n_features).outputs(
        rows
    )


def agree(program: Program, rows: Any, precision: Any, **options: Any) -> int:
    """Asserts that ONNX gives the interpreter's outputs, up to rounding; how many rows rounding decides."""
    rows = np.asarray(rows, NUMBERS[precision]).astype(np.float64)
    found, wanted = outputs(program, rows, precision, **options), interpret(program, rows)
    bounds = error_bounds(program, rows, precision)
    clear = ~bounds.unstable
    for name, value in wanted.items():
        assert len(found[name]) == len(rows)
        if name == "label":
            assert (found[name] == value)[clear].all()
            continue
        got = found[name].reshape(value.shape).astype(np.float64)
        assert (np.isnan(got) == np.isnan(value))[clear].all()
        near = np.abs(got - value) <= bounds.scores
        assert (near | np.isnan(value))[clear].all(), name
    return int(bounds.unstable.sum())


def value_in_onnx(program: Program, name: str, rows: Any, precision: Any, reference: bool = False) -> Any:
    """A leaf, whatever the program makes of it."""
    values = Values(Graph(), program, precision)
    build_needed(values, [name])
    values.graph.output("leaf", values.names[name], onnx.TensorProto.INT32, None)
    model = values.graph.model("m", rows_of(values, program), {}, {})
    onnx.checker.check_model(model, full_check=True)
    rows = np.asarray(rows, NUMBERS[precision])
    if reference:
        with np.errstate(all="ignore"):
            return ReferenceEvaluator(model).run(None, {"X": rows})[0]
    return load_onnx(model.SerializeToString(), None, program.n_features).outputs(rows)["leaf"]

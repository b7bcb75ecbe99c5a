"""Kit triton: the graph as a model repository of Triton Inference Server, with its config.pbtxt."""

from __future__ import annotations

import json
from typing import Any

from svmcompile import __version__
from svmcompile.errors import OptionError
from svmcompile.targets.templating import render

TRITON = "triton"
MAX_BATCH = 1024  # rows that Triton may put together; the graph takes any number
TYPES = {
    "FLOAT": "TYPE_FP32",
    "DOUBLE": "TYPE_FP64",
    "INT64": "TYPE_INT64",
    "UINT64": "TYPE_UINT64",
    "STRING": "TYPE_STRING",
    "BOOL": "TYPE_BOOL",
}


def emit_triton(name: str, content: bytes) -> dict[str, str | bytes]:
    """The files by their path below the output folder; `triton/` is the model repository."""
    import onnx

    graph = onnx.load_from_string(content).graph
    if any(output.type.HasField("sequence_type") for output in graph.output):
        raise OptionError("Triton cannot serve sequences of maps; leave out zipmap for kit triton")
    fixed = bool(graph.input[0].type.tensor_type.shape.dim[0].dim_value)
    context = {
        "compiler": __version__,
        "name": json.dumps(name),
        "max_batch": 0 if fixed else MAX_BATCH,
        "inputs": ",\n".join(_tensor(entry, fixed) for entry in graph.input),
        "outputs": ",\n".join(_tensor(output, fixed) for output in graph.output),
    }
    folder = f"{TRITON}/{name}"
    return {
        f"{folder}/config.pbtxt": render(f"kits/{TRITON}/config.pbtxt.j2", context),
        f"{folder}/1/model.onnx": content,
    }


def _tensor(value: Any, fixed: bool) -> str:
    """One tensor. Unless it is fixed, Triton adds the number of rows, and wants a shape beside it."""
    from onnx import TensorProto

    tensor = value.type.tensor_type
    sizes = [dim.dim_value for dim in tensor.shape.dim][0 if fixed else 1 :]
    lines = [
        f"name: {json.dumps(value.name, ensure_ascii=False)}",
        f"data_type: {TYPES[TensorProto.DataType.Name(tensor.elem_type)]}",
        f"dims: [ {', '.join(map(str, sizes or [1]))} ]",
        *([] if sizes else ["reshape: { shape: [ ] }"]),
    ]
    return "\n".join(["  {", *(f"    {line}" for line in lines), "  }"])

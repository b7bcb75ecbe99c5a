"""ONNX files that tests make: by skl2onnx, and from attributes written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

ML = "ai.onnx.ml"
CLASSIFIER = {
    "classlabels_ints": [3, 5],
    "coefficients": [1.0, -1.0],
    "kernel_params": [0.5, 0.0, 3.0],
    "kernel_type": "RBF",
    "post_transform": "NONE",
    "rho": [0.25],
    "support_vectors": [1.0, 2.0, -1.0, 0.5],
    "vectors_per_class": [1, 1],
}


def converted(estimator: Any, X: Any, number: type = np.float32, **options: Any) -> bytes:
    """What skl2onnx makes of a fitted estimator."""
    from skl2onnx import to_onnx

    sample = X[:1].astype(number)
    return bytes(to_onnx(estimator, sample, options=options or None).SerializeToString())


def classifier(**changes: Any) -> bytes:
    """A model of one SVMClassifier of two vectors, with attributes changed, or dropped by None."""
    attributes = {key: value for key, value in {**CLASSIFIER, **changes}.items() if value is not None}
    node = helper.make_node("SVMClassifier", ["X"], ["label", "scores"], domain=ML, **attributes)
    return model([node], ["label", "scores"])


def model(nodes: list[Any], outputs: list[str], constants: tuple[Any, ...] = (), width: int = 2) -> bytes:
    """A model of these nodes."""
    rows = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, width])
    leaving = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", [rows], leaving, list(constants))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)]
    return bytes(helper.make_model(graph, opset_imports=imports).SerializeToString())


def edited(content: bytes, change: Any) -> bytes:
    """The model after a change in place."""
    proto = onnx.load_from_string(content)
    change(proto)
    return bytes(proto.SerializeToString())

"""Bodies of ONNX graphs: what loops and scans run again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.targets.onnx.graph import Graph, element_of


class Body(Graph):
    """The inside of a loop with one state, `argument`; `count` numbers its runs; constants are outside."""

    def __init__(self, outer: Graph, prefix: str, dtype: np.dtype[Any], width: int) -> None:
        super().__init__(prefix, outer.opset)
        self._outer, self._element = outer, element_of(dtype)
        self._shape = [None, width] if width else [None]
        self.argument = f"{prefix}state"
        self.count = f"{prefix}count"

    def constant(self, value: NDArray[Any] | float) -> str:
        return self._outer.constant(value)

    def proto(self, goes_on: str, after: str) -> Any:
        """The body as ONNX wants it: counter, condition and state in, condition and state out."""
        from onnx import TensorProto, helper

        info = helper.make_tensor_value_info
        count, go = info(self.count, TensorProto.INT64, []), info(f"{self._prefix}go", TensorProto.BOOL, [])
        inputs = [count, go, info(self.argument, self._element, self._shape)]
        outputs = [info(goes_on, TensorProto.BOOL, []), info(after, self._element, self._shape)]
        return helper.make_graph(self._nodes, f"{self._prefix}graph", inputs, outputs)

    def row_of(self, rows: str) -> str:
        """The row that the run is about."""
        return self.op("Gather", rows, self.count, axis=0)

    def row_proto(self, result: str, width: int) -> Any:
        """The body of a loop over rows without a state: counter, condition in; condition, result out."""
        from onnx import TensorProto, helper

        info = helper.make_tensor_value_info
        go = f"{self._prefix}go"
        goes_on = self.op("Identity", go)
        inputs = [info(self.count, TensorProto.INT64, []), info(go, TensorProto.BOOL, [])]
        outputs = [info(goes_on, TensorProto.BOOL, []), info(result, self._element, [width])]
        return helper.make_graph(self._nodes, f"{self._prefix}graph", inputs, outputs)


def reads(node: Any) -> set[str]:
    """Tensors a node reads, itself or in its body."""
    inside = (inner for attribute in node.attribute for inner in attribute.g.node)
    return set(node.input).union(*map(reads, inside))

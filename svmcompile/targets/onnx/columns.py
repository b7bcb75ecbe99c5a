"""A graph with an input for each feature, as skl2onnx has it: text as strings, the rest as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmcompile.data.categories import MISSING, UNKNOWN, TextColumn
from svmcompile.errors import OptionError
from svmcompile.ir.program import Program

if TYPE_CHECKING:
    from svmcompile.targets.onnx.graph import Values

ML = "ai.onnx.ml"


def column_names(program: Program) -> dict[int, str]:
    """The features that are inputs, with their names; what is not read is none."""
    names = program.feature_names or tuple(f"x{at}" for at in range(program.n_features))
    texts = program.categories.by_feature
    found = {at: name for at, name in enumerate(names) if at not in texts or texts[at].names}
    if "" in found.values():
        raise OptionError("onnx_input=columns: a feature without a name cannot be an input; rename it")
    return found


def row_of_columns(values: Values, program: Program) -> str:
    """The columns side by side, those of text by their codes."""
    names, texts = column_names(program), program.categories.by_feature
    if texts and values.options.onnx_form == "plain":
        raise OptionError(
            "onnx_input=columns looks text up by an operator of ai.onnx.ml; leave out onnx_form=plain"
        )
    parts = {at: _coded(values, name, texts[at]) if at in texts else name for at, name in names.items()}
    read = next(iter(parts.values()))  # stands also for what is not read
    return values.graph.op("Concat", *(parts.get(at, read) for at in range(program.n_features)), axis=1)


def _coded(values: Values, name: str, column: TextColumn) -> str:
    """The code of each text; an empty one is missing, unless it is a category."""
    codes = {"": MISSING, **column.codes} if column.missing else column.codes
    found = values.graph.op(
        "LabelEncoder", name, domain=ML, keys_strings=tuple(codes),
        values_floats=tuple(map(float, codes.values())), default_float=float(UNKNOWN),
    )  # fmt: skip
    return found if values.number == np.float32 else values.cast(found, values.number)


def columns_of(program: Program, element: int, rows: Any) -> list[Any]:
    """What the graph declares."""
    from onnx import TensorProto, helper

    texts = program.categories.by_feature
    return [
        helper.make_tensor_value_info(name, TensorProto.STRING if at in texts else element, [rows, 1])
        for at, name in column_names(program).items()
    ]

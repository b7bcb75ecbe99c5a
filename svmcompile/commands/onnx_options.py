"""The flags of target onnx, with the texts of `targets.onnx.options`, where they are declared. Light."""

# No `annotations` of __future__ here: the flags are read in the module of the class that inherits them.
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from svmcompile.targets.onnx.options import texts

TEXTS = texts()


@dataclass(frozen=True, kw_only=True)
class OnnxFlags:
    """How an ONNX graph is written; None where the user said nothing."""

    opset: Annotated[int | None, Option(help=f"{TEXTS['opset']}  [default: 17]")] = None
    onnx_form: Annotated[str | None, Option(help=TEXTS["onnx_form"])] = None
    onnx_names: Annotated[str | None, Option(help=TEXTS["onnx_names"])] = None
    onnx_outputs: Annotated[str | None, Option(help=f"{TEXTS['onnx_outputs']}  [default: all]")] = None
    onnx_input: Annotated[str | None, Option(help=f"{TEXTS['onnx_input']}  [default: --precision]")] = None
    onnx_batch: Annotated[int | None, Option(help=TEXTS["onnx_batch"])] = None
    zipmap: Annotated[bool | None, Option("--zipmap", help=TEXTS["zipmap"])] = None
    model_version: Annotated[int | None, Option(help=TEXTS["model_version"])] = None
    doc_string: Annotated[str | None, Option(help=TEXTS["doc_string"])] = None

    @property
    def onnx(self) -> dict[str, Any]:
        """The flags given, as `emit` takes them."""
        return {name: value for name in TEXTS if (value := getattr(self, name)) is not None}

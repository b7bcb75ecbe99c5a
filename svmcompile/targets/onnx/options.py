"""Options of target onnx: what the graph takes and gives, and the operators it may use. Light."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict

from svmcompile.errors import OptionError, find_name, suggestion
from svmcompile.files.plain import read_json

OUTPUTS = ("label", "probabilities", "scores", "score_samples", "value", "std")  # skl2onnx's order
INPUT = "input"
PRESETS: dict[str, dict[str, str]] = {"skl2onnx": {INPUT: "X"}, "old": {INPUT: "x"}}
ZIPPED = {"label": "output_label", "probabilities": "output_probability"}  # as skl2onnx calls them then
FORMS = ("auto", "plain", "operator")
COLUMNS = "columns"
INPUTS = ("float32", "float64", COLUMNS)
IR_VERSIONS = {15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10}  # by opset
OPSET = 17


def told_outputs(metadata: Mapping[str, str]) -> dict[str, str]:
    """What a graph calls its outputs, as its metadata tell; nothing if they are not ours."""
    try:
        told = read_json(metadata.get("outputs", "{}"))
    except ValueError:
        return {}
    pairs = told.items() if isinstance(told, dict) else ()
    return {meaning: name for meaning, name in pairs if isinstance(name, str)}


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"text": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxOptions:
    """How a graph is written. `texts()` has what each field does."""

    opset: int = _option(OPSET, f"version of ONNX's operators, {min(IR_VERSIONS)} to {max(IR_VERSIONS)}")
    onnx_form: str = _option(
        "auto",
        "auto: the faster of the others; plain: operators of ai.onnx alone; operator: SVMClassifier of "
        "ai.onnx.ml, for small models and single rows",
    )
    onnx_names: str | Mapping[str, str] = _option(
        "skl2onnx", "skl2onnx, old (x; scores before label), or your own: input=rows,label=class"
    )
    onnx_outputs: str | Iterable[str] = _option("", "outputs and their order, such as label,probabilities")
    onnx_input: str = _option(
        "",
        "type of the rows, float32 or float64, whatever the graph computes in; columns: an input for each "
        "feature, those of text as strings",
    )
    onnx_batch: int = _option(0, "rows per call, fixed in the graph; 0 for any number")
    zipmap: bool = _option(False, "probabilities as a sequence of maps, as skl2onnx does by default")
    model_version: int = _option(0, "the graph's model_version")
    doc_string: str = _option("", "text to begin the graph's doc_string with")

    def __post_init__(self) -> None:
        if self.opset not in IR_VERSIONS:
            raise OptionError(f"opset {self.opset} is not within {min(IR_VERSIONS)} and {max(IR_VERSIONS)}")
        object.__setattr__(self, "onnx_form", find_name(self.onnx_form, FORMS, "ONNX form"))
        if self.onnx_input:
            object.__setattr__(self, "onnx_input", find_name(self.onnx_input, INPUTS, "ONNX input type"))
        if self.onnx_batch < 0 or self.model_version < 0:
            raise OptionError("onnx_batch and model_version are at least 0")
        for name in self.outputs:
            find_name(name, OUTPUTS, "ONNX output")
        if self.zipmap and self.outputs and "probabilities" not in self.outputs:
            raise OptionError("zipmap is about probabilities, which are not among onnx_outputs")
        _check_names(self.names)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Those asked for, in their order; empty for all."""
        given = self.onnx_outputs
        return tuple(filter(None, given.split(",")) if isinstance(given, str) else given)

    @property
    def keeps_order(self) -> bool:
        """Do outputs stand in the program's order, as they did before they stood in skl2onnx's?"""
        return self.onnx_names == "old"

    @property
    def names(self) -> dict[str, str]:
        """The name of the input and of every output."""
        known = {name: name for name in OUTPUTS} | PRESETS["skl2onnx"] | (ZIPPED if self.zipmap else {})
        given = self.onnx_names
        if isinstance(given, str) and "=" not in given:
            return known | PRESETS[find_name(given, PRESETS, "set of ONNX names (or input=NAME,...)")]
        return known | (dict(map(_pair, given.split(","))) if isinstance(given, str) else dict(given))


class OnnxKeywords(TypedDict, total=False):
    """The fields of `OnnxOptions` as keywords of `emit`, for type checkers. A test compares the two."""

    opset: int | None
    onnx_form: str | None
    onnx_names: str | Mapping[str, str] | None
    onnx_outputs: str | Iterable[str] | None
    onnx_input: str | None
    onnx_batch: int | None
    zipmap: bool | None
    model_version: int | None
    doc_string: str | None


def _pair(text: str) -> tuple[str, str]:
    key, separator, name = text.partition("=")
    if not separator:
        raise OptionError(f"onnx_names: {text!r} is not of the form {INPUT}=NAME or OUTPUT=NAME")
    return key.strip(), name.strip()


def _check_names(names: Mapping[str, str]) -> None:
    known = (INPUT, *OUTPUTS)
    for key, name in names.items():
        if key not in known:
            near = suggestion(key, known)
            raise OptionError(f"onnx_names: no {key!r}{near}; you can name: {', '.join(known)}")
        if not name:
            raise OptionError(f"onnx_names: {key} has no name")
    if len(set(names.values())) < len(names):
        raise OptionError("onnx_names: two of the names are the same")


def read_options(given: Mapping[str, Any], targets: Iterable[str]) -> OnnxOptions:
    """The options from what a caller named; those left at None count as not given."""
    known = texts()
    given = {key: value for key, value in given.items() if value is not None}
    for key in given:
        if key not in known:
            raise OptionError(
                f"emit has no option {key!r}{suggestion(key, known)}; ONNX has: {', '.join(known)}"
            )
    options = OnnxOptions(**given)
    if options != USUAL and "onnx" not in targets:
        raise OptionError(f"{', '.join(given)}: for target onnx alone; add --target onnx (target='onnx')")
    return options


def texts() -> dict[str, str]:
    """What each option does, for the command line and the documentation."""
    return {one.name: str(one.metadata["text"]) for one in fields(OnnxOptions)}


USUAL = OnnxOptions()

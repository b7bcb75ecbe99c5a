"""What C tells of its model at run time: `NAME_get`, and the struct that is the same for every model."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from svmcompile import __version__
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.check import infer_types
from svmcompile.ir.kinds import Types
from svmcompile.ir.program import Program
from svmcompile.targets.c import api
from svmcompile.targets.c.literals import string, wrap

ABI_VERSION = 1  # of `svm_model`: another one where a field changes or goes, not where some follow
MODEL_VERSION = "1.0.0"  # of the model as a package
LABEL_TYPES = {
    "int32_t ": "SVM_I32", "int64_t ": "SVM_I64", "uint64_t ": "SVM_U64", "double ": "SVM_F64",
    "char *const ": "SVM_TEXT",
}  # fmt: skip


def model_struct(program: Program, types: Types, name: str, labels: Any) -> dict[str, Any]:
    """What the struct holds, in its order; `labels` are as the header declares them."""
    origin, number, names = program.origin, program.number or "f64", program.input.feature_names
    functions = [result.function for result in api.results(program, types, name)]
    real, row = (
        "SVM_F32" if one in ("f32", *FIXED) else f"SVM_{one}".upper()
        for one in (number, program.input.number or number)
    )
    kind = ("SVM_CLASSIFIER", LABEL_TYPES[labels["type"]]) if labels else ("SVM_REGRESSOR", "0")
    sizes = [
        api.size(name, "features"),
        api.size(name, "classes") if labels else "0",
        api.size(name, "scores") if "decision_function" in functions else "0",
    ]
    texts = [f"svmcompile {__version__}", origin.source, origin.sha256, origin.method, origin.claim.value]
    return {
        "functions": functions,
        "texts": wrap([string(name), f"{name.upper()}_VERSION", *map(_text, texts)], " " * 8),
        "numbers": ", ".join([kind[0], row, real, kind[1], *sizes]),
        "feature_names": wrap(map(_text, names), " " * 8) if names else "",
        "longest": max(map(len, map(_text, (*texts, *names)))),
    }


def target_lines(program: Program) -> dict[str, Any] | None:
    """What a header says of targets, those of equal classes together; None for one label per row."""
    labels, chances, lines = program.labels, program.output("probabilities"), list[str]()
    if labels is None or not labels.targets:
        return None
    for places, group in groupby(enumerate(labels.targets), lambda one: one[1]):
        numbers = [number for number, _ in group]
        first, last = numbers[0], numbers[-1]
        which = f"Target {first}" if first == last else f"Targets {first} to {last}, each"
        rises = len(places) > 2 and places == tuple(range(places[0], places[0] + len(places)))
        told = f"{places[0]} to {places[-1]}" if rises else ", ".join(map(str, places))
        lines.append(f"{which}: {told}")
    by_class = chances is not None and infer_types(program)[chances].width > len(labels.targets)
    return {"lines": lines, "chances": by_class}


def _text(text: str) -> str:
    """A string of text from anywhere: what C or UTF-8 cannot hold becomes a question mark."""
    return string(text.replace("\0", "?").encode("utf-8", "replace").decode())

"""The C of a WebAssembly module's exports, and NAME.html, a page that runs the model.

Everything that comes from a model (labels, names of features) goes into one JSON block and reaches the
page as text alone. The page's policy allows its own script, by hash, and no other.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import __version__
from svmcompile.data.categories import MISSING, UNKNOWN, TextColumn
from svmcompile.ir.arithmetic import BYTES
from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import public_functions
from svmcompile.targets.c.categories import category_functions
from svmcompile.targets.c.node import scratch_bytes
from svmcompile.targets.c.text import text_functions
from svmcompile.targets.templating import render

SPARE_STACK = 1 << 14  # for registers and addresses, beside the arrays that are counted
STACK_UNIT = 1 << 14
MOST_NUMBERS = 1 << 16  # of stored rows; plain rows stand last among them, those near a boundary first
LEAST_SIDE = 8  # a square of features smaller than this is no picture
PIXEL = re.compile(r"(pixel|px|p|x|f|feature|column)?[ _-]?\d+([ _x,-]\d+)?", re.IGNORECASE)
CLAIMS = {
    "EXACT": "the decision values of the original, within rounding",
    "SAME_LABEL": "every label of the original",
    "APPROXIMATE": "most labels of the original",
}
# What could end a script element or, in old browsers, a line of JavaScript.
UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class WasmSource:
    """The file to compile beside NAME.c and NAME.h."""

    text: str
    stack_bytes: int


def wasm_source(program: Program, name: str) -> WasmSource:
    """The exports of a machine program under short names: `predict` of `int digits_predict(...)`."""
    types, scores, chances = infer_types(program), program.output("scores"), program.output("probabilities")
    declarations = [function.declaration for function in public_functions(program, types, name)]
    declarations += [one.sized.declaration for one in text_functions(program, types, name)]
    declarations += [category_functions(name)[1].declaration] if program.categories else []
    numbers = {
        "number_bytes": BYTES[program.number or "f64"],
        "n_features": program.n_features,
        "n_classes": program.n_classes,
        "n_scores": types[scores].width if scores else 0,
    }
    if program.n_values > 1:
        numbers["n_values"] = program.n_values
    if program.labels and program.labels.targets:
        numbers["n_probabilities"] = types[chances].width if chances else 0
    shorts = [
        declaration.split("(")[0].split()[-1].removeprefix(f"{name}_") for declaration in declarations
    ]
    functions = dict(zip(shorts, declarations, strict=True))
    text = render("wasm/exports.c.j2", {"name": name, "functions": functions, "numbers": numbers})
    needed = scratch_bytes(program) + SPARE_STACK
    return WasmSource(text, -(-needed // STACK_UNIT) * STACK_UNIT)


def page(program: Program, name: str, module: bytes, rows: NDArray[Any] | None = None) -> str:
    """The page of a machine program and its module; `rows` tell the range of each feature."""
    style = render("wasm/page.css", {}) + render("wasm/try.css", {})
    script = render("wasm/try.js", {})
    return render(
        "wasm/page.html.j2",
        {
            "name": html.escape(name),
            "version": __version__,
            "style": style,
            "script": script,
            "style_hash": digest(style),
            "script_hash": digest(script),
            "facts": script_json(try_facts(program, name, rows)),
            "module": base64.b64encode(module).decode(),
        },
    )


def script_json(value: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).translate(UNSAFE)


def digest(text: str) -> str:
    """The source expression by which a Content-Security-Policy allows this script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def try_facts(program: Program, name: str, rows: NDArray[Any] | None) -> dict[str, Any]:
    """What try.js, the script that runs rows, needs to know."""
    probes = program.probes.reshape(-1, program.n_features)
    low, high = _ranges(program, probes if rows is None or not len(rows) else rows)
    origin = program.origin
    return {
        "name": name,
        "about": [
            origin.source,
            f"{program.n_features} features",
            program.several or (f"{program.n_classes} classes" if program.labels else "regression"),
            f"method {origin.method}: {CLAIMS[origin.claim.value]}",
        ],
        "labels": [str(label) for label in program.labels.values] if program.labels else None,
        "features": list(program.feature_names),
        "codes": {column.feature: _choices(column) for column in program.categories.texts},
        "n_features": program.n_features,
        "double": program.number == "f64",
        "results": program.labels.per_row if program.labels else program.n_values,
        "scores": score_names(program),
        "chances": chance_names(program),
        "side": side(program),
        "low": low,
        "high": high,
        "examples": [_numbers(row) for row in probes[::-1][: max(1, MOST_NUMBERS // program.n_features)]],
    }


def _choices(column: TextColumn) -> list[tuple[str, int]]:
    """What a feature of text may be, with the code of each; what is no category stands last."""
    others = [("(missing)", MISSING)] if column.missing else []
    known = sorted(column.codes.items(), key=lambda one: one[1])
    return [*((name, code) for name, code in known if code >= 0), *others, ("(another)", UNKNOWN)]


def score_names(program: Program) -> list[str]:
    """What each decision value is about: a class, a pair of classes, or the row."""
    value = program.output("scores")
    if value is None or program.labels is None:
        return []
    width = infer_types(program)[value].width
    labels = [str(label) for label in program.labels.values]
    if any(getattr(node, "pairs", "") == value for node in program.body):
        return [f"{one} / {other}" for one, other in combinations(labels, 2)]
    if program.labels.targets:
        return [f"label {target}" for target in range(width)]
    if width == len(labels):
        return labels
    return [f"decision value {at}" for at in range(1, width + 1)] if width > 1 else ["decision value"]


def chance_names(program: Program) -> list[str]:
    """What each probability is of: a class, or one of a label where rows have several."""
    value, labels = program.output("probabilities"), program.labels
    if value is None or labels is None:
        return []
    if not labels.targets:
        return list(map(str, labels.values))
    names = [f"label {target}" for target in range(labels.per_row)]
    if infer_types(program)[value].width == labels.per_row:
        return names
    every = zip(names, labels.of_targets(), strict=True)
    return [f"{name}: {label}" for name, classes in every for label in classes]


def side(program: Program) -> int:
    """The side of the picture a row may be; 0 if it is none: no square, small, or features with names."""
    root = math.isqrt(program.n_features)
    named = any(not PIXEL.fullmatch(feature) for feature in program.feature_names)
    return 0 if root * root != program.n_features or root < LEAST_SIDE or named else root


def _ranges(program: Program, rows: NDArray[Any]) -> tuple[list[float], list[float]]:
    """The least and largest finite value of each feature; 0 to 1 where none is known."""
    finite = np.isfinite(rows)
    low = np.where(finite, rows, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, rows, -np.inf).max(axis=0, initial=-np.inf)
    known = low <= high
    return _numbers(np.where(known, low, 0.0)), _numbers(np.where(known, high, 1.0))


def _numbers(values: NDArray[Any]) -> list[float]:
    """Short decimals: what float32 holds of them is all the page shows."""
    with np.errstate(over="ignore"):
        return [float(str(value)) if np.isfinite(value) else 0.0 for value in values.astype(np.float32)]

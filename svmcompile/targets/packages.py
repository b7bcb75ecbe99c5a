"""Kits for other languages: a model as data or as WebAssembly, with what runs it, as a package.

A kit is one line of the table and a folder of templates; every template there becomes a file of the kit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmcompile import __version__
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.blob.blob import OUTPUTS, REGISTERS_AT
from svmcompile.targets.blob.model import NAMES, SUMS
from svmcompile.targets.templating import render_folder

JSON_TYPES = {"int": "number", "float": "number", "bool": "boolean", "str": "string"}
MOST_EXACT = 2**53 - 1  # an integer of JavaScript
VERSION = "1.0.0"  # of the model as a package
RUST_WORDS = frozenset(
    """
    abstract alloc as async await become box break const continue core crate do dyn else enum extern false
    final fn for if impl in let loop macro match mod move mut override priv proc_macro pub ref return self
    static std struct super test trait true try type typeof unsafe unsized use virtual where while yield
    """.split()
)
SAYS = {
    "predict": "The class of a row: an index of `LABELS`.",
    "decision_function": "Decision values of a row, in scikit-learn's order.",
    "predict_proba": "Probabilities of the classes.",
    "score_samples": "The raw score of a one-class model.",
    "predict_std": "The standard deviation of a Gaussian process.",
}


@dataclass(frozen=True, slots=True)
class Package:
    """The target whose file it holds, and where that goes."""

    target: str
    suffix: str
    folder: str = ""


PACKAGES = {
    "java": Package("blob", "bin", "src/main/resources/"),
    "rust": Package("blob", "bin"),
    "npm": Package("wasm", "wasm"),
}


def check_package(kit: str, name: str) -> None:
    """Refuse a name that the language keeps for itself."""
    if kit == "rust" and name.lower() in RUST_WORDS:
        raise OptionError(f"a crate cannot be called {name!r}, a word of Rust; choose another --name")


def emit_package(
    kit: str, program: Program, name: str, number: Number, files: Mapping[str, Any]
) -> dict[str, str | bytes]:
    """The files of a kit by their path, KIT/NAME/..., around the model among `files`."""
    package = PACKAGES[kit]
    data: bytes = files[f"{name}.{package.suffix}"]
    types, labels = infer_types(program), program.labels.values if program.labels else ()
    functions = {output: OUTPUTS[place] for output, place in NAMES.items()} | {"deviation": "predict_std"}
    widths = {functions[one.name]: types[one.value].width for one in program.outputs}
    widths["predict"] = 1
    classes = f"{len(labels)} classes" if labels else "one value"
    context = {
        **SUMS,
        "name": name,
        "version": VERSION,
        "compiler": __version__,
        "sentence": f"A support vector machine: {program.n_features} features, {classes}.",
        "real": number,
        "features": program.n_features,
        "categories": bool(program.categories),
        "labels": [_rust_text(str(label)) for label in labels],
        "registers": int.from_bytes(data[REGISTERS_AT : REGISTERS_AT + 4], "little"),
        "outputs": [(one, SAYS[one], widths[one]) for one in SAYS if one in widths],
        "facts": json.dumps({"labels": _for_json(labels), "widths": widths}),
        "label_type": JSON_TYPES[program.labels.kind if program.labels else "float"],
    }
    found: dict[str, str | bytes] = {**render_folder(f"kits/{kit}", context)}
    found[f"{package.folder}{name}.{package.suffix}"] = data
    return {f"{kit}/{name}/{path}": content for path, content in found.items()}


def _for_json(labels: tuple[Any, ...]) -> list[Any]:
    """Labels as JavaScript holds them."""
    if any(isinstance(label, int) and abs(label) > MOST_EXACT for label in labels):
        raise OptionError(
            f"kit npm: JavaScript holds no integers beyond {MOST_EXACT}; use labels that are text"
        )
    return list(labels)


def _rust_text(text: str) -> str:
    """A string literal of Rust in ASCII."""
    plain = (ch if " " <= ch <= "~" and ch not in '"\\' else f"\\u{{{ord(ch):x}}}" for ch in text)
    return '"' + "".join(plain) + '"'

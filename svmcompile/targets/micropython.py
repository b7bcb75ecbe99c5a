"""Kit micropython: a model as one file of Python, which runs the instructions of a blob.

The file holds the functions that its instructions use, and no others; the module in C that has the same
functions is a template of the kit.
"""

from __future__ import annotations

import base64
from typing import Any

from svmcompile import __version__
from svmcompile.ir.program import Program
from svmcompile.targets.blob.blob import OPERATIONS, OUTPUTS, REALS, SIZES, TEXT
from svmcompile.targets.blob.model import SUMS, assemble
from svmcompile.targets.templating import render

MICROPYTHON = "micropython"
LINE = 100  # characters of a table in a line
SAYS = {
    "predict": "The class of a row, or its value.",
    "decision_function": "Decision values of a row, in scikit-learn's order.",
    "predict_proba": "Probabilities of the classes.",
    "score_samples": "The raw score of a one-class model.",
}
ARGUMENTS = 5 + SIZES.index("p") + 1  # of a function: words of an instruction up to the size p


def emit_module(machine: Program) -> str:
    """NAME.py from a portable machine program."""
    blob, streams = assemble(machine)
    names = [name.lower() for name in OPERATIONS]
    found = {names[words[0]] for words in blob.instructions}
    labels = machine.labels
    context: dict[str, Any] = {
        **SUMS,
        "classes": machine.n_classes,
        "compiler": __version__,
        "features": machine.n_features,
        "labels": labels and f"({', '.join(ascii(label) for label in labels.values)},)",
        "scratch": blob.size - machine.n_features,
        "used": lambda some: not found.isdisjoint(some.lower().split()),
        "tables": [
            ("i" if kind != REALS else blob.real.char, _lines(content))
            for kind, content in blob.tables
            if kind != TEXT
        ],
        "outputs": [
            {
                "name": name,
                "says": SAYS[name],
                "steps": [_step(words, names) for words in blob.instructions[first : first + count]],
                "returns": _returned(name, at, width, labels is not None),
            }
            for name, (first, count, at, width) in zip(OUTPUTS, streams, strict=True)
            if width
        ],
    }
    return render("micropython/module.py.j2", context)


def _lines(content: bytes) -> list[str]:
    text = base64.b64encode(content).decode()
    return [text[at : at + LINE] for at in range(0, len(text), LINE)] or [""]


def _step(words: list[int], names: list[str]) -> str:
    """An instruction as Python: the function, and what it is called with."""
    name = names[words[0]]
    count = len(OPERATIONS[name.upper()].split()) - 3
    tables = words[5 + len(SIZES) :][:count]
    arguments = [*map(str, words[1:ARGUMENTS]), *(f"_T{table}" for table in tables)]
    return f"(_{name}, ({', '.join(arguments)}))"


def _returned(name: str, at: int, width: int, labelled: bool) -> str:
    run = f"_run(row, _{name.upper()}, {at}, {width})"
    if name == "predict" and labelled:
        return f"return CLASSES[int({run}[0])]"
    return f"return {run}[0]" if name in ("predict", "score_samples") else f"return tuple({run})"

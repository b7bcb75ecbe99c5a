"""emit for blobs: a machine program becomes NAME.bin, beside the runner in C that reads any such file."""

from __future__ import annotations

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import LONG, SEGMENT, Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.blob import composed as composed  # registers its nodes
from svmcompile.targets.blob.blob import OUTPUTS, TEXT, Blob, Register
from svmcompile.targets.blob.nodes import Values
from svmcompile.targets.c.literals import EXP2_COEFFICIENTS, cosine_terms
from svmcompile.targets.c.nodes.sums import BLOCK
from svmcompile.targets.templating import render

SUMS = {"block": BLOCK, "long": LONG, "segment": SEGMENT}  # how many numbers are added up one by one
RUNNER = ("svm_run.c", "svm_run.h")
KINDS = {None: 0, "int": 1, "float": 2, "bool": 3, "str": 4}  # of labels
NAMES = {"label": 0, "value": 0, "scores": 1, "probabilities": 2, "samples": 3}  # places in OUTPUTS


def emit(machine: Program, name: str) -> dict[str, str | bytes]:
    """NAME.bin from a portable machine program, and the runner."""
    return {f"{name}.bin": encode(machine), **runner()}


def runner() -> dict[str, str]:
    """The files of the runner, which are the same for every model."""
    return {file: render(f"blob/{file}.j2", SUMS) for file in RUNNER}


def encode(machine: Program) -> bytes:
    """The blob; equal programs give equal bytes."""
    blob, streams = assemble(machine)
    number, labels = _number(machine), machine.labels
    text = b"".join(_text(label) + b"\0" for label in labels.values) if labels else b""
    curves = (EXP2_COEFFICIENTS[number], cosine_terms(number))
    tables = blob.table(TEXT, text), *(blob.add("r", curve) for curve in curves)
    facts = (machine.n_features, machine.n_classes, KINDS[labels.kind if labels else None], *tables)
    return blob.content([*facts, *(word for stream in streams for word in stream)])


def assemble(machine: Program) -> tuple[Blob, list[list[int]]]:
    """Tables and instructions; for each of OUTPUTS first, count, register, width, or zeros."""
    number = _number(machine)
    _check_numbers(machine, number)
    blob, nodes = Blob(number, machine.n_features), {node.out: node for node in machine.body}
    streams = [[0, 0, 0, 0] for _ in OUTPUTS]
    for output in machine.outputs:
        row = {machine.input.name: Register(0, machine.n_features)}
        first = len(blob.instructions)
        found = Values(nodes, machine.tables, blob, row)[output.value]
        streams[NAMES[output.name]] = [first, len(blob.instructions) - first, found.at, found.width]
    return blob, streams


def _number(machine: Program) -> Number:
    return machine.number or "f64"


def _text(label: object) -> bytes:
    text = str(label)
    if "\0" in text or text.encode(errors="replace").decode() != text:
        raise EmitError(f"label {text!r} holds NUL or is no valid text, and cannot be stored in UTF-8")
    return text.encode()


def _check_numbers(machine: Program, number: Number) -> None:
    types = infer_types(machine)
    wide = next((node for node in machine.body if number == "f32" and types[node.out].wide), None)
    if wide is not None:
        raise EmitError(
            f"target blob has one number type, and {type(wide).__name__} (%{wide.out}) is in double, which "
            "labels that are certain and deviations need: use method exact without labels=certain (of a "
            "Gaussian process: with uncertainty=false), or target c"
        )

"""How emitted code does on data, beside the original; forms of an output folder, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from svmcompile.flow.folder import load_target, targets_in
from svmcompile.flow.opened import Opened
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.runtime import wasm
from svmcompile.verification.differential import Backend, Report, compare


def evaluate(
    program: Program, meaning: Program, number: Number, model: Opened, X: Any, y: Any
) -> dict[str, Any]:
    """Agreement, accuracy and worst error of a machine program on data, as the report shows them."""
    backend = Backend("interpreter", number, meaning)
    report = compare("", program, model.reference(), [backend], *_labelled(program, model, X, y))
    one = report.comparisons[0]
    figures: dict[str, Any] = {
        "rows": report.rows,
        "agreement": one.agreement,
        "max_decision_error": one.max_decision_error,
    }
    if one.max_probability_error is not None:
        figures["max_probability_error"] = one.max_probability_error
    if one.accuracy is not None:
        figures["accuracy"] = {"original": report.accuracy_of_reference, "compiled": one.accuracy}
    return figures


def compare_forms(folder: Path, stem: str, program: Program, model: Opened, X: Any, y: Any) -> Report:
    """Interpreter and every emitted form of a folder beside the original."""
    backends = [Backend("interpreter", program.number or "f64", program)]
    left_out = []
    for target in targets_in(folder, stem):
        if target == "wasm" and not wasm.has_wasmtime():
            left_out.append("wasm (pip install svmcompile[wasm] brings wasmtime, which runs it)")
            continue
        runner = load_target(folder, stem, program, target)
        backends.append(Backend(target, program.number or runner.precision, runner))
    report = compare(stem, program, model.reference(), backends, *_labelled(program, model, X, y))
    return replace(report, left_out=tuple(left_out))


def _labelled(program: Program, model: Opened, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Rows, and labels (which files hold as numbers or text) in the type of the model's own."""
    data = model.data(X, y)
    assert data
    kind = None if program.labels is None else program.labels.array().dtype
    if data.y is None or kind is None or kind.kind == data.y.dtype.kind:
        return data.X, data.y
    try:
        return data.X, data.y.astype(kind)
    except (TypeError, ValueError):
        return data.X, data.y

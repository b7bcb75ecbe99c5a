"""Probabilities of a program that approximates: measured on rows held out, kept, refused or calibrated.

Labels survive an approximation much better than probabilities do: these need the decision values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.options import ProbabilityOptions
from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.nodes import Sigmoid
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

MOST_ROWS = 2000  # that the original and the program are run on
ITSELF = "probabilities"


def settle_probabilities(
    program: Program, svm: SVM, rule: ProbabilityOptions, rows: Data | None, held_out: bool
) -> Program:
    """The program with its probabilities as the rule wants them, and a note that states their error."""
    if program.output(ITSELF) is None or rule.probabilities == "none":
        return _without(program, "probabilities are left out (probabilities=none)")
    if rows is None:
        note = "the error of the probabilities is not known: give rows (--data, X) to measure it"
        return _noted(program, note, {})
    seen = f"{min(len(rows.X), MOST_ROWS):,} rows " + ("held out" if held_out else "it was fitted to")
    if rule.probabilities == "calibrate":
        return _calibrated(program, svm, rows)
    worst, mean = _errors(program, svm, rows.X[:MOST_ROWS])
    told = f"up to {worst:.2g} ({mean:.2g} on average) on {seen}"
    figures = {"worst": worst, "mean": mean, "rows": min(len(rows.X), MOST_ROWS), "held_out": held_out}
    if worst <= rule.limit:
        return _noted(program, f"probabilities differ from the model's by {told}", figures)
    raise UnsupportedError(
        f"method {program.origin.method!r} changes probabilities by {told}, more than {rule.limit:g}; "
        "leave them out (--set probabilities=none), recalibrate them on labelled rows (=calibrate), "
        "accept them as they are (=anyway), or use method exact"
    )


def _errors(program: Program, svm: SVM, X: NDArray[Any]) -> tuple[float, float]:
    """The worst and the mean difference from the probabilities of the SVM itself."""
    expected = _probabilities(_original(svm), X)
    known = np.isfinite(expected).all(axis=1)  # rows with NaN have none
    wrong = np.abs(_probabilities(program, X)[known] - expected[known])
    return float(wrong.max(initial=0.0)), float(wrong.mean()) if wrong.size else 0.0


def _original(svm: SVM) -> Program:
    return accelerate(replace(svm, front=svm.front.uncentred()), None, "exact", {})


def _probabilities(program: Program, X: NDArray[Any]) -> Array:
    return np.asarray(interpret(program, X)[ITSELF], dtype=np.float64)


def _calibrated(program: Program, svm: SVM, rows: Data) -> Program:
    """Platt's sigmoids fitted anew to half of the labelled rows, and judged by the other half."""
    node = next((node for node in program.body if isinstance(node, Sigmoid)), None)
    if node is None or svm.platt is None or svm.labels is None:
        raise UnsupportedError(
            f"probabilities of {svm.source.kind} are not Platt's and cannot be recalibrated; "
            "choose another value of the option probabilities"
        )
    if rows.y is None:
        raise OptionError(
            "probabilities=calibrate needs labels of the rows; pass y, or name their column with --label"
        )
    truth = _class_numbers(rows.y, svm)
    half = len(truth) // 2
    tried = _refitted(program, node, rows.X[:half], truth[:half], len(svm.labels))
    losses = [
        _log_loss(_probabilities(one, rows.X[half:]), truth[half:]) for one in (tried, _original(svm))
    ]
    note = (
        f"probabilities were calibrated on {len(truth):,} labelled rows; calibrated on half of them they "
        f"have a log loss of {losses[0]:.3g} on the others, the model's own {losses[1]:.3g}"
    )
    figures = {"calibrated_on": len(truth), "log_loss": {"original": losses[1], "compiled": losses[0]}}
    return _noted(_refitted(program, node, rows.X, truth, len(svm.labels)), note, figures)


def _refitted(
    program: Program, node: Sigmoid, X: NDArray[Any], truth: NDArray[np.int64], n_classes: int
) -> Program:
    """The program with the sigmoid of each pair fitted to the rows of its two classes."""
    values = interpret_values(program, X, {node.scores})[node.scores]
    slopes, offsets = (program.tables[name].copy() for name in (node.slopes, node.offsets))
    for column, (one, other) in enumerate(pair_indices(n_classes)):
        own = (truth == one) | (truth == other)
        first = truth[own] == one
        if first.any() and not first.all():  # else there is nothing to learn from
            slopes[column], offsets[column] = _platt(values[own, column], first)
    return program.replace(tables={**program.tables, node.slopes: slopes, node.offsets: offsets})


def _class_numbers(y: NDArray[Any], svm: SVM) -> NDArray[np.int64]:
    """The numbers of labels, which files hold as numbers or text."""
    assert svm.labels
    classes = svm.labels.array()
    try:
        given = y if y.dtype.kind == classes.dtype.kind else y.astype(classes.dtype)
        known = {label: number for number, label in enumerate(classes.tolist())}
        return np.array([known[label] for label in given.tolist()], dtype=np.int64)
    except (KeyError, ValueError, TypeError):
        raise OptionError(
            "probabilities=calibrate: the labels of the rows are not those of the model"
        ) from None


def _platt(values: Array, first: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of P(first) = 1 / (1 + exp(slope v + offset)), with Platt's softened targets."""
    from scipy.optimize import minimize
    from scipy.special import expit

    ones, zeros = int(first.sum()), int((~first).sum())
    target = np.where(first, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    scale = float(np.std(values)) or 1.0

    def loss(z: Array) -> tuple[float, Array]:
        t = z[0] * values / scale + z[1]
        change = expit(t) - (1 - target)
        total = target @ np.logaddexp(0, t) + (1 - target) @ np.logaddexp(0, -t)
        return float(total), np.array([change @ values / scale, change.sum()])

    found = minimize(loss, np.array([0.0, np.log((zeros + 1) / (ones + 1))]), jac=True).x
    return float(found[0] / scale), float(found[1])


def _log_loss(found: Array, truth: NDArray[np.int64]) -> float:
    chosen = np.maximum(found[np.arange(len(truth)), truth], 1e-15)
    return float(-np.log(chosen).mean())


def _without(program: Program, note: str) -> Program:
    outputs = tuple(output for output in program.outputs if output.name != ITSELF)
    if len(outputs) == len(program.outputs):
        return program
    return _noted(program.replace(outputs=outputs), note, {})


def _noted(program: Program, note: str, figures: Mapping[str, Any]) -> Program:
    origin = program.origin
    details = {**origin.details, ITSELF: dict(figures)} if figures else origin.details
    return program.replace(origin=replace(origin, notes=(*origin.notes, note), details=details))

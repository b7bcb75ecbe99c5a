"""Side by side: the original, and each backend on the same rows; decision values first, then labels.

Where the claim leaves room between the original and the program, each backend must still be the
program: what the interpreter says, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import VerifyError
from svmcompile.ir.arithmetic import ARITHMETIC, FIXED, Number
from svmcompile.ir.bounds import Bounds, error_bounds, fixed_bounds, is_exact
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Claim, Program

# The original rounds as well: its sums carry an error like that of our own float64.
ORIGINAL_SHARE = 8


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to run the model, and the number type it computes in.

    A runner has `predict` and, unless it gives labels alone, `decision_function`.
    """

    name: str
    precision: Number
    runner: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """One backend against the original."""

    backend: str
    precision: Number
    rows: int
    agreement: float  # share of rows with the original's label; 1.0 for a regressor
    labels_differing: int
    rows_within_rounding: int  # rows whose label rounding alone may change
    labels_differing_beyond_rounding: int
    max_decision_error: float | None
    max_error_over_bound: float | None
    max_probability_error: float | None  # among rows whose number of coupling steps rounding cannot change
    max_probability_error_over_bound: float | None
    labels_off_program: int  # that differ from the interpreter's beyond rounding
    error_over_bound_off_program: float | None
    accuracy: float | None  # against given labels; R^2 is not computed for regressors
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All comparisons, and whether the claim holds."""

    name: str
    reference: str
    claim: str
    rows: int
    rows_not_finite: int
    accuracy_of_reference: float | None
    comparisons: tuple[Comparison, ...]
    left_out: tuple[str, ...] = ()  # forms that could not be run here, and why

    @property
    def ok(self) -> bool:
        return not any(comparison.broken for comparison in self.comparisons)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def compare(
    name: str,
    program: Program,
    reference: tuple[str, Any],
    backends: list[Backend],
    rows: NDArray[Any],
    labels: NDArray[Any] | None = None,
) -> Report:
    """Run everything on the same rows, rounded to float32 if any backend computes in it."""
    finite = _usable(program, rows)
    kept = rows[finite]
    truth = None if labels is None else np.asarray(labels)[finite]
    if not len(kept):
        raise VerifyError("no rows to compare; the data has no row of finite numbers")
    if any(backend.precision in ("f32", *FIXED) for backend in backends):
        kept = kept.astype(np.float32)
    expected = _Expected.of(program, reference[1], kept.astype(np.float64))
    meant = _Expected.of(program, program, expected.rows)
    exact = _summed_by_original(program, reference[1])
    bounds = {
        number: _bounds(program, expected.rows, number, exact) for number in {b.precision for b in backends}
    }
    own = {number: _own(bound, program) for number, bound in bounds.items()}
    return Report(
        name=name,
        reference=reference[0],
        claim=program.claim.value,
        rows=len(kept),
        rows_not_finite=int((~finite).sum()),
        accuracy_of_reference=_accuracy(expected.labels, truth, program),
        comparisons=tuple(
            _compare_one(
                backend, expected, meant, bounds[backend.precision], own[backend.precision], program, truth
            )
            for backend in backends
        ),
    )


def _usable(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of finite numbers, and those with NaN whose missing features the program fills in."""
    finite = np.isfinite(rows).all(axis=1)
    name = next((output.name for output in program.outputs if output.name != "label"), None)
    if (
        name is None
        or finite.all()
        or not any(node.fills and getattr(node, "nan", False) for node in program.body)
    ):
        return np.asarray(finite)
    known = np.isfinite(interpret(program, rows)[name]).all(axis=1)
    return np.asarray(finite | (known & ~np.isinf(rows).any(axis=1)))


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the original says of the rows."""

    rows: NDArray[Any]
    labels: NDArray[Any]
    scores: NDArray[Any] | None
    probabilities: NDArray[Any] | None

    @classmethod
    def of(cls, program: Program, original: Any, rows: NDArray[Any]) -> _Expected:
        labels = np.asarray(original.predict(rows))
        scores = labels.astype(np.float64) if program.labels is None else None
        if program.output("scores"):
            scores = _values(original, "decision_function", rows)
        probabilities = (
            _values(original, "predict_proba", rows) if program.output("probabilities") else None
        )
        return cls(rows, labels, None if scores is None else scores.reshape(len(rows), -1), probabilities)


def _summed_by_original(program: Program, original: Any) -> Program | None:
    """What the original adds up, where it may round more than the program.

    So it is where the program has fewer kernels, as after collapsing a linear one: large coefficients
    that cancel round in the original alone. Or where steps make new features, which are centred here.
    """
    exact = original if isinstance(original, Program) else getattr(original, "exact", None)
    if exact is None or program.claim is not Claim.EXACT:
        return None
    fewer = program.cost().max_kernel_evaluations < exact.cost().max_kernel_evaluations
    return exact if fewer or any(node.makes_features for node in exact.body) else None


def _bounds(program: Program, rows: NDArray[Any], precision: Number, exact: Program | None) -> Bounds:
    """How far rounding may move a backend and the original apart."""
    if program.number in FIXED:
        return fixed_bounds(program, rows)
    own = error_bounds(program, rows, precision)
    share = 1 + ORIGINAL_SHARE * ARITHMETIC["f64"].u / ARITHMETIC[precision].u
    if exact is None:
        return Bounds(share * own.scores, own.unstable, share * own.probabilities)
    original = error_bounds(exact, rows, "f64")
    return Bounds(
        share * own.scores + ORIGINAL_SHARE * original.scores,
        own.unstable | original.unstable,
        share * own.probabilities + ORIGINAL_SHARE * original.probabilities,
    )


def _own(bounds: Bounds, program: Program) -> Bounds:
    """How far a backend may be from the interpreter: in whole numbers nothing is rounded twice."""
    if program.number not in FIXED or not is_exact(program):
        return bounds
    return Bounds(np.zeros_like(bounds.scores), np.zeros_like(bounds.unstable), bounds.probabilities)


def _values(runner: Any, method: str, rows: NDArray[Any]) -> NDArray[Any] | None:
    function = getattr(runner, method, None)
    return None if function is None else np.asarray(function(rows), dtype=np.float64)


def _compare_one(
    backend: Backend,
    expected: _Expected,
    meant: _Expected,
    bounds: Bounds,
    own: Bounds,
    program: Program,
    truth: NDArray[Any] | None,
) -> Comparison:
    labels = np.asarray(backend.runner.predict(expected.rows))
    figures: dict[str, Any] = dict.fromkeys(
        ("max_decision_error", "max_error_over_bound", "error_over_bound_off_program")
    )
    differing = off = np.zeros(len(labels), dtype=bool)
    scores: NDArray[Any] | None = labels
    if program.labels is not None:
        differing, off = labels != expected.labels, labels != meant.labels
        has_scores = program.output("scores")
        scores = _values(backend.runner, "decision_function", expected.rows) if has_scores else None
    if scores is not None and expected.scores is not None:
        scores = scores.astype(np.float64).reshape(len(labels), -1)
        figures = _errors(scores, expected, bounds, program.number in FIXED)
        figures["error_over_bound_off_program"] = _errors(scores, meant, own)["max_error_over_bound"]
    figures |= _probability_errors(backend, expected, bounds)
    beyond = int((differing & ~bounds.unstable).sum())
    figures["labels_off_program"] = int((off & ~own.unstable).sum())
    return Comparison(
        backend=backend.name,
        precision=backend.precision,
        rows=len(labels),
        agreement=float(1 - differing.mean()),
        labels_differing=int(differing.sum()),
        rows_within_rounding=int(bounds.unstable.sum()),
        labels_differing_beyond_rounding=beyond,
        accuracy=_accuracy(labels, truth, program),
        broken=_broken(program.claim, int(differing.sum()), beyond, figures)
        + _beyond_stated(program, figures),
        **figures,
    )


def _errors(
    scores: NDArray[Any], expected: _Expected, bounds: Bounds, fixed: bool = False
) -> dict[str, float]:
    """The worst error among rows whose scores rounding cannot make jump, absolute and over the bound."""
    assert expected.scores is not None
    if scores.shape != expected.scores.shape:
        raise VerifyError(f"scores have shape {scores.shape}, the original's {expected.scores.shape}")
    # Scores in whole numbers have a stated error on every row but those without any bound.
    steady = np.isfinite(bounds.scores).all(axis=1) if fixed else ~bounds.unstable
    error = np.abs(scores - expected.scores)[steady]
    error = np.where(np.isnan(error), np.inf, error)
    over = error / np.maximum(bounds.scores[steady], np.finfo(np.float64).tiny)
    return {
        "max_decision_error": float(error.max(initial=0.0)),
        "max_error_over_bound": float(over.max(initial=0.0)),
    }


def _probability_errors(backend: Backend, expected: _Expected, bounds: Bounds) -> dict[str, float | None]:
    """The worst error of probabilities among rows that have a bound, absolute and over the bound."""
    keys = ("max_probability_error", "max_probability_error_over_bound")
    if expected.probabilities is None:
        return dict.fromkeys(keys)
    found = _values(backend.runner, "predict_proba", expected.rows)
    if found is None or found.shape != expected.probabilities.shape:
        raise VerifyError(f"{backend.name} gives no probabilities, or not of the original's shape")
    known = np.isfinite(bounds.probabilities).all(axis=1)
    error = np.abs(found - expected.probabilities)[known]
    error = np.where(np.isnan(error), np.inf, error)
    over = error / np.maximum(bounds.probabilities[known], np.finfo(np.float64).tiny)
    return dict(zip(keys, (float(error.max(initial=0.0)), float(over.max(initial=0.0))), strict=True))


def _broken(claim: Claim, differing: int, beyond: int, figures: Mapping[str, Any]) -> tuple[str, ...]:
    """What the claim does not allow."""
    found = []
    if claim is Claim.EXACT and beyond:
        found.append(f"{beyond} labels differ beyond rounding")
    if claim is Claim.EXACT and (figures["max_error_over_bound"] or 0) > 1:
        worst = figures["max_decision_error"]
        found.append(f"decision values differ by {worst:.3g}, more than rounding explains")
    if claim is Claim.EXACT and (figures["max_probability_error_over_bound"] or 0) > 1:
        worst = figures["max_probability_error"]
        found.append(f"probabilities differ by {worst:.3g}, more than rounding explains")
    if claim is Claim.SAME_LABEL and differing:
        found.append(f"{differing} labels differ")
    if claim is not Claim.EXACT and figures["labels_off_program"]:
        found.append(f"{figures['labels_off_program']} labels are not the program's, beyond rounding")
    if claim is not Claim.EXACT and (figures["error_over_bound_off_program"] or 0) > 1:
        found.append("decision values are not the program's, beyond rounding")
    return tuple(found)


def _beyond_stated(program: Program, figures: Mapping[str, Any]) -> tuple[str, ...]:
    """Whether an exact program in whole numbers is farther from the original than it states."""
    exact = program.origin.details.get("fixed", {}).get("claim") == Claim.EXACT.value
    if not exact or (figures["max_error_over_bound"] or 0) <= 1:
        return ()
    return (f"decision values differ by {figures['max_decision_error']:.3g}, more than the stated error",)


def _accuracy(labels: NDArray[Any], truth: NDArray[Any] | None, program: Program) -> float | None:
    if truth is None or program.labels is None:
        return None
    return float((labels == truth).mean())

"""Side by side: the original, and each backend on the same rows; decision values first, then labels.

Where the claim leaves room between the original and the program, each backend must still be the
program: what the interpreter says, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import side_by_side
from svmcompile.errors import VerifyError
from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.bounds import (
    Bounds,
    extra_output,
    fixed_bounds,
    is_exact,
    within_range,
)
from svmcompile.ir.graph import maker
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.program import Claim, Program
from svmcompile.progress import Advance, steps
from svmcompile.statistics import interval
from svmcompile.verification.figures import (
    accuracy_of,
    agreement_by_target,
    count_unknown,
    differing_rows,
    worst_error,
)
from svmcompile.verification.limits import limited, summed_by_original
from svmcompile.verification.texts import are_texts, bounded, finite_rows, in_type

# Figures of a comparison that are None where there is nothing to compare.
ERRORS = (
    "max_decision_error", "max_error_over_bound", "max_probability_error",
    "max_probability_error_over_bound", "error_over_bound_off_program",
)  # fmt: skip
EXTRA_ERRORS = ("max_extra_error", "max_extra_error_over_bound", "extra_error_over_bound_off_program")
CHUNK_FLOPS = 200_000_000  # of the model as trained, per chunk of rows


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
    agreement: float  # share of rows with the original's label, or all of its labels; 1.0 for a regressor
    agreement_by_target: tuple[float, ...]  # of models of several labels per row
    agreement_interval: tuple[float, float] | None  # 95 % confidence; None for a regressor
    labels_differing: int
    rows_within_rounding: int  # rows whose label rounding (in whole numbers: the error here) may change
    labels_differing_beyond_rounding: int
    max_decision_error: float | None
    max_error_over_bound: float | None  # None where the claim says nothing of decision values
    max_probability_error: float | None  # among rows whose number of coupling steps rounding cannot change
    max_probability_error_over_bound: float | None
    labels_off_program: int  # that differ from the interpreter's beyond rounding
    error_over_bound_off_program: float | None
    max_extra_error: float | None  # of score_samples or predict_std
    max_extra_error_over_bound: float | None
    extra_error_over_bound_off_program: float | None
    accuracy: float | None  # against given labels; R^2 is not computed for regressors
    accuracy_interval: tuple[float, float] | None
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All comparisons, and whether the claim holds."""

    name: str
    reference: str
    claim: str
    rows: int
    rows_not_finite: int
    stated_error: float | None  # of decision values in whole numbers, at worst
    extra_output: str | None  # score_samples or predict_std, where the program gives them
    labels_unknown: int  # rows whose given label is no class of the model
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
    trusted: Sequence[Program] = (),
) -> Report:
    """Run everything on the same rows, rounded to float32 if any backend or the original computes in it.

    Rows go through in chunks; a bar shows how far they are. A program that claims to be exact, or states
    its error in whole numbers, may be off as `trusted` ones are, which were made of the original.
    """
    original: Number = getattr(reference[1], "precision", "f64")
    numbers = {backend.precision for backend in backends}
    if {original} | numbers != {"f64"}:
        rows = in_type(rows, np.float32)
    finite = usable_rows(program, rows)
    kept = in_type(rows[finite], np.float64)
    truth = None if labels is None else np.asarray(labels)[finite]
    if not len(kept):
        raise VerifyError("no rows to compare; the data has no row of finite numbers")
    passes = (2 + len(backends)) * (1 + len(program.outputs)) + len(numbers)
    with steps("verifying", passes * len(kept)) as advance:
        expected = _Expected.of(program, _Chunked(reference[1], program, advance), kept)
        meant = _Expected.of(program, _Chunked(program, program, advance), kept)
        exact, bounds = summed_by_original(program, reference[1]), {}
        for number in numbers:
            coarse = original if number == "f64" else number
            bounds[number] = bounded(kept, limited, program, coarse, exact, trusted)
            advance(len(kept))
        measured = _measure(program, kept, reference[1])
        comparisons = []
        for backend in backends:
            known = bounds[backend.precision]
            ready = replace(backend, runner=_Chunked(backend.runner, program, advance))
            comparisons.append(_compare_one(ready, expected, meant, known, program, truth, measured))
    return Report(
        name=name,
        reference=reference[0],
        claim=program.claim.value,
        rows=len(kept),
        rows_not_finite=int((~finite).sum()),
        stated_error=program.origin.details.get("fixed", {}).get("error"),
        extra_output=extra_output(program),
        labels_unknown=count_unknown(truth, program),
        accuracy_of_reference=accuracy_of(expected.labels, truth, program),
        comparisons=tuple(comparisons),
    )


def usable_rows(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Texts, rows of finite numbers, and those with NaN whose missing features the program fills in."""
    finite = finite_rows(rows)
    name = next((output.name for output in program.outputs if output.name != "label"), None)
    fills = any(node.fills and getattr(node, "nan", False) for node in program.body)
    if name is None or finite.all() or not fills:
        return finite
    known = np.isfinite(interpret(program, rows)[name]).all(axis=1)
    return np.asarray(finite | (known & ~np.isinf(rows).any(axis=1)))


class _Chunked:
    """A runner whose functions get rows in chunks, and tell how far they are."""

    def __init__(self, runner: Any, program: Program, advance: Advance) -> None:
        self._runner, self._advance = runner, advance
        self._step = max(1, CHUNK_FLOPS // max(1, program.origin.exact_flops))

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._runner, name)
        return None if function is None else lambda rows: self._run(function, rows)

    def _run(self, function: Any, rows: NDArray[Any]) -> NDArray[Any]:
        parts = []
        for at in range(0, len(rows), self._step):
            parts.append(side_by_side(function(rows[at : at + self._step])))
            self._advance(len(parts[-1]))
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the original says of the rows."""

    rows: NDArray[Any]
    labels: NDArray[Any]
    scores: NDArray[Any] | None
    probabilities: NDArray[Any] | None
    extra: NDArray[Any] | None

    @classmethod
    def of(cls, program: Program, original: Any, rows: NDArray[Any]) -> _Expected:
        try:
            labels = side_by_side(original.predict(rows))
        except ValueError as error:
            raise VerifyError(f"the original refuses these rows: {error}") from error
        scores = labels.astype(np.float64) if program.labels is None else None
        if program.output("scores"):
            scores = _values(original, "decision_function", rows)
        wanted = program.output("probabilities")
        probabilities = _values(original, "predict_proba", rows) if wanted else None
        extra = _extra(program, original, rows)
        scores = None if scores is None else scores.reshape(len(rows), -1)
        return cls(rows, labels, scores, probabilities, extra)


class _Measured(NamedTuple):
    """In whole numbers: the error of sums on these rows, and the rows whose label that may change.

    The stated error is a worst case, next to which most rows may be near a tie.
    """

    error: float
    near: NDArray[np.bool_]


def _measure(program: Program, rows: NDArray[Any], original: Any) -> _Measured | None:
    """None for programs of real numbers, and where sums cannot be told apart."""
    exact = original if isinstance(original, Program) else getattr(original, "exact", None)
    if program.number not in FIXED or exact is None or are_texts(rows):
        return None
    found, meant = (_sums(one, rows) for one in (program, exact))
    inside = within_range(program, rows)
    if found is None or meant is None or found.shape != meant.shape or not inside.any():
        return None
    error = float(np.abs(found - meant)[inside].max(initial=0.0))
    return _Measured(error, fixed_bounds(program, rows, error).unstable)


def _sums(program: Program, rows: NDArray[Any]) -> NDArray[Any] | None:
    """What the label is decided by: the sums of pairs where scores are made of such, else the scores."""
    value = program.output("scores")
    name = getattr(maker(program, value), "pairs", value) if value else None
    return interpret_values(program, rows, {name})[name].astype(np.float64) if name else None


def _own(bounds: Bounds, program: Program) -> Bounds:
    """How far a backend may be from the interpreter: in whole numbers nothing is rounded twice."""
    if program.number not in FIXED or not is_exact(program):
        return bounds
    return bounds._replace(scores=np.zeros_like(bounds.scores), unstable=np.zeros_like(bounds.unstable))


def _values(runner: Any, method: str, rows: NDArray[Any]) -> NDArray[Any] | None:
    function = getattr(runner, method, None)
    return None if function is None else side_by_side(function(rows)).astype(np.float64)


def _extra(program: Program, runner: Any, rows: NDArray[Any]) -> NDArray[Any] | None:
    """Raw scores or standard deviations, [rows, 1]."""
    method = extra_output(program)
    found = _values(runner, method, rows) if method else None
    return None if found is None else found.reshape(len(rows), -1)


def _compare_one(
    backend: Backend, expected: _Expected, meant: _Expected, bounds: Bounds, program: Program,
    truth: NDArray[Any] | None, measured: _Measured | None,
) -> Comparison:  # fmt: skip
    own, labels = _own(bounds, program), side_by_side(backend.runner.predict(expected.rows))
    figures: dict[str, Any] = dict.fromkeys(ERRORS + EXTRA_ERRORS)
    differing = off = np.zeros(len(labels), dtype=bool)
    scores: NDArray[Any] | None = labels
    if program.labels is not None:
        differing, off = (differing_rows(labels, one.labels) for one in (expected, meant))
        has_scores = program.output("scores")
        scores = _values(backend.runner, "decision_function", expected.rows) if has_scores else None
    if scores is not None and expected.scores is not None and meant.scores is not None:
        scores = scores.astype(float).reshape(len(labels), -1)
        if scores.shape != expected.scores.shape:
            raise VerifyError(f"scores have shape {scores.shape}, the original's {expected.scores.shape}")
        # Rounding must not make scores jump; in whole numbers their error is stated, where it is bounded.
        steady = np.isfinite(bounds.scores).all(axis=1) if program.number in FIXED else ~bounds.unstable
        worst = worst_error(scores, expected.scores, bounds.scores, steady)
        figures |= dict(zip(ERRORS, worst if _promises_values(program) else worst[:1], strict=False))
        worst = worst_error(scores, meant.scores, own.scores, ~own.unstable)
        figures["error_over_bound_off_program"] = worst[1]
    if expected.probabilities is not None:
        found = _values(backend.runner, "predict_proba", expected.rows)
        if found is None or found.shape != expected.probabilities.shape:
            raise VerifyError(f"{backend.name} gives no probabilities, or not of the original's shape")
        known = np.isfinite(bounds.probabilities).all(axis=1)
        worst = worst_error(found, expected.probabilities, bounds.probabilities, known)
        figures |= dict(zip(ERRORS[2:], worst if program.claim is Claim.EXACT else worst[:1], strict=False))
    figures |= _extra_errors(backend, expected, meant, bounds, program)
    figures |= {"max_decision_error": measured.error} if measured else {}
    beyond = int((differing & ~bounds.unstable).sum())
    figures["labels_off_program"] = int((off & ~own.unstable).sum())
    accuracy, same = accuracy_of(labels, truth, program), int((~differing).sum())
    right = None if accuracy is None else round(accuracy * len(labels))
    return Comparison(
        backend=backend.name,
        precision=backend.precision,
        rows=len(labels),
        agreement=float(1 - differing.mean()),
        agreement_by_target=agreement_by_target(labels, expected.labels, program),
        agreement_interval=None if program.labels is None else interval(same, len(labels)),
        labels_differing=int(differing.sum()),
        rows_within_rounding=int((measured.near if measured else bounds.unstable).sum()),
        labels_differing_beyond_rounding=beyond,
        accuracy=accuracy,
        accuracy_interval=None if right is None else interval(right, len(labels)),
        broken=_broken(program, int(differing.sum()), beyond, figures),
        **figures,
    )


def _extra_errors(
    backend: Backend, expected: _Expected, meant: _Expected, bounds: Bounds, program: Program
) -> dict[str, float]:
    """Errors of raw scores or standard deviations, and over the bounds of what is promised."""
    method = extra_output(program)
    if method is None:
        return {}
    found = _extra(program, backend.runner, expected.rows)
    if found is None or expected.extra is None or meant.extra is None:
        lacks = backend.name if found is None else "the original"
        raise VerifyError(f"the program gives {method}, and {lacks} does not")
    steady = np.isfinite(bounds.extra).all(axis=1)
    worst = worst_error(found, expected.extra, bounds.extra, steady)
    if _promises_values(program):
        return dict(zip(EXTRA_ERRORS[:2], worst, strict=True))
    off = worst_error(found, meant.extra, bounds.extra, steady)
    return {EXTRA_ERRORS[0]: worst[0], EXTRA_ERRORS[2]: off[1]}


def _promises_values(program: Program) -> bool:
    """Whether the claim is about decision values too, so that their error has a bound to keep."""
    stated = program.origin.details.get("fixed", {}).get("claim")
    return program.claim is Claim.EXACT or stated == Claim.EXACT.value


def _broken(program: Program, differing: int, beyond: int, figures: Mapping[str, Any]) -> tuple[str, ...]:
    """What the claim does not allow; in whole numbers, what an exact program states of its error."""
    exact, stated = program.claim is Claim.EXACT, program.origin.details.get("fixed", {}).get("claim")
    score, score_share, chance, chance_share, off_share = (figures[key] or 0.0 for key in ERRORS)
    extra, extra_share, extra_off = (figures[key] or 0.0 for key in EXTRA_ERRORS)
    method, allowed = extra_output(program), "the stated error" if stated else "rounding explains"
    off, values = figures["labels_off_program"], f"decision values differ by {score:.3g}, more than"
    problems = (
        (exact and beyond, f"{beyond} labels differ beyond rounding"),
        (exact and score_share > 1, f"{values} rounding explains"),
        (exact and chance_share > 1, f"probabilities differ by {chance:.3g}, more than rounding explains"),
        (program.claim is Claim.SAME_LABEL and differing, f"{differing} labels differ"),
        (not exact and off, f"{off} labels are not the program's, beyond rounding"),
        (not exact and off_share > 1, "decision values are not the program's, beyond rounding"),
        (extra_share > 1, f"{method} differs by {extra:.3g}, more than {allowed}"),
        (extra_off > 1, f"{method} is not the program's, beyond rounding"),
        (stated == Claim.EXACT.value and score_share > 1, f"{values} the stated error"),
    )
    return tuple(text for broken, text in problems if broken)

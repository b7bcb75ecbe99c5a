"""Candidates: every way to compile a model that may be worth taking, coarse steps of each ladder first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from svmcompile.accelerate.registry import method as find_method
from svmcompile.accelerate.registry import tuned
from svmcompile.choose.wishes import Limits, Wishes
from svmcompile.errors import OptionError
from svmcompile.model.svm import SVM

TARGETS = (0.99, 0.995, 0.999)  # agreement that methods with such an option aim at
LEAST_BUDGET, BUDGET_STEP = 2.0, 2**0.5  # vectors of a reduced set, and how much more the next step has
SMALL, STEPS = 8192, 2000  # bytes of tables of a small model, where no limit is given; its training
CODE = 1024  # bytes in flash of the code of a small model, at least
COARSE, FINE = 3, 7  # steps of the ladder: the first come before other methods, the last after all
DOUBLE_METHODS = ("exact", "anytime", "certified")  # that keep labels on a device with double in software


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compile the model."""

    number: int
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    precision: str = "f32"
    tables: str | None = None
    target: str = "c"
    profile: str = "host"
    soft_double: bool = False
    size: float | None = None  # how far up its ladder it stands: more costs more and agrees more

    @property
    def title(self) -> str:
        """A short name."""
        words = [self.method]
        for key, value in self.options.items():
            words.append(f"{value:,} vectors" if key == "budget" else f"{key} {value}")
        words += [self.precision] if self.precision != "f32" else []
        words += [f"tables {self.tables}"] if self.tables else []
        words += ["ONNX"] if self.target == "onnx" else []
        words += ["double in software"] if self.soft_double else []
        return ", ".join(words)

    @property
    def family(self) -> tuple[Any, ...]:
        """Candidates of one ladder: all but the step is the same."""
        return (self.method, self.precision, self.tables, self.target, self.soft_double)

    @property
    def tuned(self) -> dict[str, Any]:
        """The options that its method runs with, as `compile` runs it."""
        return tuned(self.method, self.options, self.profile, self.precision)

    def words(self) -> list[str]:
        """The options of the command line that make it."""
        words = ["--method", self.method]
        for key, value in self.options.items():
            words += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
        words += ["--precision", self.precision] if self.precision != "f32" else []
        words += ["--tables", self.tables] if self.tables else []
        words += ["--target", self.target] if self.target != "c" else []
        words += ["--profile", self.profile] if self.profile != "host" else []
        return words + (["--soft-double"] if self.soft_double else [])

    def command(self, model: str, data: str, more: Sequence[str] = ()) -> str:
        """The command that builds it."""
        words = [model, "-o", "out", "--data", data, *more, *self.words()]
        return shlex.join(["svmcompile", "compile", *words])


def candidates(svm: SVM, wishes: Wishes) -> list[Candidate]:
    """What to try, in order: the exact forms, the methods that keep labels, then ladders, coarse first."""
    forms = list(_device_forms() if wishes.device else _host_forms(wishes))
    forms = [form for form in forms if wishes.precision in (None, form.get("precision", "f32"))]
    found = []
    for method, options, size in _ways(svm, wishes):
        if wishes.methods and method not in ("exact", *wishes.methods):  # exact is what others beat
            continue
        if svm.has_probabilities and find_method(method).bends_probabilities:
            options = {**options, "probabilities": "none"}  # candidates are judged by labels
        found += [
            dict(method=method, options=options, size=size, **form)
            for form in forms
            if _fits(method, options, form, wishes.precision)
        ]
    if wishes.methods and not {one["method"] for one in found} & set(wishes.methods):
        named = " or ".join(map(repr, wishes.methods))
        raise OptionError(f"method {named} cannot be tried on this model under these limits")
    return [Candidate(number, **one) for number, one in enumerate(found, 1)]


def _host_forms(wishes: Wishes) -> Iterator[dict[str, Any]]:
    for target in wishes.targets:
        yield {"target": target}
        yield {"target": target, "precision": "f64"}
        if target == "c":
            yield {"target": target, "tables": "f16"}


def _device_forms() -> Iterator[dict[str, Any]]:
    for precision in ("f32", "q15", "q7"):
        yield {"precision": precision, "profile": "device"}
    yield {"precision": "f32", "profile": "device", "soft_double": True}
    yield {"precision": "f64", "profile": "device", "soft_double": True}


def _fits(method: str, options: Mapping[str, Any], form: Mapping[str, Any], asked: str | None) -> bool:
    """Whether a form adds anything to a method: double keeps labels, f16 halves what are mostly vectors."""
    precision, double = form.get("precision", "f32"), form.get("soft_double", False)
    if "labels" in options:  # float32 with double behind it
        return precision == "f32" and "tables" not in form and double == (form.get("profile") == "device")
    if precision == "f64":
        return asked == "f64" or method == "exact"
    if double:
        return method in DOUBLE_METHODS[1:]
    if form.get("tables") == "f16":
        return method in ("exact", "reduced-set")
    return not (form.get("profile") == "device" and method in DOUBLE_METHODS[1:])


def _ways(svm: SVM, wishes: Wishes) -> Iterator[tuple[str, dict[str, Any], float | None]]:
    """Methods with options, and the place of each on its ladder."""
    limits = wishes.limits
    room = min((size for size in (limits.max_bytes, limits.flash) if size), default=None)
    yield "exact", {}, None
    may_differ, classifies = not limits.same_labels, svm.labels is not None
    if classifies:
        yield "exact", {"labels": "certain"}, None
        yield "certified", {"max_bytes": room} if room else {}, None
        yield "anytime", {}, None
    if may_differ and svm.kernel.kind != "linear":  # exact is linear then
        yield "linear", {}, None
    # It is for kilobytes.
    protos = _protos(limits) if may_differ and (room or wishes.device or "proto" in wishes.methods) else []
    yield from protos[:1]
    reduced = _reduced(svm.n_vectors) if may_differ else []
    yield from reduced[:COARSE]
    if may_differ and classifies:
        yield "certified", {"mode": "calibrated"}, None
        yield "metric-tree", {}, None
        for target in _targets(limits.agreement):
            yield "metric-tree", {"guard": "target", "target": target}, target
    yield from protos[1:]
    yield from reduced[COARSE:FINE]
    if may_differ and classifies:
        yield "sv-tree", {"fallback": True}, None
        for target in _targets(limits.agreement):
            yield "h1-tree", {"target": target}, target
            yield "dtsvm", {"target": target}, target
        yield "sv-tree", {}, None
    yield from reduced[FINE:]
    if svm.labels is not None and len(svm.labels) == 2 and svm.kernel.kind == "rbf":
        yield "h1-tree", {"proven": True}, None


def _targets(agreement: float | None) -> list[float]:
    """Aims of methods that have one; above the limit by half of what it leaves open."""
    return list(TARGETS) if agreement is None else [round(1 - (1 - agreement) / 2, 6), agreement]


def _protos(limits: Limits) -> list[tuple[str, dict[str, Any], float | None]]:
    """Programs of few bytes: small ones only where limits on labels say which are too small."""
    flash = limits.flash and max(limits.flash - CODE, limits.flash // 2)
    room = min((size for size in (limits.max_bytes, flash) if size), default=SMALL)
    sizes = [max(1, room // part) for part in ((4, 1, 16) if limits.on_labels else (4, 1))]
    return [("proto", {"max_bytes": size, "steps": STEPS}, float(size)) for size in sizes]


def _reduced(vectors: int) -> list[tuple[str, dict[str, Any], float | None]]:
    """Reduced sets of few to half of the vectors, coarse steps first."""
    steps = [LEAST_BUDGET * BUDGET_STEP**step for step in range(2 * vectors.bit_length())]
    budgets = sorted({round(step) for step in steps if step <= max(LEAST_BUDGET, vectors // 2)})
    order = [budgets[place] for place in _coarse_first(len(budgets))]
    return [("reduced-set", {"budget": budget}, float(budget)) for budget in order]


def _coarse_first(count: int) -> list[int]:
    """The middle, then the middles of what is left, so that a search cut short has seen all of it."""
    order, spans = [], [(0, count)]
    while spans:
        first, last = spans.pop(0)
        if first < last:
            middle = (first + last) // 2
            order.append(middle)
            spans += [(first, middle), (middle + 1, last)]
    return order

"""accelerate: an SVM (and data, where a method needs some) becomes a Program.

Methods that train make one of labelled data alone. A new method is one module here and one line in METHODS.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from svmcompile.accelerate.options import (
    Option,
    ProbabilityOptions,
    check_options,
    listed,
    parse_options,
    plain,
)  # fmt: skip
from svmcompile.data import Data
from svmcompile.errors import CheckError, OptionError, UnsupportedError
from svmcompile.ir.check import check
from svmcompile.ir.differences import is_by_differences
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM, Link
from svmcompile.plugins.entries import Plugin, find_plugged, find_plugin, guarded, load

LARGEST = 1e70  # whose squares, products and sums are far from the ends of double
SOME = 200  # vectors that are looked at
METHODS: dict[str, str] = {
    "exact": "svmcompile.accelerate.exact",
    "anytime": "svmcompile.accelerate.anytime",
    "certified": "svmcompile.accelerate.certified",
    "dtsvm": "svmcompile.accelerate.dtsvm.method",
    "h1-tree": "svmcompile.accelerate.h1_tree.method",
    "linear": "svmcompile.accelerate.linear",
    "metric-tree": "svmcompile.accelerate.metric_tree.method",
    "proto": "svmcompile.accelerate.proto.method",
    "reduced-set": "svmcompile.accelerate.reduced_set.method",
    "sv-tree": "svmcompile.accelerate.sv_tree.method",
}
FEW_LABELS = 10  # of more, on fewer than twice as many rows, they are numbers to predict


@dataclass(frozen=True, slots=True)
class Method:
    """A method as its module declares it: METHOD(run, options, claim, needs_data)."""

    run: Any
    options: type
    claim: Claim
    needs_data: bool
    needs_vectors: bool = True  # False if kernel values are all it asks for
    takes_differences: bool = False  # True if it takes kernels that are no function of dot products
    takes_heads: bool = False  # True if its sums are values that probabilities can be made of
    takes_parts: bool = False  # True if it takes models of several kernel machines
    takes_alike: bool = False  # True if it takes several that share kernel and preprocessing
    takes_sparse: bool = False  # True if it takes vectors without their zeros
    train: Any = None  # (Data, train_options) -> Program, for methods that do without an SVM
    train_options: type | None = None
    variants: tuple[Mapping[str, Any], ...] = ()  # options to try as well, where times are measured
    fits_with: Mapping[str, Any] = field(default_factory=dict)  # options that make it fit to rows
    quicker: tuple[str, ...] = ()  # KEY=VALUE: options that save it the most work

    @property
    def summary(self) -> str:
        return (self.options.__doc__ or "").splitlines()[0]

    @property
    def bends_probabilities(self) -> bool:
        """Whether its probabilities are made of values that only resemble the original's."""
        return self.takes_heads and self.claim is Claim.APPROXIMATE

    @property
    def option_list(self) -> list[Option]:
        return listed(self.options) + (listed(ProbabilityOptions) if self.bends_probabilities else [])

    @property
    def train_option_list(self) -> list[Option]:
        return listed(self.train_options) if self.train_options else []


def method_name(name: str) -> str:
    """The name of a method as it is listed."""
    return find_plugged(name, METHODS, "method")


def method(name: str) -> Method:
    """The method of that name."""
    name = method_name(name)
    if name not in METHODS:
        return _plugged(find_plugin(name, METHODS, "method"))
    found = importlib.import_module(METHODS[name]).METHOD
    assert isinstance(found, Method)
    return found


def _plugged(plugin: Plugin) -> Method:
    """The method of a plugin, whose errors name it."""
    found = load(plugin, Method)
    train = guarded(plugin, found.train) if found.train else None
    return replace(found, run=guarded(plugin, found.run), train=train)


def tuned(name: str, options: Mapping[str, Any], profile: str, precision: str = "") -> dict[str, Any]:
    """The method's options; one that can be tuned for profile and precision is, unless they say so."""
    known = {option.name for option in method(name).option_list}
    form = {"tune": "host" if profile == "host" else "portable", "precision": precision}
    return {**{key: value for key, value in form.items() if value and key in known}, **options}


def fits_rows(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a method with these options is fitted to the rows given, so that they flatter it."""
    chosen = method(name)
    fitting = any(options.get(key) == value for key, value in chosen.fits_with.items())
    return chosen.claim is Claim.APPROXIMATE or fitting


def split_rule(name: str, options: Mapping[str, Any]) -> tuple[ProbabilityOptions | None, dict[str, Any]]:
    """What is asked for about probabilities, None where a method keeps them, and its own options."""
    own = dict(options)
    if not method(name).bends_probabilities:
        return None, own
    asked = {"probabilities": own.pop("probabilities")} if "probabilities" in own else {}
    rule: ProbabilityOptions = parse_options(name, ProbabilityOptions, asked)
    return rule, own


def accelerate(svm: SVM, data: Data | None, name: str, options: Mapping[str, Any]) -> Program:
    """The program a method makes of an SVM."""
    chosen = method(name)
    if chosen.needs_data and data is None:
        raise OptionError(f"method {name!r} needs data; pass X (Python) or --data FILE")
    if chosen.needs_vectors and svm.kernel.kind == "precomputed":
        raise UnsupportedError(
            f"method {name!r} evaluates the kernel itself, which is not possible with a precomputed "
            f"kernel; methods that work: {_names(lambda other: not other.needs_vectors)}"
        )
    by_differences = next((one for one in svm.machines if is_by_differences(one.kernel)), None)
    if by_differences and not chosen.takes_differences:
        raise UnsupportedError(
            f"method {name!r} does not take a {by_differences.kernel.kind} kernel; methods that do: "
            f"{_names(lambda other: other.takes_differences)}"
        )
    parsed = parse_options(name, chosen.options, options)
    if not chosen.takes_sparse:
        svm = svm.dense(f"method {name!r}")
        data = data and data.dense(f"method {name!r}")
    taken = _restrict(svm, name, chosen)
    try:
        program = chosen.run(taken, data, parsed)
        if program.origin.details.get("emitted") == "exact" and taken is not svm:  # which keeps all outputs
            program = _with_all_outputs(program, svm, set(taken.notes) - set(svm.notes))
        return _with_options(program, parsed)
    except (ArithmeticError, ValueError, LookupError, CheckError) as error:
        if not _leaves_double(svm):
            raise
        raise UnsupportedError(
            f"method {name!r}: numbers of this model are too large to compute with in double "
            f"({error}); scale the features before training, or use method 'exact'"
        ) from None


def _leaves_double(svm: SVM) -> bool:
    """Whether squares and products of a model's numbers, or its kernel's values, are beyond double."""
    for part in svm.parts or (svm,):
        numbers = (part.vectors, part.coefficients, part.intercepts, part.kernel.gamma, part.kernel.coef0)
        if max(float(np.abs(one).max(initial=0.0)) for one in map(np.asarray, numbers)) > LARGEST:
            return True
        with np.errstate(all="ignore"):
            values = part.kernel.values(part.vectors[:SOME], part.vectors[:SOME])
        if not (np.abs(values) < LARGEST).all():
            return True
    return False


def _with_all_outputs(program: Program, svm: SVM, gone: set[str]) -> Program:
    """The exact program of the whole SVM, as its method tells of it, but for notes of what was left out."""
    exact = method("exact")
    labels = "certain" if program.claim is Claim.SAME_LABEL else "rounded"
    whole: Program = exact.run(svm, None, exact.options(labels=labels))
    notes = tuple(note for note in program.origin.notes if note not in gone)
    return whole.replace(origin=replace(program.origin, notes=notes))


def _names(able: Callable[[Method], Any]) -> str:
    """The methods that are able to do something, for errors."""
    return ", ".join(name for name in METHODS if able(method(name)))


def _restrict(svm: SVM, name: str, chosen: Method) -> SVM:
    """The SVM as far as a method takes it; probabilities may be left out, never labels or scores."""
    if svm.several and name != "exact":
        raise UnsupportedError(
            f"method {name!r} is for one label or value, and {svm.source.kind} gives {svm.several}; "
            "use method exact, or compile an estimator for each"
        )
    if svm.parts and not (chosen.takes_parts or (chosen.takes_alike and svm.parts_are_alike)):
        more = ", or train all of them with one kernel, gamma a number" if chosen.takes_alike else ""
        raise UnsupportedError(
            f"method {name!r} works on one kernel machine, and {svm.source.kind} holds "
            f"{len(svm.parts)} with different kernels or preprocessing; "
            f"use method {_names(lambda other: other.takes_parts)}{more}"
        )
    if svm.deviation and name != "exact":
        what = "how sure it is" if svm.labels is None else "probabilities"
        note = f"method {name} does not tell {what}; use method exact"
        svm = replace(svm, deviation=None, link=Link.NONE, notes=(*svm.notes, note))
    if chosen.takes_heads or not (svm.head or svm.has_probabilities):
        return svm if chosen.takes_heads else replace(svm, sample_offset=None)
    if svm.head or svm.most_probable:
        raise UnsupportedError(
            f"method {name!r} preserves labels that one sum or pair of sums decides, and {svm.source.kind} "
            "post-processes its sums; methods that work: "
            f"{_names(lambda other: other.takes_heads)}"
        )
    note = f"method {name} does not keep the values that probabilities need; they are left out"
    kept = replace(svm, platt=None, link=Link.NONE, density_marks=None, sample_offset=None)
    return replace(kept, notes=(*svm.notes, note))


def training(name: str, options: Mapping[str, Any]) -> tuple[Method, Any]:
    """A method that trains, and its options for that; an error for one that does not."""
    chosen = method(name)
    if chosen.train is None or chosen.train_options is None:
        able = _names(lambda other: other.train) or "none"
        raise OptionError(f"method {name!r} needs a trained SVM; methods that train: {able}")
    parsed = parse_options(name, chosen.train_options, options)
    check_options(name, parsed)
    return chosen, parsed


def train(name: str, data: Data, options: Mapping[str, Any]) -> Program:
    """The program a method makes of labelled rows, without an SVM."""
    chosen, parsed = training(name, options)
    if data.y is None:
        raise OptionError(
            f"method {name!r} trains on labels and there are none; pass y (Python), "
            "or name the label column with --label"
        )
    rows, labels = len(data.y), len(np.unique(data.y))
    if labels > max(FEW_LABELS, rows // 2):
        raise OptionError(
            f"method {name!r} trains classifiers, and {rows:,} rows have {labels:,} different labels; to "
            "predict a number, train an SVR with scikit-learn or LIBSVM and compile it"
        )
    taken = data if chosen.takes_sparse else data.dense(f"method {name!r}")
    return _with_options(chosen.train(taken, parsed), parsed)


def _with_options(program: Any, parsed: Any) -> Program:
    """The program, checked, with the options it was made with."""
    assert isinstance(program, Program)
    kept = {f.name: f.metadata.get("recorded", True) for f in fields(parsed)}
    changed = {f.name for f in fields(parsed) if getattr(parsed, f.name) != f.default}
    recorded = [name for name, keep in kept.items() if keep or (keep is None and name in changed)]
    chosen_options = tuple((name, plain(getattr(parsed, name))) for name in recorded)
    origin = replace(program.origin, options=chosen_options)
    return check(program.replace(origin=origin))

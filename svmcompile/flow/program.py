"""A model read once, or rows, in; an optimised program with its probe rows out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.registry import accelerate, split_rule
from svmcompile.accelerate.registry import method as method_of
from svmcompile.data import Data
from svmcompile.data.rows import as_rows, table_rows
from svmcompile.data.text import NO_TEXT, Text, is_text
from svmcompile.errors import OptionError, ReadError
from svmcompile.flow.held_out import hold_out
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.bounds import EXTRA
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Claim, Program
from svmcompile.ir.store import MAGIC, from_bytes
from svmcompile.lower.fixed.program import fix, given_range
from svmcompile.model.svm import SVM
from svmcompile.optimise import optimise
from svmcompile.optimise.centre import uncentre
from svmcompile.progress import time_is_up
from svmcompile.read import content_of, read_content
from svmcompile.targets.report import MEAN_COSTS

Watcher = Callable[[str, Program], None]
SOME_ROWS = 10_000  # of those trained on tell the mean cost
MEAN_ROWS = 2000  # of those compiled with
STOPPED = "the search was broken off when the time was up (--time-limit): this is the best found by then"
FEW, MANY = 4, 8  # rows, with more than WIDE features or with fewer
WIDE = 128
CANDIDATES = 64
SOME_WIDE = 16
BISECTIONS = 10  # a boundary point is known to a thousandth of the way between two rows


@dataclass(frozen=True, slots=True)
class Opened:
    """An estimator, or a file and what it holds: an SVM, or a program that is compiled already."""

    name: str
    source: Any  # the estimator, given or out of its file; else the path
    svm: SVM | None = None
    program: Program | None = None

    @property
    def model(self) -> SVM | Program:
        """What knows the features."""
        model = self.svm or self.program
        assert model
        return model

    @property
    def text(self) -> Text:
        """How text becomes its rows, where it takes text."""
        return self.svm.text if self.svm else self.program.input.text if self.program else NO_TEXT

    def trained(self) -> SVM:
        """The SVM, where there is one."""
        if self.svm is None:
            raise ReadError(f"{self.name}: is a program; pass the model it was made from")
        return self.svm

    def exact(self) -> Program:
        """What the original adds up, as it stands."""
        svm = self.trained()
        return accelerate(replace(svm, front=svm.front.uncentred()), None, "exact", {})

    def rebuilt(self) -> tuple[Program, ...]:
        """What the exact method makes of the model, in the ways that it is emitted."""
        plain = optimise(accelerate(self.trained(), None, "exact", {}))
        return plain, uncentre(plain), self.exact()

    def fixed_anew(self, program: Program) -> tuple[Program, ...]:
        """The model in whole numbers over the range that a program states, if that promises values."""
        known = program.origin.details.get("fixed", {})
        if known.get("claim") != Claim.EXACT.value or "low" not in known:
            return ()
        span = given_range(known["low"], known["high"], program.n_features)
        plain = optimise(accelerate(self.trained(), None, "exact", {}))
        assert program.number
        return (fix(plain, program.number, span, program.input.number),)

    def reference(self) -> tuple[str, Any]:
        """What to compare with: the original library, or its definition where it is not installed."""
        from svmcompile.read.original import load_original

        svm, exact = self.trained(), self.exact()
        original = load_original(self.source, svm)
        if original is None:
            return f"interpreter of {svm.source.kind}", exact
        # What the estimator does not give as it stands, as within a search, its definition gives.
        lacking = {name: method for name, method in EXTRA.items() if getattr(original, method) is None}
        own = {method: getattr(exact, method) for name, method in lacking.items() if exact.output(name)}
        return original.name, replace(original, exact=exact, **own)

    def data(self, X: Any, y: Any = None) -> Data | None:
        """Rows and labels as given from Python, checked against the model."""
        if X is None:
            if y is not None:
                raise OptionError("y was given without X")
            return None
        text = self.text
        rows = (
            text.rows(X)
            if text and is_text(X)
            else as_rows(X, self.model.n_features, self.model.feature_names, self.model.categories)
        )
        labels = self.model.labels
        return Data(rows, None if y is None else labels_for(rows, y, labels.per_row if labels else 1))


def open_model(
    source: Any, *, trust_pickle: bool = False, n_features: int | None = None, most_probable: bool = False
) -> Opened:
    """Read an estimator or a file; what is opened already is given back."""
    if isinstance(source, Opened):
        return source
    name, content = type(source).__name__, b""
    program = source if isinstance(source, Program) else getattr(source, "program_", None)
    if isinstance(source, (str, os.PathLike)):
        name, content = os.fspath(source), content_of(source)
        if holds_program(content, name):
            program = from_bytes(content, name)
    if isinstance(program, Program):
        return Opened(name, source, program=program)
    svm, original = read_content(source, content, trust_pickle=trust_pickle, n_features=n_features)
    return Opened(name, original, svm.by_probability() if most_probable else svm)


def holds_program(content: bytes, name: str) -> bool:
    """Whether a file is a stored program, by its name or content."""
    return name.endswith(".svmc") or (content.startswith(MAGIC) and b"program.json" in content[:64])


def labelled_data(X: Any, y: Any) -> Data:
    """Rows and labels to train on, as given from Python or read from a file."""
    if isinstance(X, Data):
        return X if X.y is None else replace(X, y=labels_for(X.X, X.y))
    rows, names = table_rows(X)
    return Data(rows, None if y is None else labels_for(rows, y), names)


def labels_for(rows: NDArray[Any], y: Any, per_row: int = 1) -> NDArray[Any]:
    """Labels, so many for each row."""
    labels = np.asarray(y)
    if per_row > 1 and labels.shape != (len(rows), per_row):
        raise OptionError(
            f"the model gives {per_row} labels per row, and the data has labels of shape {labels.shape}; "
            f"give y with {per_row} columns, or rows without labels"
        )
    if per_row == 1 and labels.ndim > 1 and labels.shape[1] > 1:
        raise OptionError(f"y has shape {labels.shape}, and there is one label per row")
    labels = labels if per_row > 1 else labels.ravel()
    if len(labels) != len(rows):
        raise OptionError(f"X has {len(rows)} rows, y has {len(labels)}")
    return labels


def compile_svm(
    svm: SVM, method: str, data: Data | None, options: Mapping[str, Any], watch: Watcher | None = None,
    held_out: Data | None = None,
) -> Program:  # fmt: skip
    """The program of an SVM that has been read.

    Where a method may bend probabilities, they are measured on rows held out of fitting: those given, or
    a part of the data.
    """
    from svmcompile.flow.probabilities import settle_probabilities

    if not method_of(method).takes_sparse:
        data = data and data.dense(f"method {method!r}")
        held_out = held_out and held_out.dense(f"method {method!r}")
    rule, own = split_rule(method, options)
    if rule is None or not svm.has_probabilities:
        return finish(accelerate(svm, data, method, own), svm, data, watch)
    if held_out is None and data is not None and rule.probabilities not in ("anyway", "none"):
        data, held_out = hold_out(data)
    program = accelerate(svm, data, method, own)
    program = settle_probabilities(program, svm, rule, held_out or data, held_out is not None)
    return finish(program, svm, data, watch)


def finish(program: Program, svm: SVM | None, data: Data | None, watch: Watcher | None) -> Program:
    """What every program gets, whatever method made it."""
    if watch:
        watch(program.origin.method, program)
    if time_is_up():
        program = program.replace(origin=replace(program.origin, notes=(*program.origin.notes, STOPPED)))
    program = optimise(program, watch)
    if data is not None and any(node.is_adaptive for node in program.body):
        program = _with_mean_cost(program, data)
    return program.replace(probes=probe_rows(program, svm, data))


def some_rows(data: Data, most: int = SOME_ROWS) -> Data:
    """Rows from all over, few enough to run them all."""
    some = slice(None, None, -(-len(data.X) // most) or 1)
    return Data(data.X[some], None if data.y is None else data.y[some])


def _with_mean_cost(program: Program, data: Data) -> Program:
    """The program with a note of what a row of the data costs on average."""
    rows = some_rows(data, MEAN_ROWS).X
    mean = program.cost(rows)
    figures = {key: getattr(mean, key) for key in MEAN_COSTS}
    details = {**program.origin.details, "mean_cost": {"rows": len(rows), **figures}}
    return program.replace(origin=replace(program.origin, details=details))


def probe_rows(program: Program, svm: SVM | None, data: Data | None) -> Array:
    """Rows of the data, or the SVM's vectors themselves; half are moved to a boundary.

    Values are float32 numbers, so that both precisions see the same row.
    """
    if program.input.text:
        return np.zeros((0, program.n_features))  # tests are texts
    wanted = FEW if program.n_features > WIDE else MANY
    pool = _candidates(svm, data)
    pool = pool[np.isfinite(pool).all(axis=1)]
    if not len(pool):
        return np.zeros((0, program.n_features))
    near = _near_boundary(program, pool, wanted // 2)
    return nearest_float32(np.concatenate([near, _spread(pool, wanted - len(near))]))


def _candidates(svm: SVM | None, data: Data | None) -> Array:
    """Up to so many rows, evenly spread."""
    if data is not None and (len(data.X) or svm is None):
        return _spread(data.X, CANDIDATES)
    assert svm is not None, "rows come from data where there is no SVM"
    return _spread(_sources(svm), CANDIDATES)


def _sources(svm: SVM) -> Array:
    """The SVM's vectors, as rows from which they may have come."""
    if svm.parts:
        return np.concatenate([_sources(part) for part in svm.parts])
    if svm.kernel.kind == "precomputed":  # any row of kernel values will do
        return np.random.default_rng(0).random((CANDIDATES, svm.n_features))
    with np.errstate(all="ignore"):
        return svm.front.source(_spread(svm.vectors, CANDIDATES) if svm.is_sparse else svm.vectors)


def _spread(rows: Any, count: int) -> Array:
    """Up to `count` rows, evenly spread; of those without their zeros fewer, since they are wide."""
    count = count if isinstance(rows, np.ndarray) else min(count, SOME_WIDE)
    picks = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)
    return np.asarray(rows[np.unique(picks)], dtype=np.float64)


def _near_boundary(program: Program, pool: Array, count: int) -> Array:
    """Points between rows of different labels, close to where the label changes."""
    if program.labels is None:
        return pool[:0]
    labels = _labels(program, pool)
    pairs = [
        (i, j) for i in range(len(pool)) for j in range(i + 1, len(pool)) if (labels[i] != labels[j]).any()
    ]
    chosen = (
        [pairs[at] for at in np.unique(np.linspace(0, len(pairs) - 1, count).astype(int))] if pairs else []
    )
    if not chosen:
        return pool[:0]
    start, end = (pool[[pair[side] for pair in chosen]] for side in (0, 1))
    own = labels[[pair[0] for pair in chosen]]
    low: Array = np.zeros(len(chosen))
    high: Array = np.ones(len(chosen))
    text = list(program.categories.by_feature)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        same = (_labels(program, _between(start, end, middle, text)) == own).all(axis=1)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    near = np.where(np.arange(len(chosen)) % 2, low, high)  # either side in turn
    return _between(start, end, near, text)


def _between(start: Array, end: Array, share: Array, text: list[int]) -> Array:
    """Rows on the way from one to another; features that are text go over half-way."""
    rows = start + share[:, None] * (end - start)
    rows[:, text] = np.where(share[:, None] < 0.5, start[:, text], end[:, text])
    return rows


def _labels(program: Program, rows: Array) -> NDArray[np.int64]:
    """The labels of rows, a column for each target."""
    return interpret(program, rows)["label"].reshape(len(rows), -1)

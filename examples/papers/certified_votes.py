"""Votes of several classes by `certified`, beside `exact`: what pairs need, instructions, times, labels.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_votes.py            all sets
    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_votes.py digits     some
    ... 1000000                                                                 so many rows compared

"pairs" are per held-out row: those the champions have, those that order 2 looks at, those that meet their
vectors. Ratios are those of the exact method over this one: operations, and of C in float32 instructions of
the profile portable and times of the profile host, one row per call and in a batch of 2000 (held-out rows,
from the first again where there are fewer). Sets named "rest" are one-vs-rest machines. Rows compared are
drawn as in `anytime_attack.py`, some of them on the border of two classes to the last float32 bit. Labels
are those of the original in double; but for border rows the exact method's C in double stands for it,
which is faster.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from anytime_attack import CHUNK, border, ordinary
from c_cost import c_costs
from common import dense, read_words, scaled, split, table
from metric_tree import progress
from sets import load
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.vote_walk import Votes

COMPARED = 100_000
BORDER = 2000
TIMED = 2000
Rows = tuple[Any, Any, Any]  # X, y and held-out rows


@dataclass(frozen=True)
class Case:
    """A set, its machine's parameters, and the bytes its polynomials may take."""

    name: str
    rows: Callable[[], Rows]
    C: float
    gamma: float
    max_bytes: int = 0
    rest: bool = False  # one-vs-rest

    def fitted(self, X: Any, y: Any) -> Any:
        model = SVC(C=self.C, gamma=self.gamma)
        return (OneVsRestClassifier(model) if self.rest else model).fit(X, y)


def small_digits() -> Rows:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    return X[:1200], y[:1200], X[1200:]


def unit(name: str, train: int) -> Rows:
    found = split(name, train, 4000)
    X, held = scaled(found.X, found.X_test)
    return X, found.y, held


def mnist() -> Rows:
    found = load("mnist")
    order = np.random.default_rng(0).permutation(len(found["y"]))[:8000]
    X, y = dense(found["X"][order]) / 255.0, found["y"][order]
    return X[:4000], y[:4000], X[4000:]


def bands() -> Rows:
    """Made up in the shape of satellite images: 9 pixels of 4 bands, six classes, some of them mixed."""
    random, count = np.random.default_rng(5), 6435
    means = np.array(
        [[62, 95, 108, 89], [49, 39, 113, 118], [87, 105, 110, 87], [77, 90, 94, 75], [59, 62, 83, 69],
         [69, 77, 81, 64]]
    )  # fmt: skip
    mixed = np.array([[6, 7, 4, 3], [0, 4, 3, 2], [0, 0, 6, 6], [0, 0, 0, 4]])
    shares = [0.238, 0.109, 0.211, 0.097, 0.110, 0.235]
    y = random.choice(6, count, p=shares)
    own = means[y] + 0.8 * random.normal(size=(count, 4)) @ mixed
    other = means[random.choice(6, count, p=shares)] + random.normal(size=(count, 4)) @ mixed
    foreign = random.random((count, 9, 1)) < np.where(random.random((count, 1, 1)) < 0.25, 0.35, 0.0)
    pixels = np.where(foreign, other[:, None], own[:, None])
    X = (pixels + 0.55 * random.normal(size=(count, 9, 4)) @ mixed).round().reshape(count, 36)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:4435], y[:4435], X[4435:]


CASES = (
    Case("digits", small_digits, 10.0, 0.11),
    Case("pendigits", lambda: unit("pendigits", 3000), 10.0, 0.2),
    Case("pendigits, 160 kB", lambda: unit("pendigits", 3000), 10.0, 0.2, 160_000),
    Case("letter, 600 kB", lambda: unit("letter", 4000), 10.0, 0.5, 600_000),
    Case("mnist", mnist, 10.0, 0.005),
    Case("six classes, made up", bands, 8.0, 0.02),
    Case("digits, rest", small_digits, 10.0, 0.11, rest=True),
    Case("digits, wide, rest", small_digits, 1.0, 0.03, rest=True),
    Case("pendigits, rest", lambda: unit("pendigits", 3000), 10.0, 0.2, rest=True),
    Case("pendigits, 160 kB, rest", lambda: unit("pendigits", 3000), 10.0, 0.2, 160_000, rest=True),
)
HEAD = (
    "set", "classes", "features", "SVs", "centres", "order, axes", "bytes", "pairs", "order 2", "direct",
    "operations", "instructions, portable", "time, 1 row, host", "time, batch, host", "rows compared",
    "labels changed",
)  # fmt: skip


def pair_counts(program: Program, rows: Any) -> list[str]:
    """Pairs per row: of champions, with order 2, with vectors."""
    node = next((node for node in program.body if isinstance(node, ir.TaylorVote)), None)
    if node is None:
        return ["-"] * 3
    x = interpret_values(program, rows, {node.x})[node.x]
    met = Votes(At(node, program.tables), x).settled()
    others = len(node.counts) - 1
    found = (met.champions * others, met.pairs[:, 0], met.direct.sum(axis=1))
    return [f"{one.mean():.2f}" for one in found]


def changed(
    program: Program, exact: Program, model: Any, X: Any, count: int, folder: Path
) -> tuple[int, int]:
    """Rows compared, and labels that are not the original's in either profile."""
    random = np.random.default_rng(0)
    double = loaded(exact, folder / "double", "host", "f64")
    forms = [loaded(program, folder / profile, profile, "f32") for profile in ("host", "portable")]
    edge = border(model, X, BORDER, random)
    compared, total = len(edge), differing(forms, edge, model.predict(edge.astype(np.float64)))
    while compared < count:
        rows = ordinary(X, min(CHUNK, count - compared), random)
        total += differing(forms, rows, double.predict(rows))
        compared += len(rows)
    return compared, total


def loaded(program: Program, folder: Path, profile: str, precision: str) -> Any:
    sc.write(sc.emit(program, "c", "model", precision=precision, profile=profile), folder)
    return sc.load(folder)


def differing(forms: list[Any], rows: Any, meant: Any) -> int:
    """Rows that some form labels otherwise."""
    return int(np.any([form.predict(rows) != meant for form in forms], axis=0).sum())


def line(case: Case, count: int) -> list[str]:
    X, y, held = case.rows()
    model = case.fitted(X, y)
    options = {"method": "certified", "X": X, "max_bytes": case.max_bytes}
    program, exact = sc.compile(model, **options), sc.compile(model)
    choice = program.origin.details.get("choice", {})
    rows = np.ascontiguousarray(held[:TIMED], dtype=np.float32)
    plain, ours = c_costs((exact, program), rows, "portable")
    before, after = c_costs((exact, program), np.resize(rows, (TIMED, X.shape[1])), "host", count=False)
    with tempfile.TemporaryDirectory() as name:
        compared, differ = changed(program, exact, model, X, count, Path(name))
    axes = f"{choice.get('order', '-')}, {choice.get('rank') or 'all'}"
    return [
        case.name, f"{len(model.classes_)}", f"{X.shape[1]}", f"{exact.origin.n_support_vectors}",
        f"{choice.get('centres', '-')}", axes, f"{choice.get('bytes', '-')}", *pair_counts(program, rows),
        f"{exact.cost(rows).mean_flops / program.cost(rows).mean_flops:.1f}",
        f"{plain.instructions / ours.instructions:.1f}", f"{before.nanoseconds / after.nanoseconds:.1f}",
        f"{before.batch_nanoseconds / after.batch_nanoseconds:.1f}", f"{compared}", f"{differ}",
    ]  # fmt: skip


def lines(words: list[str], count: int) -> Iterator[list[str]]:
    for case in CASES:
        if not words or any(word in case.name for word in words):
            yield line(case, count)


if __name__ == "__main__":
    words = read_words(__doc__, [case.name for case in CASES], numbers=True)
    numbers = [int(word) for word in words if word.isdecimal()]
    names = [word for word in words if not word.isdecimal()]
    found = progress(lines(names, numbers[0] if numbers else COMPARED), lambda done: done)
    print(table("Votes certified by polynomials, beside the exact method", HEAD, found))

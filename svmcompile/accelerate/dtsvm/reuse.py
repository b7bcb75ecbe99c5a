"""Ceiling and overlap for a given SVM: its rows enter, the cheapest tree that agrees with it leaves.

One tree, grown with the smallest ceiling; each ceiling cuts it and each overlap trains its leaves anew. A
candidate is judged on held-out rows that trained nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import exact_flops
from svmcompile.accelerate.dtsvm.cells import overlapping_rows, own_rows
from svmcompile.accelerate.dtsvm.given import Given
from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta, constant, fit, predict
from svmcompile.accelerate.dtsvm.partition import without_small_leaves
from svmcompile.accelerate.dtsvm.reuse_options import ReuseOptions
from svmcompile.accelerate.dtsvm.trainer import holdout
from svmcompile.accelerate.dtsvm.tree import Tree, grow
from svmcompile.accelerate.dtsvm.work import Workers
from svmcompile.accelerate.fitting.binomial import allowed_errors, upper_bound
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Indices
from svmcompile.ir.leaf_layout import columns_of
from svmcompile.ir.walks import leaf_depths
from svmcompile.ir.work import kernel_sum_flops

LEAST_CEILING = 100


@dataclass(frozen=True, eq=False)
class Cut:
    """A tree with its leaves, and what each was trained with."""

    ceiling: int
    delta: float
    tree: Tree
    leaves: tuple[Leaf, ...]
    tasks: tuple[Task, ...]

    def classes(self, X: Array, z: Array, theta: Theta, rule: LeafRule) -> Indices:
        """The class of every row."""
        found = np.zeros(len(X), dtype=np.intp)
        for leaf, rows in zip(self.leaves, own_rows(self.tree, X), strict=True):
            if len(rows):
                found[rows] = predict(leaf, theta, rule, z[rows])
        return found

    def flops(self, X: Array, theta: Theta, rule: LeafRule) -> float:
        """Work per row, tree included."""
        share = np.bincount(self.tree.leaves(X), minlength=self.tree.n_leaves) / max(1, len(X))
        columns = columns_of(rule, np.array([len(leaf.classes) for leaf in self.leaves]))
        width = self.tasks[0].X.shape[1]  # as the kernel sees rows
        work = [
            kernel_sum_flops(theta.kernel, leaf.unique_vectors, width, int(count))
            for leaf, count in zip(self.leaves, columns, strict=True)
        ]
        depths = leaf_depths(self.tree.children) if self.tree.n_leaves > 1 else np.zeros(1)
        return float(share @ (np.array(work) + depths))


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate on the held-out rows."""

    ceiling: int
    delta: float
    leaves: int
    agreement: float
    proven: float  # agreement that holds with the confidence asked for
    accuracy: float | None
    nesv_unique: float
    flops: float
    will_do: bool

    def as_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {
            "ceiling": self.ceiling,
            "delta": self.delta,
            "leaves": self.leaves,
            "agreement": round(self.agreement, 6),
            "proven_agreement": round(self.proven, 6),
            "accuracy": None if self.accuracy is None else round(self.accuracy, 6),
            "nesv_unique": round(self.nesv_unique, 4),
            "flops": round(self.flops, 1),
            "meets_target": self.will_do,
        }


@dataclass(frozen=True, eq=False)
class Trainer:
    """Cuts trees and trains their leaves on one set of rows."""

    X: Array
    z: Array
    y: Indices
    n_classes: int
    theta: Theta
    rule: LeafRule
    options: ReuseOptions
    known: dict[bytes, Leaf] = field(default_factory=dict)  # trained already, by their rows

    def grown(self, ceiling: int) -> Tree:
        return grow(self.X, self.y, ceiling, self.options.seed)

    def cut(self, tree: Tree, ceiling: int, delta: float) -> Cut:
        """The tree for a ceiling, and its leaves trained on cells with that overlap."""
        top = without_small_leaves(
            tree.cut(ceiling), self.X, self.y, self.n_classes, ceiling, self.options.min_leaf
        )
        own = own_rows(top, self.X)
        cells = overlapping_rows(top, self.X, delta, self.X.std(axis=0))
        tasks = tuple(self._task(rows) for rows in cells)
        return Cut(ceiling, delta, top, tuple(self._fitted(own, cells, tasks)), tasks)

    def _task(self, rows: Indices) -> Task:
        return Task(self.z[rows], self.y[rows], self.theta, self.rule, self.options.iterations)

    def _fitted(self, own: list[Indices], cells: list[Indices], tasks: tuple[Task, ...]) -> Iterator[Leaf]:
        """Leaves in order; where the rows that fall into one are of one class, a constant."""
        keys = [cell.tobytes() for cell in cells]
        mixed = [len(np.unique(self.y[rows])) > 1 for rows in own]
        fresh = [at for at in np.flatnonzero(mixed) if keys[at] not in self.known]
        workers = Workers(self.options.jobs)
        sizes = [len(cells[at]) for at in fresh]
        found = workers.results("training leaves", fit, Leaf, lambda at: tasks[fresh[at]], sizes)
        self.known.update({keys[at]: leaf for at, leaf in zip(fresh, found, strict=True)})
        for at, rows in enumerate(own):
            if mixed[at]:
                yield self.known[keys[at]]
            else:
                yield constant(int(self.y[rows[0]]), len(rows), self.z.shape[1], self.rule)


@dataclass(frozen=True, eq=False)
class Choice:
    """The ceiling and overlap chosen, None where nothing cheaper than the SVM itself will do."""

    chosen: Tried | None
    tried: tuple[Tried, ...]
    held: int  # rows


def choose(given: Given, y: Indices, theta: Theta, options: ReuseOptions) -> Choice:
    """The cheapest candidate that meets the target on held-out rows."""
    kept, held = holdout(len(y), options.validation, options.seed)
    trainer = Trainer(given.X[kept], given.z[kept], y[kept], given.n_classes, theta, given.rule, options)
    judge = _Judge(given, held, theta, options)
    most = exact_flops(given.svm)
    best: Tried | None = None
    tried: list[Tried] = []
    tree = trainer.grown(options.ceiling or LEAST_CEILING)
    for ceiling in _ceilings(options.ceiling, len(kept)):
        row = [judge.judged(trainer.cut(tree, ceiling, delta)) for delta in options.delta.values]
        tried += row
        able = [one for one in row if one.will_do and one.flops < most]
        best = min([*able, *([best] if best else [])], key=lambda one: one.flops, default=None)
        if options.ceiling and not best:  # asked for: the closest to the target then
            best = max(row, key=lambda one: (one.agreement, -one.flops))
        if min(one.flops for one in row) >= (best.flops if best else most):
            break  # larger ceilings cost more still
    return Choice(best, tuple(tried), len(held))


def _ceilings(asked: int, rows: int) -> Iterator[int]:
    """One, or 100, 200, 400, ... below the number of rows."""
    ceiling = asked or LEAST_CEILING
    while ceiling < rows:
        yield ceiling
        if asked:
            return
        ceiling *= 2


@dataclass(frozen=True, eq=False)
class _Judge:
    """Compares candidates with the SVM on held-out rows."""

    given: Given
    held: NDArray[np.intp]
    theta: Theta
    options: ReuseOptions

    def judged(self, cut: Cut) -> Tried:
        X, z = self.given.X[self.held], self.given.z[self.held]
        rule, n = self.given.rule, len(self.held)
        found, truth = cut.classes(X, z, self.theta, rule), self.given.truth
        wrong = int((found != self.given.predicted[self.held]).sum())
        share = np.bincount(cut.tree.leaves(X), minlength=cut.tree.n_leaves) / n
        return Tried(
            cut.ceiling,
            cut.delta,
            cut.tree.n_leaves,
            1 - wrong / n,
            1 - upper_bound(wrong, n, self.options.confidence),
            None if truth is None else float((found == truth[self.held]).mean()),
            float(share @ np.array([leaf.unique_vectors for leaf in cut.leaves])),
            cut.flops(X, self.theta, rule),
            wrong <= allowed_errors(n, self.options.target, self.options.confidence),
        )

"""DTSVM around a given SVM: its predictions enter, the cheapest tree that agrees with it leaves.

One tree, grown with the smallest ceiling; each ceiling cuts it and each overlap trains its leaves anew. A
candidate is judged on held-out rows that trained nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import exact_flops
from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta, constant, fit
from svmcompile.accelerate.dtsvm.options import ReuseOptions
from svmcompile.accelerate.dtsvm.program import Decomposition, Scaling
from svmcompile.accelerate.dtsvm.training import holdout, leaf_rule
from svmcompile.accelerate.dtsvm.tree import Tree, grow, overlapping_rows, own_rows, without_small_leaves
from svmcompile.accelerate.dtsvm.work import Workers
from svmcompile.accelerate.fitting.calibration import allowed_errors, upper_bound
from svmcompile.accelerate.fitting.rows import (
    RowWise,
    class_numbers,
    finite_rows,
    kernel_sums,
    labels_of,
    rounded,
)
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Indices
from svmcompile.ir.leaf_layout import columns_of
from svmcompile.ir.node import kernel_sum_flops
from svmcompile.ir.pairs import class_slices
from svmcompile.ir.walks import leaf_depths
from svmcompile.model.svm import SVM, LabelRule

SECOND_IS_POSITIVE = (LabelRule.POSITIVE_SECOND, LabelRule.NEGATIVE_FIRST)
EQUAL = 1e-9  # coefficients closer than this share of the largest are at the same bound
LEAST_CEILING = 100


@dataclass(frozen=True, eq=False)
class Given(RowWise):
    """The SVM, rows as they come and as the kernel sees them, and what the SVM says of them."""

    svm: SVM
    X: Array
    z: Array
    sums: Array
    predicted: Indices
    truth: Indices | None  # class numbers of the data's own labels

    @classmethod
    def of(cls, svm: SVM, data: Data) -> Given:
        if svm.labels is None or svm.label_rule is LabelRule.NONE:
            raise UnsupportedError(
                "method 'dtsvm' is for classifiers, and this SVM is a regressor; "
                "use metric-tree, sv-tree or reduced-set"
            )
        X = finite_rows("dtsvm", data.X)
        z = svm.prepared(X)
        sums = kernel_sums(svm, z)
        truth = None if data.y is None else class_numbers(svm, data.y)
        return cls(svm, X, z, sums, labels_of(svm, sums).astype(np.intp), truth)

    @property
    def n_classes(self) -> int:
        assert self.svm.labels is not None
        return len(self.svm.labels)

    @property
    def rule(self) -> LeafRule:
        """Two classes have one sum; else as the SVM has it: pairs that vote, or a sum per class."""
        return leaf_rule("1a1" if self.svm.counts else "1ao", self.n_classes)

    @property
    def keeps_scores(self) -> bool:
        """Is the sum of a leaf a decision value of the original's kind? Votes within a leaf are not."""
        return self.rule == "sum" and self.svm.n_sums == 1

    @property
    def sign(self) -> float:
        """Of the original's decision value, where the second class is meant."""
        return 1.0 if self.svm.label_rule in SECOND_IS_POSITIVE else -1.0

    def known_truth(self, use: str) -> Indices:
        """The data's labels, all of which the SVM must know; `use` is what they are for."""
        if self.truth is None:
            raise OptionError(f"dtsvm: {use}")
        bad = np.flatnonzero(self.truth < 0)
        if len(bad):
            raise OptionError(f"dtsvm: the label of row {bad[0]} is not one of the SVM's classes")
        return self.truth

    def theta(self, C: float) -> Theta:
        """The SVM's kernel, its C (where none is given, from its coefficients), weights of its classes."""
        bounds = class_bounds(self.svm, self.n_classes)
        found = float(bounds.max(initial=0.0)) or 1.0
        weights = tuple((bounds / found).tolist()) if bounds.any() else ()
        equal = not weights or len(set(weights)) == 1
        return Theta(self.svm.kernel, C or found, () if equal else weights)

    def as_leaf(self) -> Leaf:
        """The SVM as the one leaf of all rows, with sums that are meant as those of leaves are."""
        svm, sign = self.svm, self.sign if self.keeps_scores else 1.0
        classes = np.arange(self.n_classes)
        counts = svm.counts or (0,) * (self.n_classes - 1) + (svm.n_vectors,)  # sums do not ask for them
        return Leaf(
            classes, len(self.X), svm.vectors, sign * svm.coefficients, sign * svm.intercepts, counts
        )


def class_bounds(svm: SVM, n_classes: int) -> Array:
    """C times the weight of every class.

    LIBSVM's coefficients reach that bound wherever a vector lies within the margin. A class whose largest
    coefficient stands alone has shown no bound; it gets the largest of all.
    """
    sizes = np.abs(svm.coefficients)
    largest = float(sizes.max(initial=0.0))
    bounds = np.full(n_classes, largest)
    groups = class_slices(svm.counts) if len(svm.counts) == n_classes else _by_sign(svm)
    for number, group in enumerate(groups):
        own = sizes[:, group]
        top = float(own.max(initial=0.0))
        if np.count_nonzero(own >= top * (1 - EQUAL)) > 1 and top > 0:
            bounds[number] = top
    return bounds


def _by_sign(svm: SVM) -> list[Any]:
    """Of one sum over two classes: the vectors of the first, which pull down, and of the second."""
    if len(svm.coefficients) != 1:
        return []
    up = svm.coefficients[0] > 0
    return [~up, up] if svm.label_rule in SECOND_IS_POSITIVE else [up, ~up]


@dataclass(frozen=True, eq=False)
class Cut:
    """A tree with its leaves for one ceiling and overlap, and what each leaf was trained with."""

    ceiling: int
    delta: float
    model: Decomposition
    tasks: tuple[Task, ...]

    def flops(self, X: Array) -> float:
        """Work per row, tree included."""
        model, width = self.model, self.tasks[0].X.shape[1]  # as the kernel sees rows
        columns = columns_of(model.rule, np.array([len(leaf.classes) for leaf in model.leaves]))
        work = [
            kernel_sum_flops(model.theta.kernel, leaf.unique_vectors, width, int(count))
            for leaf, count in zip(model.leaves, columns, strict=True)
        ]
        depths = leaf_depths(model.tree.children) if model.tree.n_leaves > 1 else np.zeros(1)
        return float(model.share(X) @ (np.array(work) + depths))


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate on the held-out rows."""

    ceiling: int
    delta: float
    leaves: int
    agreement: float
    proven_agreement: float  # holds with the confidence asked for
    accuracy: float | None
    nesv_unique: float
    flops: float
    meets_target: bool

    def as_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return rounded(self, agreement=6, proven_agreement=6, accuracy=6, nesv_unique=4, flops=1)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Cuts trees and trains their leaves on one set of rows."""

    given: Given
    y: Indices
    theta: Theta
    options: ReuseOptions
    known: dict[bytes, Leaf] = field(default_factory=dict)  # trained already, by their rows

    def grown(self, ceiling: int) -> Tree:
        return grow(self.given.X, self.y, ceiling, self.options.seed)

    def cut(self, tree: Tree, ceiling: int, delta: float) -> Cut:
        """The tree for a ceiling, and its leaves trained on cells with that overlap."""
        X, rule, options = self.given.X, self.given.rule, self.options
        small = (self.given.n_classes, ceiling, options.min_leaf)
        top = without_small_leaves(tree.cut(ceiling), X, self.y, *small)
        cells = overlapping_rows(top, X, delta, X.std(axis=0))
        tasks = tuple(
            Task(self.given.z[rows], self.y[rows], self.theta, rule, options.iterations) for rows in cells
        )
        leaves = tuple(self._leaves(own_rows(top, X), cells, tasks))
        model = Decomposition(top, leaves, self.theta, rule, Scaling.none(X.shape[1]))
        return Cut(ceiling, delta, model, tasks)

    def _leaves(self, own: list[Indices], cells: list[Indices], tasks: tuple[Task, ...]) -> Iterator[Leaf]:
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
                yield constant(int(self.y[rows[0]]), len(rows), self.given.z.shape[1], self.given.rule)


@dataclass(frozen=True, eq=False)
class Choice:
    """The ceiling and overlap to take, None where nothing cheaper than the SVM itself will do."""

    best: Tried | None
    tried: tuple[Tried, ...]
    held: int  # rows


def choose(given: Given, y: Indices, theta: Theta, options: ReuseOptions) -> Choice:
    """The cheapest candidate that meets the target on held-out rows."""
    kept, held = holdout(len(y), options.validation, options.seed)
    trainer, held_out = Trainer(given.some(kept), y[kept], theta, options), given.some(held)
    most = exact_flops(given.svm)
    best: Tried | None = None
    tried: list[Tried] = []
    tree = trainer.grown(options.ceiling or LEAST_CEILING)
    for ceiling in _ceilings(options.ceiling, len(kept)):
        row = [
            _judge(trainer.cut(tree, ceiling, delta), held_out, options) for delta in options.delta.values
        ]
        tried += row
        able = [one for one in row if one.meets_target and one.flops < most]
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


def _judge(cut: Cut, held: Given, options: ReuseOptions) -> Tried:
    """A candidate compared with the SVM on held-out rows."""
    model, n = cut.model, len(held.X)
    found, truth = model.predict(held.X, held.z), held.truth
    wrong = int((found != held.predicted).sum())
    return Tried(
        cut.ceiling,
        cut.delta,
        model.tree.n_leaves,
        1 - wrong / n,
        1 - upper_bound(wrong, n, options.confidence),
        None if truth is None else float((found == truth).mean()),
        float(model.share(held.X) @ np.array([leaf.unique_vectors for leaf in model.leaves])),
        cut.flops(held.X),
        wrong <= allowed_errors(n, options.target, options.confidence),
    )

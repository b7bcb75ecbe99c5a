"""Training and its search (section 2.4): rows and options enter, the best on held-out rows leaves.

All parameters at the first ceiling; then, for the best few, larger ceilings as long as they gain enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.bound import leaf_risk
from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta, fit, predict
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.program import Decomposition, Scaling
from svmcompile.accelerate.dtsvm.tree import Partition, Tree, grow, own_rows, without_small_leaves
from svmcompile.accelerate.dtsvm.work import Checkpoint, Workers
from svmcompile.accelerate.fitting.rows import hold_out
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices

NEEDS_GAMMA = ("poly", "rbf", "sigmoid")
GRAM_ROWS = 4000  # up to here the kernel values of a leaf are computed once for all C
Partitions = Callable[[int], Partition]  # of a ceiling


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier, and what was tried to find it (nothing where there was no choice)."""

    model: Decomposition
    chosen: Tried | None
    tried: list[Tried]


def thetas(options: TrainOptions) -> list[Theta]:
    """The grid, C by C for each kernel."""
    gammas = options.gamma.values if options.kernel in NEEDS_GAMMA else (1.0,)
    kind: Any = options.kernel
    kernels = [Kernel(kind, gamma, options.coef0, options.degree) for gamma in gammas]
    return [Theta(kernel, C) for kernel in kernels for C in options.C.values]


def leaf_rule(mode: str, n_classes: int) -> LeafRule:
    """Two classes need one sum, whatever the mode."""
    if n_classes == 2:
        return "sum"
    return "vote" if mode == "1a1" else "ovr"


def train_classifier(X: Any, y: Indices, n_classes: int, options: TrainOptions) -> Trained:
    """The classifier of rows whose labels are class numbers."""
    options.check()
    workers = workers_of(options)
    grid = thetas(options)
    if len(grid) == 1 and (options.max_ceiling or len(X)) <= options.ceiling:
        return Trained(fitted(X, y, n_classes, grid[0], options.ceiling, options, workers), None, [])
    kept, held = holdout(len(X), options.validation, options.seed)
    rows = Rows(X[kept], y[kept], X[held], y[held], scaling_of(X[kept], options))
    search, tree = tree_search(rows, n_classes, options, workers)
    chosen, tried = search.best(grid, options)
    if options.refit:
        model = fitted(X, y, n_classes, chosen.theta, chosen.ceiling, options, workers)
    else:
        model = fitted(rows.X, rows.y, n_classes, chosen.theta, chosen.ceiling, options, workers, tree)
    return Trained(model, chosen, tried)


def workers_of(options: TrainOptions) -> Workers:
    return Workers(options.jobs, Checkpoint(Path(options.checkpoint)) if options.checkpoint else None)


def scaling_of(X: Any, options: TrainOptions) -> Scaling:
    return Scaling.to_unit(X) if options.scale else Scaling.none(X.shape[1])


def holdout(n_rows: int, share: float, seed: int) -> tuple[Indices, Indices]:
    """Rows to train with and rows to choose with, each in their order."""
    held = max(1, round(share * n_rows))
    if held >= n_rows:
        raise OptionError(
            f"dtsvm: {n_rows} rows are too few to hold some out; give one C, one gamma, or more rows"
        )
    return hold_out(n_rows, held, np.random.default_rng(seed))


def tree_search(rows: Rows, n_classes: int, options: TrainOptions, workers: Workers) -> tuple[Search, Tree]:
    """The search over cuts of one tree, and that tree."""
    tree = grow(rows.X, rows.y, options.ceiling, options.seed)

    def partition(ceiling: int) -> Partition:
        top, least = tree.cut(ceiling), options.min_leaf
        cut = without_small_leaves(top, rows.X, rows.y, n_classes, ceiling, least)
        return Partition(own_rows(cut, rows.X), own_rows(cut, rows.held_X))

    rule = leaf_rule(options.mode, n_classes)
    return Search(rows, partition, rule, options.iterations, workers), tree


def fitted(
    X: Any, y: Indices, n_classes: int, theta: Theta, ceiling: int, options: TrainOptions,
    workers: Workers, tree: Tree | None = None,
) -> Decomposition:  # fmt: skip
    """All leaves of the tree for one ceiling; the tree may be grown already."""
    tree = grow(X, y, ceiling, options.seed) if tree is None else tree
    tree = without_small_leaves(tree.cut(ceiling), X, y, n_classes, ceiling, options.min_leaf)
    scaling, rule = scaling_of(X, options), leaf_rule(options.mode, n_classes)
    rows = own_rows(tree, X)

    def task(at: int) -> Task:
        own = rows[at]
        return Task(scaling(X[own]), y[own], theta, rule, options.iterations, judged=options.risk)

    leaves = workers.results("training leaves", fit_leaf, Leaf, task, [len(own) for own in rows])
    return Decomposition(tree, tuple(leaves), theta, rule, scaling)


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """One leaf with parameters that share a kernel, and held-out rows to judge them by."""

    X: Array
    y: Indices
    held_X: Array
    held_y: Indices
    kernel: Kernel
    Cs: tuple[float, ...]
    rule: LeafRule
    max_iter: int


@dataclass(frozen=True, eq=False, slots=True)
class Scored:
    """For each C: held-out rows classified right, vectors evaluated, and whether LIBSVM converged."""

    right: Indices
    summed: Indices
    unique: Indices
    converged: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tried:
    """A ceiling and parameters, and what they give on the held-out rows."""

    ceiling: int
    theta: Theta
    accuracy: float
    leaves: int
    nesv: float
    nesv_unique: float
    unconverged_leaves: int

    def as_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        rest = {key: value for key, value in asdict(self).items() if key != "theta"}
        return {"C": self.theta.C, "kernel": self.theta.kernel.text(), **rest}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train with and held-out rows, as the kernel sees them by `scaling`."""

    X: NDArray[np.floating[Any]]
    y: Indices
    held_X: NDArray[np.floating[Any]]
    held_y: Indices
    scaling: Scaling


@dataclass(frozen=True, eq=False)
class Search:
    """v(ceiling, parameters) on given rows, whatever divides them into groups."""

    rows: Rows
    partitions: Partitions
    rule: LeafRule
    max_iter: int
    workers: Workers

    def best(self, thetas: Sequence[Theta], plan: TrainOptions) -> tuple[Tried, list[Tried]]:
        """The winner, and everything tried."""
        tried = self.tried(plan.ceiling, thetas)
        leading = sorted(tried, key=lambda one: -one.accuracy)[: plan.top]
        winners, ceiling = list[Tried](), plan.ceiling
        while leading and ceiling < len(self.rows.X):
            ceiling *= plan.growth
            if plan.max_ceiling and ceiling > plan.max_ceiling:
                break
            larger = self.tried(ceiling, [one.theta for one in leading])
            tried += larger
            pairs = list(zip(leading, larger, strict=True))
            winners += [old for old, new in pairs if new.accuracy - old.accuracy < plan.gain]
            leading = [new for old, new in pairs if new.accuracy - old.accuracy >= plan.gain]
        return max([*winners, *leading], key=lambda one: one.accuracy), tried

    def tried(self, ceiling: int, thetas: Sequence[Theta]) -> list[Tried]:
        """Accuracy of each of the parameters at one ceiling."""
        parts, kernels = self.partitions(ceiling), list(dict.fromkeys(theta.kernel for theta in thetas))
        rows, scaling = self.rows, self.rows.scaling
        pure = [len(np.unique(rows.y[own])) == 1 for own in parts.own]
        mixed = [at for at, one in enumerate(pure) if not one and len(parts.held[at])]
        groups = [(leaf, kernel) for leaf in mixed for kernel in kernels]
        costs = {kernel: tuple(t.C for t in thetas if t.kernel == kernel) for kernel in kernels}

        def task(at: int) -> Trial:
            leaf, kernel = groups[at]
            own, held = parts.own[leaf], parts.held[leaf]
            data = (scaling(rows.X[own]), rows.y[own], scaling(rows.held_X[held]), rows.held_y[held])
            return Trial(*data, kernel, costs[kernel], self.rule, self.max_iter)

        sizes = [len(parts.own[leaf]) for leaf, _ in groups]
        results = self.workers.results(f"ceiling {ceiling}", score, Scored, task, sizes)
        by_kernel = {kernel: results[at :: len(kernels)] for at, kernel in enumerate(kernels)}
        held_rows, n = [len(parts.held[leaf]) for leaf in mixed], max(1, len(rows.held_X))
        of_pure = [(rows.y[parts.own[at][0]], parts.held[at]) for at in np.flatnonzero(pure)]
        right = sum(int((rows.held_y[held] == label).sum()) for label, held in of_pure)

        def total(theta: Theta) -> Tried:
            at, found = costs[theta.kernel].index(theta.C), by_kernel[theta.kernel]
            return Tried(
                ceiling,
                theta,
                (right + sum(int(one.right[at]) for one in found)) / n,
                len(pure),
                sum(count * int(one.summed[at]) for count, one in zip(held_rows, found, strict=True)) / n,
                sum(count * int(one.unique[at]) for count, one in zip(held_rows, found, strict=True)) / n,
                sum(not one.converged[at] for one in found),
            )

        return [total(theta) for theta in thetas]


def score(trial: Trial) -> Scored:
    """Every C on one leaf; they share the kernel values of its rows."""
    shared = len(trial.Cs) > 1 and len(trial.X) <= GRAM_ROWS
    gram = trial.kernel.values(trial.X, trial.X) if shared else None
    leaves = []
    for C in trial.Cs:
        theta = Theta(trial.kernel, C)
        leaf = fit(Task(trial.X, trial.y, theta, trial.rule, trial.max_iter), gram)
        right = (predict(leaf, theta, trial.rule, trial.held_X) == trial.held_y).sum()
        leaves.append((right, leaf.summed_vectors, leaf.unique_vectors, leaf.converged))
    return Scored(*(np.array(column) for column in zip(*leaves, strict=True)))


def fit_leaf(task: Task) -> Leaf:
    """The leaf's classifier, with its risk where the task asks for it."""
    leaf = fit(task)
    return replace(leaf, risk=leaf_risk(leaf, task)) if task.judged else leaf

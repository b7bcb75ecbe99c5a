"""Training: labelled rows and options enter, a DTSVM classifier with its search report leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.checkpoint import Checkpoint
from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta
from svmcompile.accelerate.dtsvm.model import Decomposition, Scaling, rows_by_leaf
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.partition import Partition, tree_partition, without_small_leaves
from svmcompile.accelerate.dtsvm.risk import fit_leaf
from svmcompile.accelerate.dtsvm.search import Plan, Rows, Search, Tried
from svmcompile.accelerate.dtsvm.tree import Tree, grow
from svmcompile.accelerate.dtsvm.work import Workers
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices

NEEDS_GAMMA = ("poly", "rbf", "sigmoid")


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


def train_classifier(X: NDArray[Any], y: Indices, n_classes: int, options: TrainOptions) -> Trained:
    """The classifier of rows whose labels are class numbers."""
    options.check()
    workers = workers_of(options)
    grid = thetas(options)
    if len(grid) == 1 and (options.max_ceiling or len(X)) <= options.ceiling:
        return Trained(fitted(X, y, n_classes, grid[0], options.ceiling, options, workers), None, [])
    kept, held = holdout(len(X), options.validation, options.seed)
    rows = Rows(X[kept], y[kept], X[held], y[held], scaling_of(X[kept], options))
    search, tree = tree_search(rows, n_classes, options, workers)
    chosen, tried = search.best(grid, plan_of(options))
    if options.refit:
        model = fitted(X, y, n_classes, chosen.theta, chosen.ceiling, options, workers)
    else:
        model = fitted(rows.X, rows.y, n_classes, chosen.theta, chosen.ceiling, options, workers, tree)
    return Trained(model, chosen, tried)


def workers_of(options: TrainOptions) -> Workers:
    return Workers(options.jobs, Checkpoint(Path(options.checkpoint)) if options.checkpoint else None)


def plan_of(options: TrainOptions) -> Plan:
    return Plan(options.ceiling, options.growth, options.max_ceiling, options.top, options.gain)


def scaling_of(X: NDArray[Any], options: TrainOptions) -> Scaling:
    return Scaling.to_unit(X) if options.scale else Scaling.none(X.shape[1])


def holdout(n_rows: int, share: float, seed: int) -> tuple[Indices, Indices]:
    """Rows to train with and rows to choose with, each in their order."""
    held = max(1, round(share * n_rows))
    if held >= n_rows:
        raise OptionError(
            f"dtsvm: {n_rows} rows are too few to hold some out; give one C, one gamma, or more rows"
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[held:]), np.sort(order[:held])


def tree_search(rows: Rows, n_classes: int, options: TrainOptions, workers: Workers) -> tuple[Search, Tree]:
    """The search over cuts of one tree, and that tree."""
    tree = grow(rows.X, rows.y, options.ceiling, options.seed)

    def partition(ceiling: int) -> Partition:
        cut = cut_tree(tree, rows.X, rows.y, n_classes, ceiling, options)
        return tree_partition(cut, rows.X, rows.held_X)

    rule = leaf_rule(options.mode, n_classes)
    return Search(rows, partition, rule, options.iterations, workers), tree


def cut_tree(
    tree: Tree, X: NDArray[Any], y: Indices, n_classes: int, ceiling: int, options: TrainOptions
) -> Tree:
    """The top of the tree for a ceiling, without leaves that are too small."""
    return without_small_leaves(tree.cut(ceiling), X, y, n_classes, ceiling, options.min_leaf)


def fitted(
    X: NDArray[Any], y: Indices, n_classes: int, theta: Theta, ceiling: int, options: TrainOptions,
    workers: Workers, tree: Tree | None = None,
) -> Decomposition:  # fmt: skip
    """All leaves of the tree for one ceiling; the tree may be grown already."""
    tree = grow(X, y, ceiling, options.seed) if tree is None else tree
    tree = cut_tree(tree, X, y, n_classes, ceiling, options)
    scaling, rule = scaling_of(X, options), leaf_rule(options.mode, n_classes)
    rows = rows_by_leaf(tree.leaves(X), tree.n_leaves)

    def task(at: int) -> Task:
        own = rows[at]
        return Task(scaling(X[own]), y[own], theta, rule, options.iterations, judged=options.risk)

    leaves = workers.results("training leaves", fit_leaf, Leaf, task, [len(own) for own in rows])
    return Decomposition(tree, tuple(leaves), theta, rule, scaling)

"""The search (section 2.4): ceilings and parameters enter, the best on held-out rows leaves.

All parameters at the first ceiling; then, for the best few, larger ceilings as long as they gain enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import LeafRule, Task, Theta, fit, predict
from svmcompile.accelerate.dtsvm.model import Scaling
from svmcompile.accelerate.dtsvm.partition import Partition
from svmcompile.accelerate.dtsvm.work import Workers
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.kinds import Indices

GRAM_ROWS = 4000  # up to here the kernel values of a leaf are computed once for all C

Partitions = Callable[[int], Partition]  # of a ceiling


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
    """For each C: held-out rows classified right, vectors met, and whether LIBSVM converged."""

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


@dataclass(frozen=True, slots=True)
class Plan:
    """How far to search."""

    ceiling: int
    growth: int
    max_ceiling: int  # 0: up to all rows
    top: int
    gain: float


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

    def best(self, thetas: Sequence[Theta], plan: Plan) -> tuple[Tried, list[Tried]]:
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
        pure = [len(np.unique(self.rows.y[own])) == 1 for own in parts.own]
        mixed = [at for at, one in enumerate(pure) if not one and len(parts.held[at])]
        groups = [(leaf, kernel) for leaf in mixed for kernel in kernels]
        costs = {kernel: tuple(t.C for t in thetas if t.kernel == kernel) for kernel in kernels}

        def task(at: int) -> Trial:
            leaf, kernel = groups[at]
            return self._trial(parts.own[leaf], parts.held[leaf], kernel, costs[kernel])

        sizes = [len(parts.own[leaf]) for leaf, _ in groups]
        results = self.workers.results(f"ceiling {ceiling}", score, Scored, task, sizes)
        right = sum(self._right_of_pure(parts, at) for at, one in enumerate(pure) if one)
        by_kernel = {
            kernel: [
                (len(parts.held[leaf]), one)
                for (leaf, own), one in zip(groups, results, strict=True)
                if own == kernel
            ]
            for kernel in kernels
        }
        return [
            self._total(
                ceiling,
                theta,
                len(pure),
                right,
                by_kernel[theta.kernel],
                costs[theta.kernel].index(theta.C),
            )
            for theta in thetas
        ]

    def _trial(self, own: Indices, held: Indices, kernel: Kernel, costs: tuple[float, ...]) -> Trial:
        rows, scaling = self.rows, self.rows.scaling
        return Trial(
            scaling(rows.X[own]), rows.y[own], scaling(rows.held_X[held]), rows.held_y[held],
            kernel, costs, self.rule, self.max_iter,
        )  # fmt: skip

    def _right_of_pure(self, parts: Partition, at: int) -> int:
        return int((self.rows.held_y[parts.held[at]] == self.rows.y[parts.own[at][0]]).sum())

    def _total(
        self, ceiling: int, theta: Theta, leaves: int, right: int, found: list[tuple[int, Scored]], at: int
    ) -> Tried:
        n = max(1, len(self.rows.held_X))
        return Tried(
            ceiling,
            theta,
            (right + sum(int(one.right[at]) for _, one in found)) / n,
            leaves,
            sum(rows * int(one.summed[at]) for rows, one in found) / n,
            sum(rows * int(one.unique[at]) for rows, one in found) / n,
            sum(not one.converged[at] for _, one in found),
        )


def score(trial: Trial) -> Scored:
    """Every C on one leaf; they share the kernel values of its rows."""
    gram = (
        trial.kernel.values(trial.X, trial.X) if len(trial.Cs) > 1 and len(trial.X) <= GRAM_ROWS else None
    )
    leaves = []
    for C in trial.Cs:
        theta = Theta(trial.kernel, C)
        leaf = fit(Task(trial.X, trial.y, theta, trial.rule, trial.max_iter), gram)
        right = (predict(leaf, theta, trial.rule, trial.held_X) == trial.held_y).sum()
        leaves.append((right, leaf.summed_vectors, leaf.unique_vectors, leaf.converged))
    return Scored(*(np.array(column) for column in zip(*leaves, strict=True)))

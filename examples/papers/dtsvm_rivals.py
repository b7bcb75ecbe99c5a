"""What the paper compares DTSVM with, each as published, with its own search over the parameters.

CART, random groups (RDSVM), bagging, boundary rows (CBD), LASVM, LIBLINEAR, and one LIBSVM of all rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dtsvm_lasvm import online_labels, online_machines
from dtsvm_sets import Sixths
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta, fit, predict
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.program import Scaling
from svmcompile.accelerate.dtsvm.training import Rows, Search
from svmcompile.accelerate.dtsvm.tree import Partition, rows_by_leaf
from svmcompile.accelerate.dtsvm.work import Workers

BAG_ROWS = 1500
BAG_GAIN = 0.005
NEIGHBOURS = 100
SCORE_SHARE = 0.95  # of all scores, which the rows that CBD keeps hold together
CLASS_ROWS = 100  # of each class, which CBD keeps at least
LINEAR_CS = tuple(10.0**power for power in range(-1, 6))


@dataclass
class Result:
    """Accuracy on the test rows in percent, seconds to train (with all search) and to test, vectors.

    `nesv` counts coefficients as LIBSVM stores them, which is most likely the paper's count.
    """

    accuracy: float
    train_s: float
    test_s: float
    nesv: float = 0.0
    chosen: float = 0.0  # RDSVM: ceiling; bagging: SVMs; CBD: rows kept


def timed(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[Any, float]:
    """What a function gives, and the processor time it took: other work on the machine does not count."""
    begin = clock()
    return function(), clock() - begin


def percent(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    return 100 * float((found == wanted).mean())


def cart(data: Sixths) -> Result:
    """The tree alone, grown to the end."""
    grown = DecisionTreeClassifier(criterion="entropy", random_state=0)
    _, train = timed(lambda: grown.fit(data.X, data.y))
    found, test = timed(lambda: grown.predict(data.test_X))
    return Result(percent(found, data.test_y), train, test)


def random_groups(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions) -> Result:
    """RDSVM: rows fall into groups by lot, those to classify too."""
    scaling, generator = Scaling.to_unit(data.X), np.random.default_rng(1)

    def lots(count: int, ceiling: int) -> list[NDArray[np.intp]]:
        groups = -(-len(data.X) // ceiling)
        return rows_by_leaf(generator.integers(groups, size=count), groups)

    def partition(ceiling: int) -> Partition:
        return Partition(lots(len(data.X), ceiling), lots(len(data.held_X), ceiling))

    rows = Rows(data.X, data.y, data.held_X, data.held_y, scaling)
    search = Search(rows, partition, rule, plan.iterations, Workers(1))
    (best, _), seconds = timed(lambda: search.best(thetas, plan))
    own, test = lots(len(data.X), best.ceiling), lots(len(data.test_X), best.ceiling)
    tasks = [Task(scaling(data.X[at]), data.y[at], best.theta, rule, plan.iterations) for at in own]
    leaves, took = timed(lambda: [fit(task) for task in tasks])

    def right() -> int:
        pairs = zip(leaves, test, strict=True)
        found = [
            predict(leaf, best.theta, rule, scaling(data.test_X[at])) == data.test_y[at]
            for leaf, at in pairs
        ]
        return int(np.concatenate(found).sum())

    correct, tested = timed(right)
    met = sum(len(at) * leaf.stored_vectors for leaf, at in zip(leaves, test, strict=True))
    count = len(data.test_y)
    return Result(100 * correct / count, seconds + took, tested, met / count, best.ceiling)


def bagging(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions) -> Result:
    """SVMs on 1,500 rows by lot, for each parameter as many as still gain 0.5 points, which vote."""
    scaling, generator = Scaling.to_unit(data.X), np.random.default_rng(2)
    X, held, test = scaling(data.X), scaling(data.held_X), scaling(data.test_X)
    best: tuple[float, Theta, list[Leaf]] | None = None
    begin = time.process_time()
    for theta in thetas:
        bag, votes, accuracy = list[Leaf](), np.zeros((len(held), data.n_classes)), 0.0
        while True:
            at = generator.choice(len(X), min(BAG_ROWS, len(X)), replace=False)
            leaf = fit(Task(X[at], data.y[at], theta, rule, plan.iterations))
            votes[np.arange(len(held)), predict(leaf, theta, rule, held)] += 1
            now = float((votes.argmax(axis=1) == data.held_y).mean())
            if bag and now - accuracy <= BAG_GAIN:
                break
            bag.append(leaf)
            accuracy = now
        if best is None or accuracy > best[0]:
            best = accuracy, theta, bag
    seconds = time.process_time() - begin
    assert best is not None
    _, theta, bag = best
    votes = np.zeros((len(test), data.n_classes))
    begin = time.process_time()
    for leaf in bag:
        votes[np.arange(len(test)), predict(leaf, theta, rule, test)] += 1
    took = time.process_time() - begin
    met = float(sum(leaf.stored_vectors for leaf in bag))
    return Result(percent(votes.argmax(axis=1), data.test_y), seconds, took, met, len(bag))


def libsvm(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions) -> Result:
    """One SVM over all rows, the best of all parameters on the validation rows."""
    everything = np.arange(len(data.X))
    return _one_svm(data, everything, thetas, rule, plan, 0.0)


def boundary_rows(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions) -> Result:
    """CBD: one SVM over the rows near a border between classes, for all pairs of classes the same rows."""
    X = Scaling.to_unit(data.X)(data.X)
    kept, seconds = timed(lambda: near_boundary(X, data.y))
    return _one_svm(data, kept, thetas, rule, plan, seconds)


def near_boundary(X: NDArray[Any], y: NDArray[np.intp], k: int = NEIGHBOURS) -> NDArray[np.intp]:
    """The rows near a border, after "Concept Boundary Detection for Speeding up SVMs" (Panda, Chang, Wu).

    Nearest neighbours and sampling by them are theirs; only their abstract and DTSVM's paper were at hand,
    so the scores are our reading. Every row gives a score to those of its k nearest neighbours that are of
    other classes: 1 to the nearest of them, to others less, falling exponentially with how much farther
    they are. Kept are the highest scores that hold SCORE_SHARE of the sum, and of every class some rows by
    lot.
    """
    k = min(k, len(X) - 1)
    distances, near = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X)
    distances, near = distances[:, 1:], near[:, 1:]
    other = y[near] != y[:, None]
    nearest = np.where(other, distances, np.inf).min(axis=1, keepdims=True)
    beyond = np.where(other, distances - np.where(np.isfinite(nearest), nearest, 0.0), 0.0)
    decay = float(beyond.sum() / max(1, np.count_nonzero(beyond))) or 1.0
    scores = np.bincount(near.ravel(), (other * np.exp(-beyond / decay)).ravel(), minlength=len(X))
    order = np.argsort(-scores, kind="stable")
    count = int(np.searchsorted(np.cumsum(scores[order]), SCORE_SHARE * scores.sum())) + 1
    chosen = np.zeros(len(X), dtype=bool)
    chosen[order[:count]] = True
    lots = np.random.default_rng(3).permutation(len(X))
    for label in np.unique(y):
        own = lots[y[lots] == label]
        missing = CLASS_ROWS - int(chosen[own].sum())
        chosen[own[~chosen[own]][: max(0, missing)]] = True
    return np.flatnonzero(chosen)


def _one_svm(
    data: Sixths, kept: NDArray[np.intp], thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions,
    seconds: float,
) -> Result:  # fmt: skip
    """An SVM over some rows, the best of all parameters on validation rows; `seconds` are spent already."""
    scaling = Scaling.to_unit(data.X)
    X, y, held = scaling(data.X[kept]), data.y[kept], scaling(data.held_X)

    def search() -> tuple[float, Leaf, Theta]:
        best: tuple[float, Leaf, Theta] | None = None
        for theta in thetas:
            leaf = fit(Task(X, y, theta, rule, plan.iterations))
            accuracy = percent(predict(leaf, theta, rule, held), data.held_y)
            if best is None or accuracy > best[0]:
                best = accuracy, leaf, theta
        assert best is not None
        return best

    (_, leaf, theta), took = timed(search)
    found, tested = timed(lambda: predict(leaf, theta, rule, scaling(data.test_X)))
    return Result(percent(found, data.test_y), seconds + took, tested, leaf.stored_vectors, len(kept))


def lasvm(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions) -> Result:
    """LASVM, trained once with the parameters that are best for LIBSVM on 1,500 rows by lot.

    It is numpy here, so that its seconds say little; accuracy and vectors are its own. It is a program for
    two classes: a vector counts for every problem it serves.
    """
    scaling, generator = Scaling.to_unit(data.X), np.random.default_rng(4)
    X, held, test = scaling(data.X), scaling(data.held_X), scaling(data.test_X)
    at = generator.choice(len(X), min(BAG_ROWS, len(X)), replace=False)

    def accuracy(theta: Theta) -> float:
        leaf = fit(Task(X[at], data.y[at], theta, rule, plan.iterations))
        return percent(predict(leaf, theta, rule, held), data.held_y)

    theta = max(thetas, key=accuracy)
    machines, seconds = timed(lambda: online_machines(X, data.y, theta, rule, data.n_classes))
    found, tested = timed(lambda: online_labels(machines, rule, data.n_classes, theta.kernel, test))
    met = sum(len(one.weights) for one in machines)
    return Result(percent(found, data.test_y), seconds, tested, met)


def liblinear(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions) -> Result:
    """LIBLINEAR with a bias, the best of the paper's seven C on the validation rows."""
    scaling = Scaling.to_unit(data.X)
    X, held, test = scaling(data.X), scaling(data.held_X), scaling(data.test_X)

    def search() -> tuple[float, Any]:
        tried = []
        for C in LINEAR_CS:
            machine: Any = LinearSVC(C=C, dual="auto", random_state=0)
            machine = OneVsOneClassifier(machine) if rule == "vote" else machine
            tried.append((percent(machine.fit(X, data.y).predict(held), data.held_y), machine))
        return max(tried, key=lambda one: one[0])

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # large C take more than LIBLINEAR's 1,000 rounds
        (_, machine), seconds = timed(search)
    found, tested = timed(lambda: machine.predict(test))
    return Result(percent(found, data.test_y), seconds, tested)


RIVALS: dict[str, Callable[[Sixths, Sequence[Theta], LeafRule, TrainOptions], Result]] = {
    "libsvm": libsvm,
    "rdsvm": random_groups,
    "bagging": bagging,
    "cbd": boundary_rows,
    "lasvm": lasvm,
    "liblinear": liblinear,
    "cart": lambda data, thetas, rule, plan: cart(data),
}

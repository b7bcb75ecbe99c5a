"""What the paper compares DTSVM with: CART, random groups (RDSVM), bagging, and one LIBSVM of all rows."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dtsvm_sets import Sixths
from numpy.typing import NDArray
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from svmcompile.accelerate.dtsvm.leaves import LeafRule, Task, Theta, fit, predict
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.program import Scaling
from svmcompile.accelerate.dtsvm.training import Rows, Search
from svmcompile.accelerate.dtsvm.tree import Partition, rows_by_leaf
from svmcompile.accelerate.dtsvm.work import Workers

BAG_ROWS = 1500
BAG_GAIN = 0.005


@dataclass
class Result:
    """Accuracy on the test rows in percent, seconds to train (with all search) and to test, vectors met."""

    accuracy: float
    train_seconds: float
    test_seconds: float
    nesv: float = 0.0
    note: str = ""


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


def random_groups(
    data: Sixths, thetas: Sequence[Theta], rule: LeafRule, plan: TrainOptions, iterations: int
) -> Result:
    """RDSVM: rows fall into groups by lot, those to classify too."""
    scaling, generator = Scaling.to_unit(data.X), np.random.default_rng(1)

    def lots(count: int, ceiling: int) -> list[NDArray[np.intp]]:
        groups = -(-len(data.X) // ceiling)
        return rows_by_leaf(generator.integers(groups, size=count), groups)

    def partition(ceiling: int) -> Partition:
        return Partition(lots(len(data.X), ceiling), lots(len(data.held_X), ceiling))

    rows = Rows(data.X, data.y, data.held_X, data.held_y, scaling)
    search = Search(rows, partition, rule, iterations, Workers())
    (best, _), seconds = timed(lambda: search.best(thetas, plan))
    own, test = lots(len(data.X), best.ceiling), lots(len(data.test_X), best.ceiling)
    begin = time.process_time()
    leaves = [fit(Task(scaling(data.X[at]), data.y[at], best.theta, rule, iterations)) for at in own]
    seconds += time.process_time() - begin
    begin = time.process_time()
    right = sum(
        int((predict(leaf, best.theta, rule, scaling(data.test_X[at])) == data.test_y[at]).sum())
        for leaf, at in zip(leaves, test, strict=True)
    )
    met = sum(len(at) * leaf.summed_vectors for leaf, at in zip(leaves, test, strict=True))
    count = len(data.test_y)
    took = time.process_time() - begin
    return Result(100 * right / count, seconds, took, met / count, f"ceiling {best.ceiling}")


def bagging(data: Sixths, thetas: Sequence[Theta], rule: LeafRule, iterations: int) -> Result:
    """SVMs on 1,500 rows by lot, for each parameter as many as still gain 0.5 points, which vote."""
    scaling, generator = Scaling.to_unit(data.X), np.random.default_rng(2)
    X, held, test = scaling(data.X), scaling(data.held_X), scaling(data.test_X)
    best: tuple[float, Theta, list[Any]] | None = None
    begin = time.process_time()
    for theta in thetas:
        bag, votes, accuracy = list[Any](), np.zeros((len(held), data.n_classes)), 0.0
        while True:
            at = generator.choice(len(X), min(BAG_ROWS, len(X)), replace=False)
            leaf = fit(Task(X[at], data.y[at], theta, rule, iterations))
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
    begin = time.process_time()
    votes = np.zeros((len(test), data.n_classes))
    for leaf in bag:
        votes[np.arange(len(test)), predict(leaf, theta, rule, test)] += 1
    took = time.process_time() - begin
    met = float(sum(leaf.summed_vectors for leaf in bag))
    return Result(percent(votes.argmax(axis=1), data.test_y), seconds, took, met, f"{len(bag)} SVMs")


def libsvm(data: Sixths, theta: Theta, mode: str, limit: float) -> Result | None:
    """One SVM (1AO: one per class) over all rows; None if `limit` seconds are not enough."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_libsvm, args=(theirs, data, theta, mode))
    process.start()
    theirs.close()
    try:
        found: Result | None = ours.recv() if ours.poll(limit) else None
    finally:
        process.terminate()
        process.join()
    return found


def _libsvm(pipe: Any, data: Sixths, theta: Theta, mode: str) -> None:
    scaling = Scaling.to_unit(data.X)
    X, test = scaling(data.X), scaling(data.test_X)
    if mode == "1a1" or data.n_classes == 2:
        model, train = timed(lambda: _svc(theta).fit(X, data.y))
        found, took = timed(lambda: model.predict(test))
        met = float(np.count_nonzero(model.dual_coef_))
    else:
        models, train = timed(lambda: [_svc(theta).fit(X, data.y == k) for k in range(data.n_classes)])
        values, took = timed(lambda: [model.decision_function(test) for model in models])
        found, met = np.argmax(values, axis=0), float(sum(len(model.support_) for model in models))
    pipe.send(Result(percent(found, data.test_y), train, took, met))


def _svc(theta: Theta) -> SVC:
    return SVC(C=theta.C, gamma=theta.kernel.gamma, cache_size=500)

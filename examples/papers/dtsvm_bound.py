"""Tables 13 and 14 of DTSVM's paper: terms of the error bound for the tree and for one SVM over all rows.

    python examples/papers/dtsvm_bound.py shuttle       S, R, R over leaves, T1 and T2 of one set

Both have the same parameters, as in the paper, which does not name them; of several, those best for
one SVM on SEARCH_ROWS rows. With several classes the paper takes "the average of the quantities over all
classifiers": R has for each leaf the mean over the problems it has, R_all the mean over all problems, where
those a leaf lacks count 0.
"""

from __future__ import annotations

from dataclasses import replace

from common import read_words
from dtsvm import Figures, Plan
from dtsvm_rivals import percent
from dtsvm_sets import PAPER

from svmcompile.accelerate.dtsvm.bound import leaf_risk, terms
from svmcompile.accelerate.dtsvm.leaves import Task, Theta, fit, predict
from svmcompile.accelerate.dtsvm.training import fitted, leaf_rule, scaling_of, thetas, workers_of

SEARCH_ROWS = 3000


def bound(plan: Plan) -> Figures:
    """S of one SVM, and the terms of the tree with the first ceiling."""
    data, options = plan.data(), replace(plan.options, risk=True)
    scaling, rule = scaling_of(data.X, options), leaf_rule(options.mode, data.n_classes)

    def accuracy(theta: Theta) -> float:
        some = Task(scaling(data.X[:SEARCH_ROWS]), data.y[:SEARCH_ROWS], theta, rule, options.iterations)
        return percent(predict(fit(some), theta, rule, scaling(data.held_X)), data.held_y)

    grid = thetas(options)
    theta = max(grid, key=accuracy) if len(grid) > 1 else grid[0]
    workers = workers_of(options)
    model = fitted(data.X, data.y, data.n_classes, theta, options.ceiling, options, workers)
    task = Task(scaling(data.X), data.y, theta, rule, options.iterations)
    found: Figures = {"C": theta.C, "gamma": theta.kernel.gamma, "leaves": model.tree.n_leaves}
    found["S"] = leaf_risk(fit(task), task)
    found |= terms(model.leaves, rule, data.n_classes, len(data.X), data.X.shape[1])
    found["R_all_per_leaf"] = found["R_all"] / found["leaves"]
    found["T1_printed_all"] = found["T1_printed"] * found["R_all"] / found["R"]
    return found


if __name__ == "__main__":
    for name in read_words(__doc__, PAPER):
        for key, value in bound(Plan(name)).items():
            print(f"{key}: {value:,.6g}")

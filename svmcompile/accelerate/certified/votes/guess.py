"""Who is the champion: a linear guess that is right as often as linear ones can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.program import Guess, fit_guess
from svmcompile.ir.arithmetic import Array

RIDGE = 1e-4  # of the weights, on features with a variance of one
STEPS = 60
MOST_NUMBERS = 4_000_000  # of rows times features: more rows tell no more


def likely_champion(points: Array, labels: NDArray[np.int64], classes: int) -> Guess:
    """Logistic regression of the labels, or ridge regression where that is right more often.

    A champion that loses costs a row as much as the first did, so that each miss counts, and least squares
    misses twice as often where classes are many.
    """
    ridge = fit_guess(points, labels, classes)
    some = slice(None, None, 1 + points.size // MOST_NUMBERS)
    logistic = _logistic(points[some], labels[some], classes, ridge)
    right = [float((_named(one, points) == labels).mean()) for one in (ridge, logistic)]
    return logistic if right[1] > right[0] else ridge


def _named(guess: Guess, points: Array) -> NDArray[np.int64]:
    return np.asarray(((points - guess.centre) @ guess.weights.T + guess.bias).argmax(axis=1))


def _logistic(points: Array, labels: NDArray[np.int64], classes: int, start: Guess) -> Guess:
    from scipy.optimize import minimize

    spread = points.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    h = np.column_stack([(points - start.centre) * scale, np.ones(len(points))])
    wanted = (labels[:, None] == np.arange(classes)).astype(np.float64)

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(classes, -1)
        scores = h @ weights.T
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        total = shares.sum(axis=1, keepdims=True)
        value = float((np.log(total[:, 0]) - (scores * wanted).sum(axis=1)).mean())
        slope = (shares / total - wanted).T @ h / len(h) + RIDGE * weights
        return value + 0.5 * RIDGE * float(np.square(weights).sum()), slope.ravel()

    found = minimize(
        loss, np.zeros(classes * h.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    ).x.reshape(classes, -1)
    return Guess(found[:, :-1] * scale, found[:, -1], start.centre)

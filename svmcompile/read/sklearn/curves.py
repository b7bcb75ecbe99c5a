"""Transformers that send each feature along curves: quantiles and splines, as polynomials between knots."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import polynomial

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.model import front
from svmcompile.model.front import Front
from svmcompile.read.sklearn.fitted import Fitted

Curves = tuple[
    Array, Array, Array
]  # of one feature: knots, levels [knots, curves], pieces [knots + 1, ...]
MAX_NUMBERS = 1 << 24  # of all pieces together
MAX_DEGREE = 20


def quantile_transformer(fitted: Fitted) -> Front:
    """The share of training rows below a feature; where quantiles repeat, the mean of both ends."""
    fitted.require("quantiles_")
    output = fitted.get("output_distribution")
    if output != "uniform":
        raise UnsupportedError(
            f"{fitted.place}: output_distribution={output!r:.40} needs a function that C does not have; "
            "fit it with 'uniform'"
        )
    if fitted.flag("ignore_implicit_zeros"):
        raise UnsupportedError(f"{fitted.place}: ignore_implicit_zeros=True; fit it without")
    quantiles, references = fitted.numbers("quantiles_", 2), fitted.numbers("references_", 1)
    if quantiles.shape[:1] != references.shape or not quantiles.size:
        raise fitted.damaged("quantiles_ and references_ have different lengths")
    _check_rising(fitted, "references_", references)
    for column in quantiles.T:
        _check_rising(fitted, "quantiles_", column)
    return _joined(fitted, [_shares(column, references) for column in quantiles.T])


def _shares(quantiles: Array, references: Array) -> Curves:
    knots, first, counts = np.unique(quantiles, return_index=True, return_counts=True)
    low, high = references[first], references[first + counts - 1]
    levels = (low + high) / 2
    levels[-1], levels[0] = 1.0, 0.0  # in this order: one knot alone gives 0
    pieces = np.zeros((len(knots) + 1, 2))
    pieces[0, 0], pieces[1:, 0] = references[0], high
    with np.errstate(over="ignore"):  # the front names what is not finite
        pieces[1:-1, 1] = (low[1:] - high[:-1]) / np.diff(knots)
    return knots, levels[:, None], pieces


def spline_transformer(fitted: Fitted) -> Front:
    """B-splines, whose polynomials are made from their knots."""
    fitted.require("bsplines_")
    degree, beyond = fitted.get("degree"), fitted.get("extrapolation")
    if type(degree) is not int or not 1 <= degree <= MAX_DEGREE:
        raise UnsupportedError(
            f"{fitted.place}: degree={degree!r:.40}; fit it with one from 1 to {MAX_DEGREE}"
        )
    if beyond not in ("constant", "linear", "continue"):
        raise UnsupportedError(
            f"{fitted.place}: extrapolation={beyond!r:.40}; fit it with 'constant', 'linear' or 'continue'"
        )
    if fitted.optional("handle_missing") not in (None, "error"):
        raise UnsupportedError(f"{fitted.place}: handle_missing; put a SimpleImputer before it")
    found = fitted.get("bsplines_")
    if not isinstance(found, list) or not found:
        raise fitted.damaged("bsplines_ holds no splines")
    if degree == 1 and beyond == "linear" and len(found) > 1:
        raise UnsupportedError(
            f"{fitted.place}: with degree=1 and extrapolation='linear' scikit-learn takes other knots "
            "for the first feature than for the rest; fit it with 'continue', the same for lines"
        )
    dropped = 0 if fitted.flag("include_bias") else 1
    parts = []
    for one in found:
        spline = Fitted(one, "BSpline", fitted.where)
        t = spline.numbers("t" if spline.optional("_t") is None else "_t", 1)
        _check_rising(fitted, "the knots of bsplines_", t)
        if len(t) < 2 * degree + 2:
            raise fitted.damaged("bsplines_ have too few knots for their degree")
        if (len(t) - degree - 1) * (degree + 1) * (len(t) + 1) * len(found) > MAX_NUMBERS:
            raise UnsupportedError(f"{fitted.place}: has too many knots; fit it with fewer")
        parts.append(_splines(t, degree, beyond, len(t) - degree - 1 - dropped))
    return _joined(fitted, parts)


def _splines(t: Array, degree: int, beyond: str, count: int) -> Curves:
    """The first splines over knots t; those in front and behind serve to define them.

    As in scikit-learn and scipy where knots repeat, too: only the splines at the ends go on beyond them.
    """
    final = len(t) - degree - 2  # the last interval
    wide = [at for at in range(degree, final + 1) if t[at] < t[at + 1]]
    first = degree if beyond == "continue" or not wide else wide[0]
    between = [_basis(t, degree, at) for at in wide]
    last = _moved(_basis(t, degree, final), t[final + 1] - t[final])
    levels = np.stack([*(curves[0] for curves in between), last[0]])
    ends = np.stack([_basis(t, degree, first), last])
    if beyond != "continue":
        powers, kept = (1, degree) if beyond == "constant" else (2, max(degree, 2))
        ends[:, powers:] = 0.0
        ends[0, :, kept:] = ends[1, :, :-kept] = 0.0
    pieces = np.stack([ends[0], *between, ends[1]])[:, :, :count]
    return t[[*wide, final + 1]], levels[:, :count], pieces.reshape(len(pieces), -1)


def _basis(t: Array, degree: int, at: int) -> Array:
    """All splines from t[at] to t[at + 1], as polynomials of the distance from t[at]: [powers, splines]."""
    out = np.zeros((degree + 1, len(t)))
    out[0, at] = 1.0
    for k in range(1, degree + 1):  # Cox and de Boor: each is made of two of a degree less
        lower, out = out, np.zeros_like(out)
        for j in range(at - k + 1, at + 1):
            width = t[j + k] - t[j]
            if width > 0:
                raised = np.roll(lower[:, j], 1) / width  # the highest power was zero
                out[:, j] += raised + lower[:, j] * (t[at] - t[j]) / width
                out[:, j - 1] += lower[:, j] * (t[j + k] - t[at]) / width - raised
    return out[:, : len(t) - degree - 1]


def _moved(curves: Array, by: float) -> Array:
    """The same polynomials of distances from a place further on."""
    derivatives = [polynomial.polyval(by, polynomial.polyder(curves, n)) for n in range(len(curves))]
    return np.stack([curve / math.factorial(n) for n, curve in enumerate(derivatives)])


def _joined(fitted: Fitted, parts: list[Curves]) -> Front:
    knots, levels, pieces = zip(*parts, strict=True)
    if len({one.shape[1] for one in pieces}) > 1:
        raise fitted.damaged("features have different numbers of splines")
    starts = np.concatenate([[0], np.cumsum([len(one) for one in knots])])
    return front.pieces(starts, np.concatenate(knots), np.vstack(levels), np.vstack(pieces))


def _check_rising(fitted: Fitted, name: str, numbers: Array) -> None:
    if not np.isfinite(numbers).all() or (np.diff(numbers) < 0).any():
        raise fitted.damaged(f"{name} are not finite numbers that rise")


CURVES: dict[str, Callable[[Fitted], Front]] = {
    "QuantileTransformer": quantile_transformer,
    "SplineTransformer": spline_transformer,
}

"""Transformers that send each feature along curves: quantiles and splines, as polynomials between knots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.model import front
from svmcompile.model.front import Front
from svmcompile.read.sklearn.fitted import Fitted

Curves = tuple[
    Array, Array, Array
]  # of one feature: knots, levels [knots, curves], pieces [knots + 1, ...]
MAX_NUMBERS = 1 << 24  # of all pieces together
MAX_DEGREE = 20
MARGIN = 1e-7  # from the outer quantiles: what lies within is below or above all rows
NOTHING = 2.0**100  # a number in place of a missing one, which no feature is


def quantile_transformer(fitted: Fitted) -> Front:
    """The share of training rows below a feature; where quantiles repeat, the mean of both ends."""
    fitted.require("quantiles_")
    output = fitted.get("output_distribution")
    if output not in ("uniform", "normal"):
        raise fitted.damaged(f"output_distribution={output!r:.40} is neither 'uniform' nor 'normal'")
    if fitted.flag("ignore_implicit_zeros"):
        raise UnsupportedError(f"{fitted.place}: ignore_implicit_zeros=True; fit it without")
    quantiles, references = fitted.numbers("quantiles_", 2), fitted.numbers("references_", 1)
    if quantiles.shape[:1] != references.shape or not quantiles.size:
        raise fitted.damaged("quantiles_ and references_ have different lengths")
    _check_rising(fitted, "references_", references)
    for column in quantiles.T:
        _check_rising(fitted, "quantiles_", column)
    shares = [_shares(column, references) for column in quantiles.T]
    if output == "uniform":
        return _joined(fitted, shares)
    both = [_with_rest(_cut(*one)) for one in shares]
    quantile = ir.NormalQuantile("z0", front.ROW)
    return _joined(fitted, both).then(front.nodes_front([quantile], {}, 2 * len(both), len(both)))


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


def _cut(knots: Array, levels: Array, pieces: Array) -> Curves:
    """The same with 0 and 1 as far as MARGIN within the outer knots, as scikit-learn has it.

    Those knots stay, so that training rows that lie on them do so in float32, where MARGIN is nothing.
    """
    low = max(_last(knots[0] + MARGIN, lambda x: x - MARGIN < knots[0], 1), knots[0])
    high = min(_last(knots[-1] - MARGIN, lambda x: x + MARGIN > knots[-1], -1), knots[-1])
    if low >= high:  # the low end comes first
        return np.array([knots[0], low]), np.zeros((2, 1)), np.array([[0.0, 0], [0, 0], [1, 0]])
    inner = (knots > low) & (knots < high)
    at = int(np.searchsorted(knots, low, side="right"))
    start = [pieces[at, 0] + pieces[at, 1] * (low - knots[at - 1]), pieces[at, 1]]
    none, all_ = [0.0, 0.0], [1.0, 0.0]
    return (
        np.array([knots[0], low, *knots[inner], high, knots[-1]]),
        np.array([[0.0], [0.0], *levels[inner], [1.0], [1.0]]),
        np.array([none, none, start, *pieces[1:][inner], all_, all_]),
    )


def _last(x: float, holds: Callable[[Array], Array], step: int) -> float:
    """The last number near x, going by step, for which something holds that rounding decides."""
    near = x + step * np.arange(-4, 5) * np.spacing(max(abs(x), MARGIN))
    return float(near[np.flatnonzero(holds(near)).max(initial=0)])


def _with_rest(curves: Curves) -> Curves:
    """Beside each share what is missing to one."""
    knots, levels, pieces = curves
    rest = -pieces
    rest[:, 0] += 1
    both = np.stack([pieces, rest], axis=2)  # [pieces, powers, curves]
    return knots, np.hstack([levels, 1 - levels]), both.reshape(len(pieces), -1)


def spline_transformer(fitted: Fitted) -> Front:
    """B-splines, whose polynomials are made from their knots."""
    fitted.require("bsplines_")
    degree, beyond, missing = fitted.get("degree"), fitted.get("extrapolation"), _missing(fitted)
    found = fitted.get("bsplines_")
    if not isinstance(found, list) or not found:
        raise fitted.damaged("bsplines_ holds no splines")
    _check_spline(fitted, degree, beyond, len(found))
    dropped = 0 if fitted.flag("include_bias") else 1
    parts, ends = [], []
    for one in found:
        spline = Fitted(one, "BSpline", fitted.where)
        t = spline.numbers("t" if spline.optional("_t") is None else "_t", 1)
        _check_rising(fitted, "the knots of bsplines_", t)
        if len(t) < (max(2, degree + 1) if beyond == "periodic" else 2) + 2 * degree:
            raise fitted.damaged("bsplines_ have too few knots for their degree")
        if (len(t) - degree - 1) * (degree + 1) * (len(t) + 1) * len(found) > MAX_NUMBERS:
            raise UnsupportedError(f"{fitted.place}: has too many knots; fit it with fewer")
        ends.append(t[[degree, -degree - 1]])
        parts.append(_splines(t, degree, beyond, dropped))
    if beyond == "periodic":
        origins, last = np.array(ends).T
        parts = [(knots - origin, *rest) for (knots, *rest), origin in zip(parts, origins, strict=True)]
        return _joined(fitted, parts, origins, last - origins)
    if not missing:
        return _joined(fitted, parts)
    parts = [_with_nothing(one) for one in parts]
    return front.fill(np.full(len(parts), NOTHING), True, 0.0).then(_joined(fitted, parts))


def _missing(fitted: Fitted) -> bool:
    """Whether features that are missing are no splines at all, in place of an error."""
    handled = fitted.optional("handle_missing") or "error"
    if handled not in ("error", "zeros"):
        raise fitted.damaged(f"handle_missing={handled!r:.40} is neither 'error' nor 'zeros'")
    return handled == "zeros"


def _check_spline(fitted: Fitted, degree: Any, beyond: Any, features: int) -> None:
    if type(degree) is not int or not 0 <= degree <= MAX_DEGREE:
        raise UnsupportedError(
            f"{fitted.place}: degree={degree!r:.40}; fit it with one from 0 to {MAX_DEGREE}"
        )
    given = f"{fitted.place}: with degree={degree} and extrapolation={beyond!r:.40}"
    if beyond not in ("constant", "linear", "continue", "periodic"):
        raise UnsupportedError(f"{given}; fit it with 'constant', 'linear', 'continue' or 'periodic'")
    if beyond == "periodic" and _missing(fitted):
        raise UnsupportedError(f"{given} and handle_missing='zeros'; put a SimpleImputer before it")
    if degree == 0 and beyond == "constant":
        raise UnsupportedError(
            f"{given} scikit-learn fails at rows beyond the knots; fit it with 'continue'"
        )
    if degree <= 1 and beyond == "linear" and features > 1:
        raise UnsupportedError(
            f"{given} scikit-learn takes other knots "
            "for the first feature than for the rest; fit it with 'continue', the same for lines"
        )


def _splines(t: Array, degree: int, beyond: str, dropped: int) -> Curves:
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
    if beyond in ("constant", "linear"):
        powers, kept = (1, degree) if beyond == "constant" else (2, max(degree, 2))
        ends[:, powers:] = 0.0
        ends[0, :, kept:] = ends[1, :, :-kept] = 0.0
    pieces = np.stack([ends[0], *between, ends[1]])
    if beyond == "periodic":
        levels[-1] = levels[0]
        pieces[[0, -1]] = pieces[[-1, 1]]
        levels, pieces = _folded(levels, degree), _folded(pieces, degree)
    count = levels.shape[1] - dropped
    return t[[*wide, final + 1]], levels[:, :count], pieces[:, :, :count].reshape(len(pieces), -1)


def _folded(curves: Array, degree: int) -> Array:
    """The last splines are the first ones a period later."""
    count = curves.shape[-1] - degree
    moved = np.pad(curves[..., count:], [(0, 0)] * (curves.ndim - 1) + [(0, count - degree)])
    return np.asarray(curves[..., :count] + moved)


def _with_nothing(curves: Curves) -> Curves:
    """The same, and no spline at NOTHING, where missing features are put."""
    knots, levels, pieces = curves
    none = np.zeros((1, levels.shape[1])), np.zeros((1, pieces.shape[1]))
    return np.append(knots, NOTHING), np.vstack([levels, none[0]]), np.vstack([pieces, none[1]])


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


def _joined(fitted: Fitted, parts: list[Curves], *circles: Array) -> Front:
    knots, levels, pieces = zip(*parts, strict=True)
    if len({one.shape[1] for one in pieces}) > 1:
        raise fitted.damaged("features have different numbers of splines")
    starts = np.concatenate([[0], np.cumsum([len(one) for one in knots])])
    return front.pieces(starts, np.concatenate(knots), np.vstack(levels), np.vstack(pieces), *circles)


def _check_rising(fitted: Fitted, name: str, numbers: Array) -> None:
    if not np.isfinite(numbers).all() or (np.diff(numbers) < 0).any():
        raise fitted.damaged(f"{name} are not finite numbers that rise")


CURVES: dict[str, Callable[[Fitted], Front]] = {
    "QuantileTransformer": quantile_transformer,
    "SplineTransformer": spline_transformer,
}

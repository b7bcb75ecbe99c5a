"""Missing features: a fitted imputer in, steps that fill them, and tell where they were, out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Array
from svmcompile.model.front import FillStep, JoinStep, MissingStep, PickStep, Steps
from svmcompile.read.sklearn.fitted import Fitted


def simple_imputer(fitted: Fitted) -> Steps:
    """A value per feature; features without one are dropped, as scikit-learn does."""
    fitted.require("statistics_")
    nan, marker = _marker(fitted)
    values = _statistics(fitted)
    width = len(values)
    keeps_empty = fitted.optional("keep_empty_features")
    kept = np.arange(width) if keeps_empty else np.flatnonzero(~np.isnan(values))
    steps: Steps = (FillStep(values[kept], nan, marker),)
    if len(kept) < width:
        steps = (PickStep(kept, width), *steps)
    indicator = fitted.optional("indicator_")
    if not fitted.flag("add_indicator") or indicator is None:
        return steps
    marks = _indicated(Fitted(indicator, "MissingIndicator", fitted.where), width, nan, marker)
    return (JoinStep((steps, marks), width),) if marks else steps


def _statistics(fitted: Fitted) -> Array:
    """What is filled in; scikit-learn keeps a constant among objects."""
    found = fitted.get("statistics_")
    try:
        values = np.asarray(found).astype(np.float64)
    except (TypeError, ValueError):
        raise UnsupportedError(
            f"{fitted.place}: fills in {found!r:.60}, which are not all numbers; encode such features first"
        ) from None
    if values.ndim != 1:
        raise fitted.damaged(f"statistics_ has {values.ndim} dimension(s), expected 1")
    return values


def missing_indicator(fitted: Fitted) -> Steps:
    """1 where a feature is missing. It is no error if the feature never was before."""
    fitted.require("features_")
    width = fitted.count("n_features_in_")
    marks = _indicated(fitted, width, *_marker(fitted))
    if not marks:
        raise UnsupportedError(f"{fitted.place}: no feature was missing, so it gives none; leave it out")
    return marks


def _indicated(fitted: Fitted, width: int, nan: bool, marker: float) -> Steps:
    columns = fitted.numbers("features_", 1).astype(np.int64)
    if not len(columns):
        return ()
    picks = () if np.array_equal(columns, np.arange(width)) else (PickStep(columns, width),)
    return (*picks, MissingStep(nan, marker))


def _marker(fitted: Fitted) -> tuple[bool, float]:
    """What stands for a missing feature: NaN, or a number."""
    value = fitted.get("missing_values")
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
        raise UnsupportedError(
            f"{fitted.place}: missing_values={value!r} is not a number; mark missing features by NaN"
        )
    if np.isnan(value):
        return True, 0.0
    with np.errstate(over="ignore"):
        same = np.isfinite(value) and float(np.float32(value)) == float(value)
    if not same:
        raise UnsupportedError(
            f"{fitted.place}: missing_values={value!r} is no float32 number, so float code could not tell "
            "it from its neighbours; mark missing features by NaN"
        )
    return False, float(value)


IMPUTERS: dict[str, Callable[[Fitted], Steps]] = {
    "SimpleImputer": simple_imputer,
    "MissingIndicator": missing_indicator,
}

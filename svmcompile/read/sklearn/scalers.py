"""Preprocessing: a fitted scaler in, the front of an SVM out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Array
from svmcompile.model.front import IDENTITY, Front, clip, normalize, scale
from svmcompile.read.sklearn.fitted import Fitted


def standard_scaler(fitted: Fitted) -> Front:
    """(x - mean) / scale, either part optional; `mean_` is also kept by scalers that do not use it."""
    fitted.require("n_features_in_")
    with_mean, with_std = fitted.flag("with_mean"), fitted.flag("with_std")
    mean = fitted.numbers("mean_", 1) if with_mean else None
    factor = _reciprocal(fitted, fitted.numbers("scale_", 1)) if with_std else None
    return _scaled(mean, factor)


def robust_scaler(fitted: Fitted) -> Front:
    """(x - center) / scale, either part optional."""
    fitted.require("n_features_in_")
    centre = fitted.numbers("center_", 1) if fitted.flag("with_centering") else None
    factor = _reciprocal(fitted, fitted.numbers("scale_", 1)) if fitted.flag("with_scaling") else None
    return _scaled(centre, factor)


def _scaled(mean: Array | None, factor: Array | None) -> Front:
    if mean is not None and factor is not None:
        return scale(mean, factor)
    if mean is not None:
        return scale(mean, np.ones_like(mean))
    return scale(np.zeros_like(factor), factor) if factor is not None else IDENTITY


def min_max_scaler(fitted: Fitted) -> Front:
    """x * scale + min, as a shift before the factor, then a clip if the scaler asks for one."""
    fitted.require("scale_")
    factor, minimum = fitted.numbers("scale_", 1), fitted.numbers("min_", 1)
    if factor.shape != minimum.shape:
        raise fitted.damaged("scale_ and min_ have different lengths")
    with np.errstate(all="ignore"):  # the check below names the feature
        shift = -minimum / factor
    _refuse_unless_finite(fitted, shift, factor)
    scaling = scale(shift, factor)
    return scaling.then(_range(fitted)) if fitted.flag("clip") else scaling


def max_abs_scaler(fitted: Fitted) -> Front:
    """x / scale, then a clip to -1..1 if the scaler asks for one."""
    fitted.require("scale_")
    scaling = _scaled(None, _reciprocal(fitted, fitted.numbers("scale_", 1)))
    return scaling.then(clip(-1.0, 1.0)) if fitted.optional("clip") else scaling


def normalizer(fitted: Fitted) -> Front:
    """x / norm, row by row; scikit-learn takes a norm below ten roundings of one for zero."""
    norm = fitted.get("norm")
    if norm not in ("l1", "l2", "max"):
        raise fitted.damaged(f"norm is {norm!r:.40}, none of l1, l2 and max")
    return normalize(norm, 10 * float(np.finfo(np.float64).eps))


def _range(fitted: Fitted) -> Front:
    try:
        low, high = (float(np.asarray(bound).item()) for bound in fitted.get("feature_range"))
    except (TypeError, ValueError):
        raise fitted.damaged("feature_range is not a pair of numbers") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise fitted.damaged(f"feature_range is ({low}, {high})")
    return clip(low, high)


def _reciprocal(fitted: Fitted, divisor: Array) -> Array:
    with np.errstate(all="ignore"):
        inverse = 1.0 / divisor
    _refuse_unless_finite(fitted, inverse, divisor)
    return inverse


def _refuse_unless_finite(fitted: Fitted, result: Array, given: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(result))
    if bad.size:
        raise UnsupportedError(
            f"{fitted.place}: feature {bad[0]} has the scale {given[bad[0]]}, which no float64 "
            "factor can express; drop the feature or rescale it before training"
        )


SCALERS: dict[str, Callable[[Fitted], Front]] = {
    "StandardScaler": standard_scaler,
    "MinMaxScaler": min_max_scaler,
    "MaxAbsScaler": max_abs_scaler,
    "RobustScaler": robust_scaler,
    "Normalizer": normalizer,
}

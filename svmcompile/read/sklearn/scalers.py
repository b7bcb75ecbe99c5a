"""Preprocessing: a fitted scaler in, steps of the SVM out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Array
from svmcompile.model.front import ClipStep, NormalizeStep, ScaleStep, Steps
from svmcompile.read.sklearn.fitted import Fitted


def standard_scaler(fitted: Fitted) -> Steps:
    """(x - mean) / scale, either part optional; `mean_` is also kept by scalers that do not use it."""
    fitted.require("n_features_in_")
    with_mean, with_std = fitted.flag("with_mean"), fitted.flag("with_std")
    mean = fitted.numbers("mean_", 1) if with_mean else None
    factor = _reciprocal(fitted, fitted.numbers("scale_", 1)) if with_std else None
    return _scaled(mean, factor)


def robust_scaler(fitted: Fitted) -> Steps:
    """(x - center) / scale, either part optional."""
    fitted.require("n_features_in_")
    centre = fitted.numbers("center_", 1) if fitted.flag("with_centering") else None
    factor = _reciprocal(fitted, fitted.numbers("scale_", 1)) if fitted.flag("with_scaling") else None
    return _scaled(centre, factor)


def _scaled(mean: Array | None, factor: Array | None) -> Steps:
    if mean is not None and factor is not None:
        return (ScaleStep(mean, factor),)
    if mean is not None:
        return (ScaleStep(mean, np.ones_like(mean)),)
    return (ScaleStep(np.zeros_like(factor), factor),) if factor is not None else ()


def min_max_scaler(fitted: Fitted) -> Steps:
    """x * scale + min, as a shift before the factor, then a clip if the scaler asks for one."""
    fitted.require("scale_")
    scale, minimum = fitted.numbers("scale_", 1), fitted.numbers("min_", 1)
    if scale.shape != minimum.shape:
        raise fitted.damaged("scale_ and min_ have different lengths")
    with np.errstate(all="ignore"):  # the check below names the feature
        shift = -minimum / scale
    _refuse_unless_finite(fitted, shift, scale)
    clip = _range(fitted) if fitted.flag("clip") else ()
    return (ScaleStep(shift, scale), *clip)


def max_abs_scaler(fitted: Fitted) -> Steps:
    """x / scale, then a clip to -1..1 if the scaler asks for one."""
    fitted.require("scale_")
    steps = _scaled(None, _reciprocal(fitted, fitted.numbers("scale_", 1)))
    return (*steps, ClipStep(-1.0, 1.0)) if fitted.optional("clip") else steps


def normalizer(fitted: Fitted) -> Steps:
    """x / norm, row by row; scikit-learn takes a norm below ten roundings of one for zero."""
    norm = fitted.get("norm")
    if norm not in ("l1", "l2", "max"):
        raise fitted.damaged(f"norm is {norm!r:.40}, none of l1, l2 and max")
    return (NormalizeStep(norm, 10 * float(np.finfo(np.float64).eps)),)


def _range(fitted: Fitted) -> tuple[ClipStep]:
    try:
        low, high = (float(np.asarray(bound).item()) for bound in fitted.get("feature_range"))
    except (TypeError, ValueError):
        raise fitted.damaged("feature_range is not a pair of numbers") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise fitted.damaged(f"feature_range is ({low}, {high})")
    return (ClipStep(low, high),)


def _reciprocal(fitted: Fitted, scale: Array) -> Array:
    with np.errstate(all="ignore"):
        inverse = 1.0 / scale
    _refuse_unless_finite(fitted, inverse, scale)
    return inverse


def _refuse_unless_finite(fitted: Fitted, result: Array, scale: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(result))
    if bad.size:
        raise UnsupportedError(
            f"{fitted.place}: feature {bad[0]} has the scale {scale[bad[0]]}, which no float64 "
            "factor can express; drop the feature or rescale it before training"
        )


SCALERS: dict[str, Callable[[Fitted], Steps]] = {
    "StandardScaler": standard_scaler,
    "MinMaxScaler": min_max_scaler,
    "MaxAbsScaler": max_abs_scaler,
    "RobustScaler": robust_scaler,
    "Normalizer": normalizer,
}

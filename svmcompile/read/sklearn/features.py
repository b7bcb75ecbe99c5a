"""Preprocessing: a fitted transformer in, the front of an SVM out.

A new transformer is one function and one line in TRANSFORMERS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, combinations, combinations_with_replacement, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import Name, is_nan
from svmcompile.data.text import is_unicode
from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.model import front
from svmcompile.model.front import IDENTITY, Front
from svmcompile.read.sklearn.curves import CURVES
from svmcompile.read.sklearn.encoders import ENCODERS
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.kernel_maps import kernel_pca, nystroem
from svmcompile.read.sklearn.text import VECTORIZERS, tfidf_transformer

Flags = NDArray[np.bool_]
SELECTORS = (
    "VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "SelectFpr", "SelectFdr",
    "SelectFwe", "GenericUnivariateSelect", "RFE", "RFECV", "SequentialFeatureSelector",
)  # fmt: skip
SCALERS = {  # the attribute that is taken off, and what says whether it is, and whether there is a scale
    "StandardScaler": ("mean_", "with_mean", "with_std"),
    "RobustScaler": ("center_", "with_centering", "with_scaling"),
}
MAX_FACTORS = 1 << 22  # of all products of features together
WAY_OUT = "apply it to the rows yourself, and compile the steps behind it, trained on such rows"


def scaler(fitted: Fitted) -> Front:
    """(x - centre) / scale, either part optional; `mean_` is also kept by scalers that do not use it."""
    fitted.require("n_features_in_")
    name, with_centre, with_scale = SCALERS[fitted.role]
    centre = fitted.numbers(name, 1) if fitted.flag(with_centre) else None
    factor = _reciprocal(fitted, fitted.numbers("scale_", 1)) if fitted.flag(with_scale) else None
    if centre is not None:
        return front.scale(centre, np.ones_like(centre) if factor is None else factor)
    return IDENTITY if factor is None else front.scale(np.zeros_like(factor), factor)


def power_transformer(fitted: Fitted) -> Front:
    """Box and Cox's powers, or Yeo and Johnson's, then a scaler if it asks for one."""
    fitted.require("lambdas_")
    method = fitted.get("method")
    if method not in ("box-cox", "yeo-johnson"):
        raise fitted.damaged(f"method is {method!r:.40}, neither box-cox nor yeo-johnson")
    powers = front.box_cox(fitted.numbers("lambdas_", 1), method == "yeo-johnson")
    if not fitted.flag("standardize"):
        return powers
    return powers.then(scaler(Fitted(fitted.get("_scaler"), "StandardScaler", fitted.where)))


def min_max_scaler(fitted: Fitted) -> Front:
    """x * scale + min, as a shift before the factor, then a clip if the scaler asks for one."""
    fitted.require("scale_")
    factor, minimum = fitted.numbers("scale_", 1), fitted.numbers("min_", 1)
    if factor.shape != minimum.shape:
        raise fitted.damaged("scale_ and min_ have different lengths")
    with np.errstate(all="ignore"):  # the check below names the feature
        shift = -minimum / factor
    _refuse_unless_finite(fitted, shift, factor)
    scaling = front.scale(shift, factor)
    return scaling.then(_range(fitted)) if fitted.flag("clip") else scaling


def max_abs_scaler(fitted: Fitted) -> Front:
    """x / scale, then a clip to -1..1 if the scaler asks for one."""
    fitted.require("scale_")
    factor = _reciprocal(fitted, fitted.numbers("scale_", 1))
    scaling = front.scale(np.zeros_like(factor), factor)
    return scaling.then(front.clip(-1.0, 1.0)) if fitted.optional("clip") else scaling


def normalizer(fitted: Fitted) -> Front:
    """x / norm, row by row; scikit-learn takes a norm below ten roundings of one for zero."""
    norm = fitted.get("norm")
    if norm not in ("l1", "l2", "max"):
        raise fitted.damaged(f"norm is {norm!r:.40}, none of l1, l2 and max")
    return front.normalize(norm, 10 * float(np.finfo(np.float64).eps))


def _range(fitted: Fitted) -> Front:
    try:
        low, high = (float(np.asarray(bound).item()) for bound in fitted.get("feature_range"))
    except (TypeError, ValueError):
        raise fitted.damaged("feature_range is not a pair of numbers") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise fitted.damaged(f"feature_range is ({low}, {high})")
    return front.clip(low, high)


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


def pca(fitted: Fitted) -> Front:
    """components (x - mean), divided by the deviations if they are to be whitened."""
    fitted.require("components_")
    weights, mean = fitted.numbers("components_", 2), fitted.numbers("mean_", 1)
    if weights.shape[1:] != mean.shape:
        raise fitted.damaged("components_ and mean_ have different widths")
    if fitted.flag("whiten"):
        deviations = np.sqrt(fitted.numbers("explained_variance_", 1))
        if deviations.shape != weights.shape[:1]:
            raise fitted.damaged("explained_variance_ and components_ have different lengths")
        weights = weights / np.maximum(deviations, np.finfo(np.float64).eps)[:, None]
    return front.project(weights, mean, np.zeros(len(weights)))


def truncated_svd(fitted: Fitted) -> Front:
    """components x."""
    fitted.require("components_")
    weights = fitted.numbers("components_", 2)
    return front.project(weights, np.zeros(weights.shape[1]), np.zeros(len(weights)))


def rbf_sampler(fitted: Fitted) -> Front:
    """sqrt(2 / m) cos(w x + offset), the angles counted in turns."""
    fitted.require("random_weights_")
    weights, offset = fitted.numbers("random_weights_", 2), fitted.numbers("random_offset_", 1)
    if weights.shape[1:] != offset.shape or not offset.size:
        raise fitted.damaged("random_weights_ and random_offset_ have different widths")
    turn = 2 * math.pi
    angles = front.project(np.ascontiguousarray(weights.T) / turn, np.zeros(len(weights)), offset / turn)
    return angles.then(front.cosine(math.sqrt(2.0 / len(offset))))


def polynomial_features(fitted: Fitted) -> Front:
    """All products of features up to a degree, in scikit-learn's order."""
    fitted.require("n_features_in_")
    width, count = fitted.count("n_features_in_"), fitted.count("n_output_features_")
    low, high = _degrees(fitted)
    if count * max(1, high) > MAX_FACTORS:
        raise UnsupportedError(
            f"{fitted.place}: {count} products of up to {high} features are more than the limit of "
            f"{MAX_FACTORS} factors; select features before it"
        )
    products = list(islice(_products(fitted, width, low, high), count + 1))
    if len(products) != count:
        raise fitted.damaged(f"{count} output features are declared, and not as many come out")
    factors = np.full((count, max(1, high)), width, dtype=np.int64)
    for row, product in enumerate(products):
        factors[row, : len(product)] = product
    return front.powers(factors, width)


def _products(fitted: Fitted, width: int, low: int, high: int) -> Iterator[tuple[int, ...]]:
    choose = combinations if fitted.flag("interaction_only") else combinations_with_replacement
    found = chain.from_iterable(choose(range(width), degree) for degree in range(max(1, low), high + 1))
    return chain([()], found) if fitted.flag("include_bias") else found


def _degrees(fitted: Fitted) -> tuple[int, int]:
    """The least and the largest degree of a product."""
    value = fitted.get("degree")
    try:
        low, high = value if isinstance(value, (tuple, list)) else (0, value)
        low, high = int(low), int(high)
    except (TypeError, ValueError):
        raise fitted.damaged(f"degree is {value!r:.40}") from None
    if not 0 <= low <= high:
        raise fitted.damaged(f"degree is {value!r:.40}")
    return low, high


def selector(fitted: Fitted) -> Front:
    """The columns `get_support` names; every selector of scikit-learn has it."""
    fitted.require("n_features_in_")
    width = fitted.count("n_features_in_")
    try:
        support = np.asarray(fitted.get("get_support")(), dtype=bool)
    except Exception as error:  # it may look into an estimator within, and run any code
        raise fitted.damaged(f"get_support fails ({error})") from None
    if support.shape != (width,):
        raise fitted.damaged(f"get_support gives {support.shape}, expected ({width},)")
    return front.pick(np.flatnonzero(support), width)


def simple_imputer(fitted: Fitted) -> Front:
    """A value per feature; features without one are dropped, as scikit-learn does."""
    fitted.require("statistics_")
    nan, marker = _marker(fitted)
    values = _statistics(fitted)
    width = len(values)
    text = np.array([isinstance(one, str) for one in values.tolist()])
    keeps_empty = fitted.optional("keep_empty_features")
    kept = np.arange(width) if keeps_empty else np.flatnonzero([not is_nan(one) for one in values.tolist()])
    own = values[kept]
    filled = front.pick(kept, width).then(
        front.apart(text[kept], lambda some: front.fill(own[some], nan, marker))
    )
    indicator = fitted.optional("indicator_")
    if not fitted.flag("add_indicator") or indicator is None:
        return filled
    marks = _indicated(Fitted(indicator, "MissingIndicator", fitted.where), width, nan, marker, text)
    return front.join([filled, marks], width) if marks else filled


def _statistics(fitted: Fitted) -> NDArray[Any]:
    """What is filled in: numbers, or objects where some are text."""
    found: NDArray[Any] = np.asarray(fitted.get("statistics_"))
    if found.ndim != 1:
        raise fitted.damaged(f"statistics_ has {found.ndim} dimension(s), expected 1")
    values = found.tolist()
    if any(isinstance(one, str) for one in values):
        made: NDArray[Any] = np.empty(len(values), dtype=object)
        made[:] = [Name(one) if isinstance(one, str) else one for one in values]
        if all(isinstance(one, (str, int, float)) for one in values) and all(
            is_unicode(one) for one in values if isinstance(one, str)
        ):
            return made
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError):
        raise UnsupportedError(
            f"{fitted.place}: fills in {values!r:.60}, which are neither all text nor all numbers; "
            "encode such features first"
        ) from None


def missing_indicator(fitted: Fitted) -> Front:
    """1 where a feature is missing. It is no error if the feature never was before."""
    fitted.require("features_")
    width = fitted.count("n_features_in_")
    marks = _indicated(fitted, width, *_marker(fitted), np.full(width, False))
    if not marks:
        raise UnsupportedError(f"{fitted.place}: no feature was missing, so it gives none; leave it out")
    return marks


def _indicated(fitted: Fitted, width: int, nan: bool, marker: Any, text: Flags) -> Front | None:
    columns = fitted.numbers("features_", 1).astype(np.int64)
    if not len(columns):
        return None
    marked = front.apart(text[columns], lambda _: front.missing(nan, marker))
    return front.pick(columns, width).then(marked)


def _marker(fitted: Fitted) -> tuple[bool, Any]:
    """What stands for a missing feature: NaN, a number, or a text or None among texts."""
    value = fitted.get("missing_values")
    if is_nan(value):
        return True, 0.0
    if value is None or (isinstance(value, str) and is_unicode(value)):
        return False, None if value is None else Name(value)
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
        raise UnsupportedError(
            f"{fitted.place}: missing_values={value!r:.40} is no number, text or None; "
            "mark missing features by NaN"
        )
    with np.errstate(over="ignore"):
        same = np.isfinite(value) and float(np.float32(value)) == float(value)
    if not same:
        raise UnsupportedError(
            f"{fitted.place}: missing_values={value!r} is not a float32 number, so float code could not "
            "tell it from its neighbours; mark missing features by NaN"
        )
    return False, float(value)


def function_transformer(fitted: Fitted) -> Front:
    """The one that passes rows on."""
    if fitted.get("func") is not None:
        raise UnsupportedError(
            f"{fitted.place}: runs a Python function, which cannot be compiled; {WAY_OUT}"
        )
    return IDENTITY


TRANSFORMERS: dict[str, Callable[[Fitted], Front]] = {
    "StandardScaler": scaler,
    "MinMaxScaler": min_max_scaler,
    "MaxAbsScaler": max_abs_scaler,
    "RobustScaler": scaler,
    "PowerTransformer": power_transformer,
    "Normalizer": normalizer,
    "PCA": pca,
    "IncrementalPCA": pca,
    "TruncatedSVD": truncated_svd,
    "PolynomialFeatures": polynomial_features,
    "Nystroem": nystroem,
    "KernelPCA": kernel_pca,
    "RBFSampler": rbf_sampler,
    **dict.fromkeys(SELECTORS, selector),
    "SimpleImputer": simple_imputer,
    "MissingIndicator": missing_indicator,
    "FunctionTransformer": function_transformer,
    "TfidfTransformer": tfidf_transformer,
    **ENCODERS,
    **CURVES,
}
# The same, and those that take text.
FRONTS = {**TRANSFORMERS, **VECTORIZERS}

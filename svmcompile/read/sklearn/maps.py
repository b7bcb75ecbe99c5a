"""Feature maps: a fitted projection, polynomial or kernel map in, steps out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, combinations, combinations_with_replacement
from typing import Any

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.model.front import CosineStep, KernelMapStep, PowersStep, ProjectStep, Steps
from svmcompile.read.kernels import make_kernel
from svmcompile.read.limits import check_dense_size
from svmcompile.read.sklearn.fitted import Fitted

KERNELS = {"linear": "linear", "poly": "poly", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}


def pca(fitted: Fitted) -> Steps:
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
    return (ProjectStep(weights, mean, np.zeros(len(weights))),)


def truncated_svd(fitted: Fitted) -> Steps:
    """components x."""
    fitted.require("components_")
    weights = fitted.numbers("components_", 2)
    return (ProjectStep(weights, np.zeros(weights.shape[1]), np.zeros(len(weights))),)


def rbf_sampler(fitted: Fitted) -> Steps:
    """sqrt(2 / m) cos(w x + offset), the angles counted in turns."""
    fitted.require("random_weights_")
    weights, offset = fitted.numbers("random_weights_", 2), fitted.numbers("random_offset_", 1)
    if weights.shape[1:] != offset.shape or not offset.size:
        raise fitted.damaged("random_weights_ and random_offset_ have different widths")
    turn = 2 * math.pi
    angles = ProjectStep(np.ascontiguousarray(weights.T) / turn, np.zeros(len(weights)), offset / turn)
    return (angles, CosineStep(math.sqrt(2.0 / len(offset))))


def nystroem(fitted: Fitted) -> Steps:
    """Kernel values with some rows, times a matrix."""
    fitted.require("components_")
    vectors, weights = fitted.numbers("components_", 2), fitted.numbers("normalization_", 2)
    return (KernelMapStep(vectors, weights, _nystroem_kernel(fitted, vectors)),)


def _nystroem_kernel(fitted: Fitted, vectors: Array) -> Kernel:
    name = fitted.get("kernel")
    if not isinstance(name, str) or name not in KERNELS:
        raise UnsupportedError(
            f"{fitted.place}: kernel {name!r:.60} cannot be compiled; fit it with {', '.join(KERNELS)}"
        )
    degree = _parameter(fitted, "degree", 3.0)
    if not degree.is_integer():
        raise UnsupportedError(
            f"{fitted.place}: degree {degree} is not a whole number; fit it with one that is"
        )
    gamma = _parameter(fitted, "gamma", 1.0 / max(1, vectors.shape[1]))
    coef0 = _parameter(fitted, "coef0", 1.0)
    return make_kernel(KERNELS[name], gamma, coef0, int(degree), fitted.place)


def _parameter(fitted: Fitted, name: str, default: float) -> float:
    """The attribute, else what `kernel_params` says, else scikit-learn's default."""
    if fitted.get(name) is not None:
        return fitted.number(name)
    given: Any = fitted.optional("kernel_params") or {}
    value = given.get(name) if isinstance(given, dict) else None
    if value is None:
        return default
    try:
        return float(value)
    except (TypeError, ValueError):
        raise fitted.damaged(f"kernel_params has {name}={value!r:.40}") from None


def polynomial_features(fitted: Fitted) -> Steps:
    """All products of features up to a degree, in scikit-learn's order."""
    fitted.require("n_features_in_")
    width, count = fitted.count("n_features_in_"), fitted.count("n_output_features_")
    low, high = _degrees(fitted)
    check_dense_size(max(1, high), count, fitted.place)
    products = list(_products(fitted, width, low, high))
    if len(products) != count:
        raise fitted.damaged(f"{count} output features are announced, {len(products)} come out")
    factors = np.full((count, max(1, high)), width, dtype=np.int64)
    for row, product in enumerate(products):
        factors[row, : len(product)] = product
    return (PowersStep(factors, width),)


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


MAPS: dict[str, Callable[[Fitted], Steps]] = {
    "PCA": pca,
    "IncrementalPCA": pca,
    "TruncatedSVD": truncated_svd,
    "PolynomialFeatures": polynomial_features,
    "Nystroem": nystroem,
    "RBFSampler": rbf_sampler,
}

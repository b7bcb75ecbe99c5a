"""Kernels by scikit-learn's names, or by the function of `sklearn.metrics.pairwise` that a model holds.

Such a function is told by its identity, and never called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.model.front import IDENTITY, Front, normalize
from svmcompile.read.kernels import falling_kernel, make_kernel
from svmcompile.read.sklearn.fitted import Fitted

NAMES = {
    "linear": "linear", "poly": "poly", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid",
    "laplacian": "laplacian", "chi2": "chi2", "additive_chi2": "additive-chi2", "cosine": "cosine",
}  # fmt: skip
FUNCTIONS = {  # of sklearn.metrics.pairwise
    "linear_kernel": "linear", "polynomial_kernel": "poly", "rbf_kernel": "rbf",
    "sigmoid_kernel": "sigmoid", "laplacian_kernel": "laplacian", "chi2_kernel": "chi2",
    "additive_chi2_kernel": "additive_chi2", "cosine_similarity": "cosine",
}  # fmt: skip
SETTINGS = ("gamma", "coef0", "degree")
LEAST_NORM = 10 * float(np.finfo(np.float64).eps)  # rows that are shorter stay as they are


class Seen(NamedTuple):
    """A kernel, and what rows and vectors go through before it sees them."""

    kernel: Kernel
    front: Front = IDENTITY


def named_kernel(fitted: Fitted, name: object, setting: Callable[[str, float], float], width: int) -> Seen:
    """The kernel of a name; `setting` gives a parameter, or the default where there is none."""
    if not isinstance(name, str) or name not in NAMES:
        raise UnsupportedError(
            f"{fitted.place}: kernel {name!r:.60} cannot be compiled; fit it with {', '.join(NAMES)}"
        )
    kind = NAMES[name]
    if kind == "cosine":
        return Seen(Kernel("linear"), normalize("l2", LEAST_NORM))
    if kind == "additive-chi2":
        return Seen(Kernel("additive-chi2"))
    gamma = setting("gamma", 1.0 if kind == "chi2" else 1.0 / max(1, width))
    if kind in ("laplacian", "chi2"):
        return Seen(falling_kernel("laplacian" if kind == "laplacian" else "chi2", gamma, fitted.place))
    degree = setting("degree", 3.0) if kind == "poly" else 1.0
    if not degree.is_integer():
        raise UnsupportedError(
            f"{fitted.place}: degree {degree} is not a whole number; fit it with one that is"
        )
    return Seen(make_kernel(kind, gamma, setting("coef0", 1.0), int(degree), fitted.place))


def attribute_or_parameter(fitted: Fitted) -> Callable[[str, float], float]:
    """Settings from attributes, else from `kernel_params`, else scikit-learn's default."""

    def setting(name: str, default: float) -> float:
        if fitted.get(name) is not None:
            return fitted.number(name)
        given: Any = fitted.optional("kernel_params") or {}
        return _number(fitted, given, name, default)

    return setting


def recognised(fitted: Fitted, function: object, width: int) -> Seen | None:
    """The kernel that a function of scikit-learn computes, perhaps with settings of its own."""
    from sklearn.metrics import pairwise

    given: dict[str, Any] = {}
    if isinstance(function, partial) and not function.args:
        given = dict(function.keywords)
        function = function.func
    name = next((name for known, name in FUNCTIONS.items() if function is getattr(pairwise, known)), None)
    if name is None or not set(given) <= set(SETTINGS):
        return None
    return named_kernel(fitted, name, lambda key, default: _number(fitted, given, key, default), width)


def _number(fitted: Fitted, given: Any, name: str, default: float) -> float:
    value = given.get(name) if isinstance(given, Mapping) else None
    if value is None:
        return default
    try:
        return float(value)
    except (TypeError, ValueError):
        raise fitted.damaged(f"the kernel has {name}={value!r:.40}") from None


def seen_vectors(seen: Seen, vectors: Array) -> Array:
    """Vectors as the kernel sees them."""
    return seen.front.run(vectors) if len(vectors) else vectors

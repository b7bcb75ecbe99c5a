"""Gaussian processes: their kernels as sums of ours, and what they tell of a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.model.front import IDENTITY, scale
from svmcompile.model.svm import SVM, Deviation, LabelRule, Link
from svmcompile.read.kernels import UNKNOWN, make_kernel
from svmcompile.read.sklearn.fitted import Fitted, role

GAUSSIAN_CLASSIFIER = "_BinaryGaussianProcessClassifierLaplace"  # which a GaussianProcessClassifier holds
MAX_DEPTH, MAX_TERMS = 16, 16  # of kernels within kernels, and of their sum
MAX_SPREAD = 2048  # training rows up to which the variance is kept: it takes the square of them
MATERN = {
    0.5: (0, 1.0),
    1.5: (1, math.sqrt(3)),
    2.5: (2, math.sqrt(5)),
}  # nu: degree, what a distance is times
STATIONARY = ("rbf", "matern", "rational")


class Term(NamedTuple):
    """factor * kernel(scales * x, scales * s); without a kernel a constant, or noise of each row."""

    factor: float
    kernel: Kernel | None = None
    scales: tuple[float, ...] = ()
    noise: bool = False

    @property
    def is_stationary(self) -> bool:
        """Whether its value for a row and itself is its factor."""
        return self.kernel is None or self.kernel.kind in STATIONARY


def terms_of(kernel: object, where: str, depth: int = MAX_DEPTH) -> list[Term]:
    """The kernel as a sum."""
    found = role(kernel, KERNELS)
    if found is None or depth == 0:
        raise UnsupportedError(
            f"{where}: the kernel {type(kernel).__name__} cannot be compiled, or is nested too deep; "
            f"kernels that can: {', '.join(KERNELS)}"
        )
    terms = KERNELS[found](Fitted(kernel, found, where), depth - 1)
    if len(terms) > MAX_TERMS:
        raise UnsupportedError(f"{where}: the kernel is a sum of more than {MAX_TERMS} kernels")
    if not all(0 <= term.factor < math.inf for term in terms):
        raise ReadError(f"{where}: a factor of the kernel is not a number from zero on; fit it again")
    return terms


def _lengths(fitted: Fitted) -> tuple[float, tuple[float, ...]]:
    """One over the length scale: a number, or one for each feature."""
    lengths = fitted.numbers("length_scale", 0, 1).ravel()
    if not lengths.size or not ((lengths > 0) & np.isfinite(lengths)).all():
        raise fitted.damaged("length_scale is not above zero")
    if lengths.size == 1:
        return 1.0 / float(lengths[0]), ()
    return 1.0, tuple((1.0 / lengths).tolist())


def _rbf(fitted: Fitted, depth: int) -> list[Term]:
    rate, scales = _lengths(fitted)
    return [Term(1.0, make_kernel("rbf", 0.5 * rate**2, 0.0, 1, fitted.place), scales)]


def _matern(fitted: Fitted, depth: int) -> list[Term]:
    nu = fitted.number("nu")
    if nu == math.inf:
        return _rbf(fitted, depth)
    if nu not in MATERN:
        raise UnsupportedError(
            f"{fitted.place}: nu={nu} cannot be compiled; fit it with nu=0.5, 1.5, 2.5 or infinity"
        )
    degree, factor = MATERN[nu]
    rate, scales = _lengths(fitted)
    return [Term(1.0, Kernel("matern", gamma=factor * rate, degree=degree), scales)]


def _rational(fitted: Fitted, depth: int) -> list[Term]:
    rate, _ = _lengths(fitted)
    alpha = fitted.number("alpha")
    if not 0 < alpha < math.inf:
        raise fitted.damaged(f"alpha is {alpha}")
    return [Term(1.0, Kernel("rational", gamma=rate**2 / (2 * alpha), coef0=alpha))]


def _dots(fitted: Fitted, depth: int) -> list[Term]:
    return [Term(1.0, make_kernel("poly", 1.0, fitted.number("sigma_0") ** 2, 1, fitted.place))]


def _constant(fitted: Fitted, depth: int) -> list[Term]:
    return [Term(fitted.number("constant_value"))]


def _noise(fitted: Fitted, depth: int) -> list[Term]:
    return [Term(fitted.number("noise_level"), noise=True)]


def _sum(fitted: Fitted, depth: int) -> list[Term]:
    return [term for side in ("k1", "k2") for term in terms_of(fitted.get(side), fitted.where, depth)]


def _product(fitted: Fitted, depth: int) -> list[Term]:
    left, right = (terms_of(fitted.get(side), fitted.where, depth) for side in ("k1", "k2"))
    return [_times(one, other, fitted.place) for one in left for other in right]


def _times(one: Term, other: Term, place: str) -> Term:
    """The product of two terms, where it is one again."""
    factor = one.factor * other.factor
    if one.noise or other.noise:
        if one.is_stationary and other.is_stationary:
            return Term(factor, noise=True)
    elif one.kernel is None or other.kernel is None:
        rest = other if one.kernel is None else one
        return rest._replace(factor=factor)
    elif one.kernel.kind == other.kernel.kind == "rbf":
        rates = [
            2 * term.kernel.gamma * np.square(term.scales or 1.0) for term in (one, other) if term.kernel
        ]
        total = rates[0] + rates[1]
        if total.ndim == 0:
            return Term(factor, Kernel("rbf", gamma=0.5 * float(total)))
        return Term(factor, Kernel("rbf", gamma=0.5), tuple(np.sqrt(total).tolist()))
    elif one.kernel.kind == other.kernel.kind == "poly" and one.kernel.coef0 == other.kernel.coef0:
        return Term(factor, replace(one.kernel, degree=one.kernel.degree + other.kernel.degree))
    names = [term.kernel.kind if term.kernel else "white noise" for term in (one, other)]
    raise UnsupportedError(
        f"{place}: the product of the kernels {names[0]} and {names[1]} is no sum of kernels and cannot be "
        "compiled; products with constants can, and sums of kernels"
    )


def _power(fitted: Fitted, depth: int) -> list[Term]:
    terms, exponent = terms_of(fitted.get("kernel"), fitted.where, depth), fitted.number("exponent")
    if len(terms) != 1 or not exponent.is_integer() or not 1 <= exponent <= MAX_TERMS:
        raise UnsupportedError(
            f"{fitted.place}: the power {exponent:g} of such a kernel cannot be compiled; whole powers of "
            "a single DotProduct, RBF or ConstantKernel can"
        )
    found = terms[0]
    for _ in range(int(exponent) - 1):
        found = _times(found, terms[0], fitted.place)
    return [found]


KERNELS: dict[str, Callable[[Fitted, int], list[Term]]] = {
    "RBF": _rbf,
    "Matern": _matern,
    "RationalQuadratic": _rational,
    "DotProduct": _dots,
    "ConstantKernel": _constant,
    "WhiteKernel": _noise,
    "Sum": _sum,
    "Product": _product,
    "Exponentiation": _power,
}


class Process(NamedTuple):
    """Kernel and training rows of a Gaussian process."""

    terms: list[Term]
    rows: Array

    @classmethod
    def of(cls, fitted: Fitted) -> Process:
        rows = fitted.numbers("X_train_", 2)
        terms = terms_of(fitted.get("kernel_"), fitted.place)
        for term in terms:
            if len(term.scales) not in (0, rows.shape[1]):
                raise fitted.damaged(f"{len(term.scales)} length scales for {rows.shape[1]} features")
        return cls(terms, rows)

    @property
    def prior(self) -> float | None:
        """The variance before anything is known, where it is the same for all rows."""
        if not all(term.is_stationary for term in self.terms):
            return None
        return float(sum(term.factor for term in self.terms))

    @property
    def kernels(self) -> list[Term]:
        """The terms that have a kernel; those alike are one."""
        found: dict[tuple[Kernel, tuple[float, ...]], float] = {}
        for term in self.terms:
            if term.kernel:
                key = (term.kernel, term.scales)
                found[key] = found.get(key, 0.0) + term.factor
        known = [Term(factor, *key) for key, factor in found.items()]
        return known or [Term(0.0, Kernel("linear"))]  # a constant alone

    @property
    def constant(self) -> float:
        return float(sum(term.factor for term in self.terms if term.kernel is None and not term.noise))

    def machine(self, weights: Array, bias: Array, rule: LabelRule, **known: Any) -> SVM:
        """sum_i weights[j, i] k(x, rows[i]) + bias[j], as one machine or a sum of several."""
        given = bias + self.constant * weights.sum(axis=1)
        made = [self._machine(term, weights, given * (at == 0)) for at, term in enumerate(self.kernels)]
        if len(made) == 1:
            return replace(made[0], label_rule=rule, **known)
        none: Any = {"vectors": self.rows[:0], "coefficients": np.zeros((len(bias), 0)), "front": IDENTITY}
        return replace(
            made[0], intercepts=np.zeros(len(bias)), parts=tuple(made), adds_parts=True, label_rule=rule,
            **none, **known,
        )  # fmt: skip

    def _machine(self, term: Term, weights: Array, bias: Array) -> SVM:
        assert term.kernel
        vectors, front = self.rows, IDENTITY
        if term.scales:
            factors = np.array(term.scales)
            vectors, front = self.rows * factors, scale(np.zeros_like(factors), factors)
        return SVM(term.kernel, vectors, term.factor * weights, bias, LabelRule.NONE, UNKNOWN, front=front)

    def deviation(self, weights: Array, size: float = 1.0) -> Deviation | None:
        """What the training rows tell: |weights k(x)|^2, in units of a size."""
        if self.prior is None or len(self.rows) > MAX_SPREAD or not np.isfinite(weights).all():
            return None
        weights = size * weights
        each = tuple(term.factor * weights for term in self.kernels)
        return Deviation(size**2 * self.prior, each, self.constant * weights.sum(axis=1))


def _triangle(fitted: Fitted, n: int) -> Array:
    """The inverse of the lower triangle L_."""
    from scipy.linalg import solve_triangular

    lower = fitted.numbers("L_", 2)
    if lower.shape != (n, n) or not np.isfinite(lower).all() or not (np.diag(lower) > 0).all():
        raise fitted.damaged(f"L_ is not a triangle of {n} rows with a diagonal above zero")
    return np.asarray(solve_triangular(lower, np.eye(n), lower=True))


def read_gaussian_regressor(fitted: Fitted) -> SVM:
    """GaussianProcessRegressor: the mean, and the standard deviation where the kernel is stationary."""
    fitted.require("X_train_")
    process = Process.of(fitted)
    n, alpha = len(process.rows), fitted.numbers("alpha_", 1, 2)
    alpha = alpha[:, np.newaxis] if alpha.ndim == 1 else alpha
    sizes, means = (fitted.numbers(name, 0, 1).ravel() for name in ("_y_train_std", "_y_train_mean"))
    count = alpha.shape[1]
    if alpha.shape[0] != n or not {sizes.size, means.size} <= {1, count}:
        raise fitted.damaged(f"alpha_, _y_train_std or _y_train_mean do not fit {n} training rows")
    sizes, means = np.broadcast_to(sizes, count), np.broadcast_to(means, count)
    alone = n <= MAX_SPREAD and count == 1
    deviation = process.deviation(_triangle(fitted, n), float(sizes[0])) if alone else None
    notes = () if deviation else (_no_deviation(process, count),)
    weights = sizes[:, np.newaxis] * alpha.T
    return process.machine(weights, means, LabelRule.NONE, deviation=deviation, notes=notes)


def _no_deviation(process: Process, count: int = 1) -> str:
    if count > 1:
        return "standard deviations are left out: there are several values"
    if process.prior is None:
        return "the standard deviation is left out: the kernel is not stationary"
    return f"the standard deviation is left out: there are more than {MAX_SPREAD} training rows"


def read_gaussian_classifier(fitted: Fitted) -> SVM:
    """The two-class machine of GaussianProcessClassifier, by Laplace's approximation."""
    fitted.require("X_train_")
    process, labels = Process.of(fitted), fitted.labels()
    n = len(process.rows)
    truth, chances, roots = (fitted.numbers(name, 1) for name in ("y_train_", "pi_", "W_sr_"))
    if len(labels) != 2 or not all(one.shape == (n,) for one in (truth, chances, roots)):
        raise fitted.damaged(f"y_train_, pi_ and W_sr_ do not fit {n} training rows of two classes")
    deviation = process.deviation(_triangle(fitted, n) * roots) if n <= MAX_SPREAD else None
    known: dict[str, Any] = {"labels": labels, "deviation": deviation}
    if deviation:
        known["link"] = Link.GAUSSIAN
    else:
        known["notes"] = (_no_deviation(process).replace("the standard deviation is", "probabilities are"),)
    weights = (truth - chances)[np.newaxis]
    return process.machine(weights, np.zeros(1), LabelRule.POSITIVE_SECOND, **known)

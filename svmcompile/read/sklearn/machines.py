"""scikit-learn's SVMs: a fitted estimator in, an SVM out. MACHINES has all estimators that are machines.

Label rules. With two classes scikit-learn shows LIBSVM's value with the sign
turned, and LIBSVM gives the first class only for a value above zero: so below
zero is the first class and exactly zero the second. With more classes the
pairs keep LIBSVM's sign, and its vote.

`platt` holds LIBSVM's probA and probB as they are: they expect LIBSVM's sign,
which for two classes is the opposite of the score's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.data.sparse import is_sparse
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.kernels import MAX_FEATURES, UNKNOWN, WAY_OUT, make_kernel
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.gaussian import (
    GAUSSIAN_CLASSIFIER,
    read_gaussian_classifier,
    read_gaussian_regressor,
)
from svmcompile.read.sklearn.linear import LINEAR_MACHINES
from svmcompile.read.sklearn.pairwise import (
    FUNCTIONS,
    Seen,
    attribute_or_parameter,
    named_kernel,
    recognised,
    seen_vectors,
)

OF_LIBSVM = (
    "support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_", "_probA", "_probB",
    "class_weight_",
)  # fmt: skip


def read_classifier(fitted: Fitted) -> SVM:
    """SVC and NuSVC."""
    fitted.require("support_vectors_")
    labels = fitted.labels()
    shape, break_ties = _shape(fitted), fitted.flag("break_ties")
    if break_ties and shape == "ovo":
        raise UnsupportedError(
            f"{fitted.place}: break_ties needs decision_function_shape='ovr', and predict fails "
            "with 'ovo'; set break_ties=False or decision_function_shape='ovr'"
        )
    platt = _platt(fitted, len(labels))
    if len(labels) == 2:
        svm = _machine(fitted, LabelRule.NEGATIVE_FIRST, labels, sign=-1)
        return replace(svm, platt=platt)
    svm = _machine(fitted, LabelRule.ARGMAX if break_ties else LabelRule.VOTE, labels)
    counts = _counts(fitted, len(labels))
    return replace(svm, counts=counts, one_vs_rest_scores=shape == "ovr", platt=platt)


def read_regressor(fitted: Fitted) -> SVM:
    """SVR and NuSVR."""
    return _single(fitted, LabelRule.NONE, None)


def read_one_class(fitted: Fitted) -> SVM:
    """OneClassSVM: above zero is an inlier."""
    labels = Labels((-1, 1), np.dtype(np.intp).str)
    svm = _single(fitted, LabelRule.POSITIVE_SECOND, labels)
    return replace(svm, sample_offset=-float(svm.intercepts[0]))


def _single(fitted: Fitted, rule: LabelRule, labels: Labels | None) -> SVM:
    fitted.require("support_vectors_")
    svm = _machine(fitted, rule, labels)
    if svm.n_sums != 1:
        raise fitted.damaged(f"intercept_ has {svm.n_sums} values, expected 1")
    return svm


def _training_points(fitted: Fitted, kernel: Kernel) -> int:
    """How many points a precomputed kernel was trained with; 0 for other kernels."""
    if kernel.kind != "precomputed":
        return 0
    count = fitted.number("n_features_in_")
    if not (1 <= count <= MAX_FEATURES and count.is_integer()):
        raise fitted.damaged(f"n_features_in_ is {count}")
    return int(count)


def _machine(fitted: Fitted, rule: LabelRule, labels: Labels | None, sign: int = 1) -> SVM:
    """Kernel, vectors, coefficients and intercepts, from the public attributes."""
    (kernel, front), vectors = _kernel_and_vectors(fitted)
    coefficients = fitted.numbers("dual_coef_", 2)
    intercepts = fitted.numbers("intercept_", 1)
    _check_private(fitted, "dual_coef_", sign * coefficients)
    _check_private(fitted, "intercept_", sign * intercepts)
    _check_lengths(fitted, coefficients.shape[1])
    points = _training_points(fitted, kernel)
    given: Any = {"front": front, "training_points": points}
    return SVM(kernel, vectors, coefficients, intercepts, rule, UNKNOWN, labels, **given)


def _check_lengths(fitted: Fitted, count: int) -> None:
    """LIBSVM, where it runs the original, reads these arrays without a look at how long they are."""
    own = vars(fitted.estimator)
    for name in OF_LIBSVM:
        if own.get(name, name) is None:
            raise fitted.damaged(f"{name} is None")
    dual: Any = own.get("_dual_coef_")
    kept = own.get("support_vectors_")
    if "support_" in own and fitted.numbers("support_", 1).shape != (count,):
        raise fitted.damaged(f"support_ does not number {count} vectors")
    if getattr(kept, "size", 0) and getattr(kept, "shape", (0,))[0] != count:
        raise fitted.damaged(f"support_vectors_ does not hold {count} vectors")
    if is_sparse(dual) and dual.nnz != dual.shape[0] * dual.shape[1]:
        raise fitted.damaged("_dual_coef_ leaves zeros out")
    if "_n_support" in own and fitted.role in ("SVC", "NuSVC"):
        if sum(_counts(fitted, len(fitted.labels()))) != count:
            raise fitted.damaged(f"n_support_ does not count {count} vectors")
    elif "_n_support" in own and len(fitted.numbers("_n_support", 1)) != 2:
        raise fitted.damaged("_n_support does not hold two numbers")  # LIBSVM takes as many classes
    if "_impl" in own and own["_impl"] != getattr(type(fitted.estimator), "_impl", None):
        raise fitted.damaged(f"_impl is {own['_impl']!r:.40}, which is not what a {fitted.role} is")


def _kernel_and_vectors(fitted: Fitted) -> tuple[Seen, Array]:
    """The kernel, and the support vectors as it sees them."""
    if not callable(fitted.get("kernel")):
        kernel = _kernel(fitted)
        if kernel.kind == "precomputed":
            return Seen(kernel), fitted.numbers("support_", 1).reshape(-1, 1)
        return Seen(kernel), fitted.vectors("support_vectors_")
    rows = fitted.numbers("_BaseLibSVM__Xfit", 2)
    seen = recognised(fitted, fitted.get("kernel"), rows.shape[1])
    if seen is None:
        raise UnsupportedError(
            f"{fitted.place}: the kernel is a Python function, which cannot be compiled, unless it is one "
            f"of sklearn.metrics.pairwise ({', '.join(FUNCTIONS)}); {WAY_OUT}, "
            "or with precomputed and write the kernel in C"
        )
    places = fitted.numbers("support_", 1)
    if not ((places >= 0) & (places < len(rows))).all():
        raise fitted.damaged(f"support_ does not hold numbers of {len(rows)} rows")
    return seen, seen_vectors(seen, rows[places.astype(np.int64)])


def _check_private(fitted: Fitted, name: str, expected: Array) -> None:
    """predict uses private copies in LIBSVM's sign; a public attribute edited by hand is not the model."""
    if fitted.optional(f"_{name}") is None:
        return
    private = fitted.numbers(f"_{name}", expected.ndim)
    if not np.array_equal(private, expected, equal_nan=True):
        raise ReadError(
            f"{fitted.place}: {name} was changed after fit, which scikit-learn's predict ignores; "
            "restore it or fit again"
        )


def _kernel(fitted: Fitted) -> Kernel:
    kind = fitted.get("kernel")
    if not isinstance(kind, str):
        raise fitted.damaged(f"kernel is a {type(kind).__name__}")
    if kind == "precomputed":
        return Kernel("precomputed")
    name = "gamma" if fitted.optional("_gamma") is None else "_gamma"
    degree = fitted.number("degree") if kind == "poly" else 1.0
    if not degree.is_integer():
        raise fitted.damaged(f"degree is {degree}, not a whole number")
    gamma = fitted.number(name) if kind != "linear" else 1.0
    coef0 = fitted.number("coef0") if kind in ("poly", "sigmoid") else 0.0
    return make_kernel(kind, gamma, coef0, int(degree), fitted.place)


def _shape(fitted: Fitted) -> str:
    shape = fitted.get("decision_function_shape")
    if not isinstance(shape, str) or shape not in ("ovr", "ovo"):
        raise fitted.damaged(f"decision_function_shape is {shape!r:.40}")
    return shape


def _counts(fitted: Fitted, n_classes: int) -> tuple[int, ...]:
    """Support vectors per class; a class may have none."""
    counts = fitted.numbers("n_support_", 1)
    whole = np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))
    if counts.shape != (n_classes,) or not whole.all():
        raise fitted.damaged(f"n_support_ does not count the vectors of {n_classes} classes")
    return tuple(int(count) for count in counts)


def _platt(fitted: Fitted, n_classes: int) -> tuple[Array, Array] | None:
    """Parameters of the probabilities, if the model was trained with them."""
    # The public names are deprecated and warn, so the private ones come first.
    for a, b in (("_probA", "_probB"), ("probA_", "probB_")):
        if fitted.optional(a) is not None and fitted.optional(b) is not None:
            break
    else:
        return None
    first, second = fitted.numbers(a, 1), fitted.numbers(b, 1)
    if not first.size and not second.size:  # trained without probabilities
        return None
    pairs = n_classes * (n_classes - 1) // 2
    if first.shape != (pairs,) or second.shape != (pairs,) or not np.isfinite([first, second]).all():
        raise fitted.damaged(f"{a} and {b} do not hold one number for each of {pairs} pairs of classes")
    return first, second


def read_kernel_ridge(fitted: Fitted) -> SVM:
    """KernelRidge: every training row is a support vector."""
    fitted.require("dual_coef_")
    rows, weights = fitted.numbers("X_fit_", 2), fitted.numbers("dual_coef_", 1, 2)
    coefficients = weights[np.newaxis] if weights.ndim == 1 else np.ascontiguousarray(weights.T)
    name, points = fitted.get("kernel"), 0
    if isinstance(name, str) and name == "precomputed":
        seen, vectors = Seen(Kernel("precomputed")), np.arange(len(rows), dtype=np.float64)[:, np.newaxis]
        points = len(rows)
    else:
        seen = named_kernel(fitted, name, attribute_or_parameter(fitted), rows.shape[1])
        vectors = seen_vectors(seen, rows)
    given: Any = {"front": seen.front, "training_points": points}
    none = np.zeros(len(coefficients))
    return SVM(seen.kernel, vectors, coefficients, none, LabelRule.NONE, UNKNOWN, **given)


MACHINES: dict[str, Callable[[Fitted], SVM]] = {
    "SVC": read_classifier,
    "NuSVC": read_classifier,
    "SVR": read_regressor,
    "NuSVR": read_regressor,
    "OneClassSVM": read_one_class,
    "KernelRidge": read_kernel_ridge,
    "GaussianProcessRegressor": read_gaussian_regressor,
    **LINEAR_MACHINES,
}
# With those that only other estimators hold.
READABLE = {**MACHINES, GAUSSIAN_CLASSIFIER: read_gaussian_classifier}

"""The classifier of a leaf: its rows and the SVM's parameters enter, a constant or a small SVM leaves.

Classes are numbers, ascending; a leaf knows only those of its own rows (section 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import BLOCK_VALUES, fit_anyway, in_blocks
from svmcompile.data.sparse import is_sparse
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices
from svmcompile.ir.kinds import LeafRule as LeafRule
from svmcompile.ir.pairs import pair_indices, pair_sums

# "sum": two classes in all, one score, above zero is the second. "vote" (1A1): one sum per pair of the
# leaf's classes, above zero counts for the first. "ovr" (1AO): one sum per class, the largest wins.
ITERATIONS_PER_ROW = 100
LEAST_ITERATIONS = 100_000
CACHE_MB = 200


@dataclass(frozen=True, slots=True)
class Theta:
    """What all leaves share: the kernel, C, and weights of the classes where they are not all 1."""

    kernel: Kernel
    C: float
    class_weights: tuple[float, ...] = ()

    def text(self) -> str:
        return f"C={self.C:g} {self.kernel.text()}"


@dataclass(frozen=True, eq=False, slots=True)
class Leaf:
    """Kernel sums over the leaf's own vectors. One class: no vectors, a constant."""

    classes: Indices  # [k], ascending
    size: int  # rows it was trained with
    vectors: Any  # [n, d], grouped by class: an array, or compressed rows
    weights: Array  # sum: [1, n]; vote: [k - 1, n], as LIBSVM has them; ovr: [k, n]
    bias: Array  # sum: [1]; vote: [k (k - 1) / 2]; ovr: [k], none for one class
    counts: tuple[int, ...]  # vectors per class
    converged: bool = True
    risk: float = 0.0  # its share of the error bound, where the task asks for it

    @property
    def is_pure(self) -> bool:
        return len(self.classes) == 1

    @property
    def unique_vectors(self) -> int:
        """Kernel values a row costs, which the problems of a leaf share."""
        return len(self.vectors)

    @property
    def summed_vectors(self) -> int:
        """A vector counts for every problem it serves."""
        return int(np.count_nonzero(self.weights))

    @property
    def stored_vectors(self) -> int:
        """The paper's count, most likely: coefficients as LIBSVM stores them.

        Pairs of k classes share one model, which has k - 1 coefficients for every vector, zeros included.
        One class against the others is a model of its own.
        """
        return self.weights.size if len(self.weights) == len(self.classes) - 1 else self.summed_vectors


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """All it takes to train one leaf, wherever that happens.

    It has no weak references, so that a cluster sends it along with the work instead of leaving it in the
    memory of one worker.
    """

    X: Any  # an array, or compressed rows
    y: Indices
    theta: Theta
    rule: LeafRule
    max_iter: int = 0  # 0: ITERATIONS_PER_ROW times the rows
    sample_weight: Array | None = None
    judged: bool = False  # the leaf's `risk` is wanted


def fit(task: Task, gram: Array | None = None) -> Leaf:
    """The leaf's classifier; kernel values of its rows may be given, where several tasks share them."""
    classes, y = np.unique(task.y, return_inverse=True)
    if len(classes) == 1:
        return constant(int(classes[0]), len(task.X), task.X.shape[1], task.rule)
    machine = _fit_others if task.rule == "ovr" and len(classes) > 2 else _fit_pairs
    return machine(task, classes, y, gram)


def constant(label: int, size: int, n_features: int, rule: LeafRule) -> Leaf:
    """A leaf of one class."""
    bias = np.array([1.0 if label else -1.0]) if rule == "sum" else np.zeros(0)
    none = np.zeros((0, n_features))
    return Leaf(np.array([label], np.intp), size, none, np.zeros((len(bias), 0)), bias, (0,))


def _fit_pairs(task: Task, classes: Indices, y: Indices, gram: Array | None) -> Leaf:
    """LIBSVM's own pairs; scikit-learn turns the sign of a single pair towards the second class."""
    model = _svc(task, classes, y, gram)
    weights, bias = _coefficients(model), np.asarray(model.intercept_)
    if len(classes) == 2 and task.rule == "vote":
        weights, bias = -weights, -bias
    elif len(classes) == 2 and task.rule == "ovr":  # the second problem mirrors the first
        weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
    return Leaf(
        classes.astype(np.intp),
        len(y),
        task.X[model.support_].astype(np.float64),
        weights,
        bias,
        tuple(int(count) for count in model.n_support_),
        not model.fit_status_,
    )


def _fit_others(task: Task, classes: Indices, y: Indices, gram: Array | None) -> Leaf:
    """One class against the others, for each."""
    models = [_svc(task, classes[[label]], y == label, gram) for label in range(len(classes))]
    weights = np.zeros((len(classes), len(y)))
    for row, model in zip(weights, models, strict=True):
        row[model.support_] = _coefficients(model)[0]
    support = np.argsort(y, kind="stable")
    support = support[weights[:, support].any(axis=0)]
    return Leaf(
        classes.astype(np.intp),
        len(y),
        task.X[support].astype(np.float64),
        weights[:, support],
        np.array([model.intercept_[0] for model in models]),
        tuple(np.bincount(y[support], minlength=len(classes)).tolist()),
        not any(model.fit_status_ for model in models),
    )


def _coefficients(model: Any) -> Array:
    """Of a model of compressed rows they are compressed, too."""
    found = model.dual_coef_
    return np.asarray(found.toarray() if is_sparse(found) else found)


def _svc(task: Task, classes: Indices, y: NDArray[Any], gram: Array | None) -> Any:
    """LIBSVM on the leaf's rows; it stops in the end even where it does not converge."""
    from scipy.sparse import csr_matrix
    from sklearn.svm import SVC

    kernel, given = task.theta.kernel, task.theta.class_weights
    per_class = {i: given[label] for i, label in enumerate(classes)} if given and len(classes) > 1 else None
    model = SVC(
        C=task.theta.C,
        kernel=kernel.kind if gram is None else "precomputed",
        gamma=kernel.gamma,
        coef0=kernel.coef0,
        degree=kernel.degree,
        class_weight=per_class,
        cache_size=CACHE_MB,
        max_iter=task.max_iter or max(LEAST_ITERATIONS, ITERATIONS_PER_ROW * len(y)),
    )
    rows = csr_matrix(task.X) if is_sparse(task.X) else task.X
    return fit_anyway(model, rows if gram is None else gram, y, sample_weight=task.sample_weight)


def sums(leaf: Leaf, kernel: Kernel, rows: Any) -> Array:
    """The leaf's sums for rows: [n, 1], one per pair, or one per class."""
    step = max(1, BLOCK_VALUES // max(1, len(leaf.vectors)))
    return in_blocks(lambda block: _sums_block(leaf, kernel, block), rows, step) + leaf.bias


def _sums_block(leaf: Leaf, kernel: Kernel, rows: Any) -> Array:
    if not len(leaf.vectors):
        return np.zeros((len(rows), len(leaf.bias)))
    values = kernel.values(rows.astype(np.float64, copy=False), leaf.vectors)
    if len(leaf.weights) == len(leaf.classes) - 1:
        return np.asarray(pair_sums(values, leaf.weights.T, leaf.counts))
    return np.asarray(values @ leaf.weights.T)


def classes_of(leaf: Leaf, rule: LeafRule, found: Array) -> Indices:
    """The class the leaf gives to rows of which it found these sums."""
    if leaf.is_pure:
        return np.full(len(found), leaf.classes[0], dtype=np.intp)
    if rule == "sum":
        return np.asarray(leaf.classes[(found[:, 0] > 0).astype(np.intp)])
    scores = votes(found, len(leaf.classes)) if rule == "vote" else found
    return np.asarray(leaf.classes[scores.argmax(axis=1)])


def votes(pairs: Array, n_classes: int) -> NDArray[np.int64]:
    """Votes per class: a pair above zero counts for its first class, else for its second."""
    count = np.zeros((len(pairs), n_classes), dtype=np.int64)
    for column, (first, second) in enumerate(pair_indices(n_classes)):
        wins = pairs[:, column] > 0
        count[:, first] += wins
        count[:, second] += ~wins
    return count


def predict(leaf: Leaf, theta: Theta, rule: LeafRule, rows: NDArray[Any]) -> Indices:
    """The class of every row of the leaf."""
    return classes_of(leaf, rule, sums(leaf, theta.kernel, rows))

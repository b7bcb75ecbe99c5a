"""SVM: what every reader returns and every method starts from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from svmcompile.data.categories import NO_CATEGORIES, Categories
from svmcompile.data.text import Text
from svmcompile.errors import OptionError, ReadError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.front import IDENTITY, Front
from svmcompile.model.head import Head

ARRAYS = ("support vectors", "coefficients", "intercepts")


class LabelRule(str, Enum):
    """How the original turns scores into a label; the strictness of each comparison is part of it."""

    NONE = "none"  # regression
    VOTE = "vote"  # pair (i, j): value > 0 votes for i, else for j; most votes, lowest index first
    ARGMAX = "argmax"  # largest score, lowest index first
    POSITIVE_SECOND = "positive-second"  # > 0 is the second class, else the first
    NEGATIVE_FIRST = "negative-first"  # < 0 is the first class, else the second
    POSITIVE_FIRST = "positive-first"  # > 0 is the first class, else the second
    EACH = "each"  # every score on its own: > 0 is the second class of its target, else the first
    HEAD = "head"  # what the model's own head says


class Link(str, Enum):
    """How the original turns scores, of which two classes have one, into probabilities."""

    NONE = ""  # not at all, or by `platt`
    SOFTMAX = "softmax"
    LOGISTIC = "logistic"  # 1 / (1 + exp(-score)) of each class, divided by their sum
    GAUSSIAN = "gaussian"  # the mean logistic function of a normal score, as `deviation` tells it
    CLIPPED = "clipped"  # (score + 1) / 2, from 0 to 1, of each class, divided by their sum


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model came from: enough to recognise it, nothing about the machine."""

    kind: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Deviation:
    """How sure a Gaussian process is: variance = prior - |sum_p weights[p] k_p(x) + bias|^2.

    There are weights for each machine, [rows, vectors of the machine].
    """

    prior: float
    weights: tuple[Array, ...]
    bias: Array


@dataclass(frozen=True, eq=False)
class SVM:
    """A trained support vector machine.

    `coefficients` has one row per score over all vectors, unless `counts` is
    given: then it is LIBSVM's one-vs-one layout, [classes - 1, vectors] with
    the vectors grouped by class, and there is one score per pair of classes.
    `intercepts` are added to the sums. Scores have the original's sign.

    Where wrappers put several machines together, `head` says what is made of their sums. Machines that
    share kernel and preprocessing are one SVM with a sum for each; others are `parts`, whose sums stand
    one after the other, and the SVM has no vectors of its own.
    """

    kernel: Kernel
    vectors: Any  # [n, d]: an array, or a `Csr` where that is large and mostly zeros
    coefficients: Array
    intercepts: Array
    label_rule: LabelRule
    source: Source
    labels: Labels | None = None
    counts: tuple[int, ...] = ()
    one_vs_rest_scores: bool = False  # scikit-learn's `decision_function_shape="ovr"`
    front: Front = IDENTITY  # what a row goes through before the kernel sees it
    feature_names: tuple[str, ...] = ()
    categories: Categories = NO_CATEGORIES  # of features that are text, of which rows hold codes
    platt: tuple[Array, Array] | None = None  # LIBSVM's probA and probB, for values of its sign
    link: Link = Link.NONE  # how scores become probabilities
    deviation: Deviation | None = None  # of a Gaussian process
    most_probable: bool = False  # labels are the most probable class, as LIBSVM gives them with -b 1
    density_marks: Array | None = None  # of a one-class model of LIBSVM that has probabilities
    noise_scale: float | None = None  # of a regressor of LIBSVM: its error is Laplace's with this scale
    sample_offset: float | None = None  # of a one-class SVM of scikit-learn: raw score minus score
    head: Head | None = None
    parts: tuple[SVM, ...] = ()
    adds_parts: bool = False  # the sums of parts are added up, instead of standing one after the other
    notes: tuple[str, ...] = field(default=())
    training_points: int = 0  # of a precomputed kernel, whose vectors are numbers of such points

    @property
    def n_features(self) -> int:
        """How wide the rows are that the model is given."""
        if self.parts:
            return self.parts[0].n_features
        return self.kernel_width if self.front.takes is None else self.front.takes

    @property
    def text(self) -> Text:
        """How text becomes the rows that the model is given, where it takes text."""
        return self.parts[0].text if self.parts else self.front.text

    @property
    def kernel_width(self) -> int:
        """How wide the rows are that the kernel sees, after the preprocessing."""
        return self.training_points or int(self.vectors.shape[1])

    @property
    def n_vectors(self) -> int:
        return sum(part.n_vectors for part in self.parts) or int(self.vectors.shape[0])

    @property
    def machines(self) -> tuple[SVM, ...]:
        """The parts, or the SVM itself."""
        return self.parts or (self,)

    @property
    def parts_are_alike(self) -> bool:
        """Whether all parts see the same row with the same kernel."""
        return all(part.kernel == self.kernel and part.front is self.front for part in self.parts)

    @property
    def has_probabilities(self) -> bool:
        if self.head is not None:
            return self.head.value("probabilities") is not None
        return self.platt is not None or self.density_marks is not None or self.link is not Link.NONE

    @property
    def n_sums(self) -> int:
        """How many kernel sums there are: one, one per class, or one per pair."""
        return int(self.intercepts.shape[0])

    def by_probability(self) -> SVM:
        """The same, with the most probable class for its label, as LIBSVM's predict gives it with -b 1."""
        if not self.has_probabilities:
            raise OptionError(
                "the most probable class is asked for, but the model has no probabilities; train it with "
                "them (LIBSVM: -b 1; scikit-learn: CalibratedClassifierCV around the SVM)"
            )
        # LIBSVM's one-class models keep the label of the sign; that of a process is the most probable.
        same = self.density_marks is not None or self.link is Link.GAUSSIAN
        return self if same else replace(self, most_probable=True)

    @property
    def n_values(self) -> int:
        """How many values a regressor gives, unless its head makes one of its sums; 1 of a classifier."""
        return self.n_sums if self.labels is None and self.head is None else 1

    @property
    def several(self) -> str:
        """What a row gets, where that is more than one label or value."""
        if self.labels and self.labels.targets:
            return f"{self.labels.per_row} labels"
        return f"{self.n_values} values" if self.n_values > 1 else ""

    @property
    def weights_by_sum(self) -> Array:
        """The coefficients as one row per sum over all vectors, [sums, vectors]."""
        from svmcompile.ir.pairs import pair_weights

        return pair_weights(self.coefficients, self.counts) if self.counts else self.coefficients

    @property
    def is_sparse(self) -> bool:
        """Whether vectors are held without their zeros."""
        return any(part.is_sparse for part in self.parts) or not isinstance(self.vectors, np.ndarray)

    def dense(self, what: str, way_out: str = "use method exact") -> SVM:
        """The same with arrays of vectors, as `what` needs; an error where they are too large."""
        if not self.is_sparse:
            return self
        from svmcompile.data.sparse import check_dense

        vectors, parts = self.vectors, tuple(part.dense(what, way_out) for part in self.parts)
        told = f"{what} works on dense vectors, and those of this model"
        check_dense(vectors.shape, told, f"{way_out}, or select features before training (SelectKBest)")
        return replace(self, vectors=np.asarray(vectors), parts=parts)

    def prepared(self, rows: Array) -> Array:
        """Rows as the kernel sees them, after the preprocessing."""
        return self.front.run(rows)

    def check(self, where: str) -> SVM:
        """This SVM, if its parts fit together; a `ReadError` that names the misfit otherwise."""
        problems = list(_problems(self))
        if problems:
            raise ReadError(f"{where}: " + "; ".join(problems))
        return self


def _problems(svm: SVM) -> list[str]:
    """What does not fit, in words."""
    if svm.parts:
        own = ["machines have vectorizers of their own; put one before them all"]
        own *= any(part.text != svm.text for part in svm.parts)
        return own + [problem for part in svm.parts for problem in _problems(part)]
    n, d, k = svm.vectors.shape[0], svm.n_features, len(svm.counts)
    given, rows = svm.front.width_after(d), k - 1 if k else svm.n_sums
    points, shape, names = svm.training_points, svm.coefficients.shape, len(svm.feature_names)
    width, unlike = svm.kernel_width, points and not _are_points(svm.vectors, d)
    problems = [
        (d < 1, "the model has no features"),
        (given != width, f"the steps give {given} features, the kernel takes {width}"),
        *((True, problem) for problem in svm.front.problems()),
        (unlike, f"the support vectors are not numbers of {d} training points"),
        (points and svm.front.nodes, "features are scaled before a precomputed kernel, which has none"),
        (shape != (rows, n), f"coefficients have shape {shape}, expected {(rows, n)}"),
        (k and sum(svm.counts) != n, f"{sum(svm.counts)} vectors are counted by class, {n} are stored"),
        (k and svm.n_sums != k * (k - 1) // 2, f"{svm.n_sums} intercepts for {k} classes"),
        (names not in (0, d), f"{names} feature names for {d} features"),
    ]
    numbers = getattr(svm.vectors, "data", svm.vectors) if svm.is_sparse else svm.vectors
    for name, array in zip(ARRAYS, (numbers, svm.coefficients, svm.intercepts), strict=True):
        problems.append((not np.isfinite(array).all(), f"{name} hold a NaN or an infinity"))
    finite = np.isfinite([svm.kernel.gamma, svm.kernel.coef0]).all()
    problems.append((not finite, "the kernel's parameters are not finite"))
    return [text for is_so, text in problems if is_so]


def _are_points(vectors: Array, count: int) -> bool:
    whole = (vectors == np.floor(vectors)) & (vectors >= 0) & (vectors < count)
    return vectors.shape[1:] == (1,) and bool(whole.all())


def digest(svm_parts: dict[str, object]) -> str:
    """A sha256 over named parts (arrays by content), for models that have no file."""
    state = hashlib.sha256()
    for name in sorted(svm_parts):
        part: Any = svm_parts[name]
        state.update(name.encode())
        if hasattr(part, "indptr"):
            held = [part.shape, part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data]
            state.update(b"".join(np.ascontiguousarray(one).tobytes() for one in held))
        elif isinstance(part, np.ndarray) and part.dtype != object:
            state.update(str((part.dtype.str, part.shape)).encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:
            told = part.tolist() if isinstance(part, np.ndarray) else part
            state.update(repr(told).encode(errors="surrogatepass"))
    return state.hexdigest()

"""Model: a linear term, one tree for all sums or one for each, a fallback; built and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import BLOCK_VALUES, FittingRows, labels_of, likeness, margin_rule
from svmcompile.accelerate.registry import check_options
from svmcompile.accelerate.sv_tree.grow import Growth, Tree, grow
from svmcompile.accelerate.sv_tree.split import Matrix
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices, Rule
from svmcompile.ir.nodes.decisions import margins
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.progress import steps

CHOICES = {
    "coef": ("scale", "affine", "refit"),
    "linear": ("auto", "on", "off"),
    "multiclass": ("auto", "shared", "pairs"),
}

MOST_DOUBLES = 1 << 26  # kernel values kept in float64; more are kept in float32
RIDGE = 1e-3  # of the rows' mean variance
MOST_PAIRS = 15  # with more sums, a tree for each is not tried: it would cost more than it saves
NO_CAP = 100  # depth of the published form, for safety


def kernel_matrix(kernel: Kernel, rows: Array, vectors: Array) -> Matrix:
    """K[rows, vectors]; 50,000 rows by 5,000 vectors take one gigabyte."""
    size = len(rows) * len(vectors)
    K = np.empty((len(rows), len(vectors)), dtype=np.float64 if size <= MOST_DOUBLES else np.float32)
    step = max(1, BLOCK_VALUES // max(1, len(vectors)))
    with steps("kernel values", len(rows)) as advance:
        for at in range(0, len(rows), step):
            K[at : at + step] = kernel.values(rows[at : at + step], vectors)
            advance(min(step, len(rows) - at))
    return K


@dataclass(frozen=True, eq=False)
class Linear:
    """weights (z - centre) + bias."""

    weights: Array  # [outputs, features]
    bias: Array  # [outputs]
    centre: Array  # [features], float32 numbers

    def values(self, z: Array) -> Array:
        return np.asarray((z - self.centre) @ self.weights.T + self.bias)


def fit_linear(z: Array, targets: Array) -> Linear:
    """The least-squares fit of targets [rows, outputs], slopes kept small."""
    centre = nearest_float32(z.mean(axis=0))
    h = z - z.mean(axis=0)
    gram = h.T @ h
    ridge = RIDGE * float(np.trace(gram)) / len(gram) or 1.0
    slopes = np.linalg.solve(gram + ridge * np.eye(len(gram)), h.T @ (targets - targets.mean(axis=0)))
    bias = targets.mean(axis=0) + (centre - z.mean(axis=0)) @ slopes
    return Linear(slopes.T, bias, centre)


@dataclass(frozen=True, slots=True)
class Fallback:
    """Rows whose margin is below the width go through the exact sum."""

    width: float
    rule: Rule
    share: float  # of held-out rows
    agreement: float  # on them, with the exact sum's labels for that share


def calibrated(svm: SVM, wanted: Array, sums: Array, quantile: float) -> Fallback:
    """The width that a share of the wrongly labelled rows stays below."""
    if svm.label_rule is LabelRule.NONE:
        raise OptionError("a regressor has no labels that a fallback could keep; leave fallback off")
    rule = margin_rule(svm)
    margin = margins(sums, rule)
    wrong = labels_of(svm, sums) != labels_of(svm, wanted)
    width = 0.0
    if wrong.any() and quantile > 0:
        # A row at the width itself is taken for sure.
        width = float(np.nextafter(np.quantile(margin[wrong], quantile, method="higher"), np.inf))
    unsure = ~(margin >= width)
    agreement = 1.0 - float((wrong & ~unsure).mean())
    return Fallback(width, rule, float(unsure.mean()), agreement)


@dataclass(frozen=True, eq=False)
class Model:
    """sums = linear term (or intercepts) + trees; tree t gives all sums, or sum t alone."""

    linear: Linear | None
    trees: tuple[Tree, ...]
    intercepts: Array

    def sums(self, K: Matrix, z: Array) -> Array:
        base = self.linear.values(z) if self.linear else self.intercepts
        return np.asarray(base + np.hstack([tree.values(K) for tree in self.trees]))

    def evaluations(self, K: Matrix) -> Indices:
        """Kernel values each row needs."""
        return np.asarray(np.sum([tree.evaluations(K) for tree in self.trees], axis=0))


@dataclass(frozen=True, eq=False)
class Judged:
    """A model and how it does on held-out rows."""

    model: Model
    error: float  # mean squared, beside the variance of the sums
    agreement: float
    evaluations: float
    sums: Array

    def report(self) -> dict[str, Any]:
        return {
            "linear": self.model.linear is not None,
            "trees": len(self.model.trees),
            "held_out_error": self.error,
            "held_out_agreement": self.agreement,
            "held_out_evaluations": self.evaluations,
        }


def growth_of(svm: SVM, options: SvTreeOptions, each: bool) -> Growth:
    """How a tree grows under the options; `each`: it gives one sum of several."""
    if options.paper:
        return Growth(
            max_depth=NO_CAP, min_rows=5, affine=False, refit=False, cache=False, alternate=True,
            seed=options.seed,
        )  # fmt: skip
    classes = options.purity_stop and svm.label_rule is not LabelRule.NONE
    return Growth(
        max_depth=options.max_depth,
        min_rows=options.min_rows,
        affine=options.coef != "scale",
        refit=options.coef == "refit",
        ridge=options.ridge,
        cache=options.cache,
        decide=(_is_positive if each else lambda sums: labels_of(svm, sums)) if classes else None,
        seed=options.seed,
    )


def _is_positive(sums: Array) -> NDArray[np.bool_]:
    return np.asarray(sums[:, 0] > 0)


def judged_models(
    svm: SVM, options: SvTreeOptions, K: Matrix, rows: FittingRows, fitted: Indices, held: Indices
) -> Iterator[Judged]:
    """The models that the options leave open, built on fitted rows and judged on held-out ones."""
    linears = {"on": (True,), "off": (False,), "auto": (False, True)}[options.linear]
    layouts = {"shared": (False,), "pairs": (True,), "auto": (False, True)}[options.multiclass]
    if options.paper:
        linears, layouts = (False,), (svm.n_sums > 1,)
    elif options.multiclass == "auto" and not 1 < svm.n_sums <= MOST_PAIRS:
        layouts = (False,)
    K_held = K[held]
    for each in layouts:
        for with_linear in linears:
            model = _built(svm, options, K, rows, fitted, each, with_linear)
            yield _judged(svm, model, K_held, rows.z[held], rows.sums[held])


def _built(
    svm: SVM,
    options: SvTreeOptions,
    K: Matrix,
    rows: FittingRows,
    fitted: Indices,
    each: bool,
    with_linear: bool,
) -> Model:
    linear = fit_linear(rows.z[fitted], rows.sums[fitted]) if with_linear else None
    base = linear.values(rows.z) if linear else np.broadcast_to(svm.intercepts, rows.sums.shape)
    growth = growth_of(svm, options, each and svm.n_sums > 1)
    columns = [slice(at, at + 1) for at in range(svm.n_sums)] if each else [slice(None)]
    trees = tuple(grow(K, rows.sums[:, part], base[:, part], growth, fitted) for part in columns)
    return Model(linear, trees, svm.intercepts)


def _judged(svm: SVM, model: Model, K: Matrix, z: Array, wanted: Array) -> Judged:
    sums = model.sums(K, z)
    spread = float(np.square(wanted - wanted.mean(axis=0)).mean()) or 1.0
    error = float(np.square(sums - wanted).mean()) / spread
    return Judged(model, error, likeness(svm, wanted, sums), float(model.evaluations(K).mean()), sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class SvTreeOptions:
    """A tree picks, row by row, the few support vectors whose kernel values are computed.

    `paper` gives the published form: random alternating search, scaled columns, no cap on depth, no
    linear term, rows of the data alone; it overrides all options but `fallback` and `seed`.
    """

    paper: bool = False
    max_depth: int = 8  # kernel values on a path at most
    min_rows: int = 15  # a node with so few rows is not split
    coef: str = "refit"  # of a node: "scale", "affine" (and a constant), "refit" (all of its path)
    ridge: float = 0.3  # of "refit"
    linear: str = "auto"  # a linear term first: "on", "off", or unless held-out rows speak against it
    synthetic_rows: int = 3000  # made up between data rows; a quarter is held out
    purity_stop: bool = True  # a node whose rows all have their label is not split
    cache: bool = True  # a vector met before on the path is not met again
    multiclass: str = "auto"  # one tree for all pairs of classes, or "pairs": one each
    fallback: bool = False  # rows the tree is not sure of go through the exact sum
    fallback_quantile: float = 0.9  # of held-out errors that the fallback catches
    fallback_depth: int = 5  # cap on the depth with a fallback, which deeper trees gain little over
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "max_depth": 1,
            "min_rows": 1,
            "fallback_depth": 1,
            "synthetic_rows": 0,
            "seed": 0,
            "ridge": 0,
        }
        check_options("sv-tree", self, CHOICES, least, within={"fallback_quantile": (0, 1)})

"""sv-tree: an SVM and data rows become a program that walks a tree of kernel tests.

After Ukkonen, "The support vector tree" (2010): every node computes one kernel value, which both
enters the sum and chooses the branch, so a row meets the few support vectors of its path.
The default form adds what we measured to help: constants, refitted paths, fitting rows made up
between data rows, a linear term, early stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.calibration import Band, fixed
from svmcompile.accelerate.fitting.linear import Linear, fit_linear
from svmcompile.accelerate.fitting.rows import (
    BLOCK_VALUES,
    FittingRows,
    fitting_rows,
    labels_of,
    likeness,
    margin_rule,
)
from svmcompile.accelerate.options import check_options, option
from svmcompile.accelerate.registry import Method
from svmcompile.accelerate.sv_tree.balanced import highest
from svmcompile.accelerate.sv_tree.grow import Growth, Tree, grow
from svmcompile.accelerate.sv_tree.split import Matrix
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.progress import steps

MOST_DOUBLES = 1 << 26  # kernel values kept in float64; more are kept in float32
MOST_PAIRS = 15  # with more sums, a tree for each is not tried: it would cost more than it saves
DEPTH = 8  # kernel values on a path at most, unless told
NO_CAP = 100  # the same for the published form, for safety
PAPER_ROWS = 5  # a node with so few rows is not split there
# Nanoseconds on a processor with vector instructions, one row per call. The exact sum takes
# many vectors side by side; on a path each kernel value waits for the one before.
EXACT_PER_VECTOR, EXACT_PER_FEATURE = 0.35, 0.02
ON_PATH = 50.0
DATA_ROWS = 50_000  # data rows used at most
CLEARLY = 2.0  # so many times better is clearly better


@dataclass(frozen=True, slots=True, kw_only=True)
class SvTreeOptions:
    """A tree picks, row by row, the few support vectors whose kernel values are computed."""

    paper: bool = option(
        False, "Build the tree as published: random alternating search, scaled columns, no depth limit, "
        "no linear term, data rows only. Of the other options it uses max_depth, coef=plain, balanced, "
        "fallback, fallback_quantile and seed.",
    )  # fmt: skip
    max_depth: int = option(
        0, f"The most kernel values on a path from root to leaf; 0 means {DEPTH}, if paper=true no "
        "limit.", least=0,
    )  # fmt: skip
    balanced: bool = option(
        False, "The best tree whose nodes halve their rows, for few support vectors and levels."
    )
    min_rows: int = option(15, "Do not split a node with this many rows or fewer.", least=1)
    coef: str = option(
        "refit", "Coefficients of a node: those of the SVM, scaled, scaled with a constant, or its whole "
        "path refitted.", among=("plain", "scale", "affine", "refit"),
    )  # fmt: skip
    ridge: float = option(0.3, "Strength of the ridge penalty where coef=refit.", least=0)
    linear: str = option(
        "auto", "Put a linear term before the tree; auto does unless it is worse on held-out rows.",
        among=("auto", "on", "off"),
    )  # fmt: skip
    synthetic_rows: int = option(
        3000, "How many rows to make up between data rows; a quarter of all rows is held out.", least=0
    )
    purity_stop: bool = option(True, "Do not split a node whose rows all have their label already.")
    cache: bool = option(True, "Reuse kernel values computed earlier on the same path.")
    multiclass: str = option(
        "auto", "One tree for all pairs of classes, one for each pair, or whichever costs less.",
        among=("auto", "shared", "pairs"),
    )  # fmt: skip
    fallback: bool = option(False, "Send rows that the tree is not sure of through the exact sum.")
    fallback_quantile: float = option(
        0.9, "The share of held-out errors that the fallback must catch.", least=0, most=1
    )
    fallback_depth: int = option(
        5, "The most kernel values on a path if fallback=true: deeper trees gain little then.", least=1
    )
    seed: int = option(0, "Seed of the rows that are made up, and of the search where paper=true.", least=0)

    def __post_init__(self) -> None:
        check_options("sv-tree", self)
        if self.coef == "plain" and self.linear == "on":
            raise OptionError(
                "sv-tree: coef=plain keeps the SVM's own coefficients, which do not fit the residual of a "
                "linear term; use linear=off, or coef=scale"
            )


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


def calibrate(svm: SVM, wanted: Array, sums: Array, quantile: float) -> Band:
    """The band whose width a share of the wrongly labelled rows stays below."""
    if svm.label_rule is LabelRule.NONE:
        raise OptionError("a regressor has no labels for a fallback to keep; leave out fallback")
    margin, wrong = margins(sums, margin_rule(svm)), labels_of(svm, sums) != labels_of(svm, wanted)
    width = 0.0
    if wrong.any() and quantile > 0:
        # A row at the width itself is taken for sure.
        width = float(np.nextafter(np.quantile(margin[wrong], quantile, method="higher"), np.inf))
    return fixed(width, margin, wrong)


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
        bare = Growth(max_depth=options.max_depth or NO_CAP, min_rows=PAPER_ROWS, affine=False, refit=False)
        return replace(bare, cache=False, alternate=True, balanced=options.balanced, seed=options.seed)

    def decide(sums: Array) -> NDArray[Any]:
        return np.asarray(sums[:, 0] > 0) if each else labels_of(svm, sums)

    classes = options.purity_stop and svm.label_rule is not LabelRule.NONE
    return Growth(
        max_depth=options.max_depth or DEPTH,
        min_rows=options.min_rows,
        affine=options.coef not in ("plain", "scale"),
        refit=options.coef == "refit",
        ridge=options.ridge,
        cache=options.cache,
        decide=decide if classes else None,
        balanced=options.balanced,
        seed=options.seed,
    )


def judged_models(
    svm: SVM, options: SvTreeOptions, K: Matrix, rows: FittingRows, fitted: Indices, held: Indices
) -> Iterator[Judged]:
    """The models that the options leave open, built on fitted rows and judged on held-out ones."""
    linears = {"on": (True,), "off": (False,), "auto": (False, True)}[options.linear]
    layouts = {"shared": (False,), "pairs": (True,), "auto": (False, True)}[options.multiclass]
    own = svm.weights_by_sum.T if options.coef == "plain" else None
    linears = linears if own is None else (False,)
    if options.paper:
        linears, layouts = (False,), (svm.n_sums > 1,)
    elif options.multiclass == "auto" and not 1 < svm.n_sums <= MOST_PAIRS:
        layouts = (False,)
    K_held, z, sums = K[held], rows.z, rows.sums
    for each in layouts:
        growth = growth_of(svm, options, each and svm.n_sums > 1)
        columns = [slice(at, at + 1) for at in range(svm.n_sums)] if each else [slice(None)]
        for with_linear in linears:
            linear = fit_linear(z[fitted], sums[fitted]) if with_linear else None
            base = linear.values(z) if linear else np.broadcast_to(svm.intercepts, sums.shape)
            trees = tuple(
                grow(K, sums[:, part], base[:, part], _keeping(growth, own, part), fitted)
                for part in columns
            )
            yield _judge(svm, Model(linear, trees, svm.intercepts), K_held, z[held], sums[held])


def _keeping(growth: Growth, own: Array | None, part: slice) -> Growth:
    """The growth of a tree for some sums, whose columns may keep the SVM's coefficients."""
    return growth if own is None else replace(growth, own=own[:, part])


def balanced_height(svm: SVM, options: SvTreeOptions, rows: int) -> int:
    """Levels of the best balanced tree: those asked for, else as many as can be searched."""
    possible, asked = highest(rows, svm.n_vectors), options.max_depth
    if (asked or 2) > possible:
        raise OptionError(
            f"sv-tree: balanced=true tries {svm.n_vectors} vectors at every node of {asked or 2} levels "
            f"on {rows:,} rows, which is too much; set max_depth to {possible} at most, give fewer rows "
            "(synthetic_rows=0), or use a model with fewer support vectors"
        )
    return asked or possible


def _judge(svm: SVM, model: Model, K: Matrix, z: Array, wanted: Array) -> Judged:
    sums = model.sums(K, z)
    spread = float(np.square(wanted - wanted.mean(axis=0)).mean()) or 1.0
    error = float(np.square(sums - wanted).mean()) / spread
    return Judged(model, error, likeness(svm, wanted, sums), float(model.evaluations(K).mean()), sums)


def remarks(svm: SVM, evaluations: float, band: Band | None) -> tuple[str, ...]:
    """A recommendation of the exact method where it is expected to be faster."""
    if svm.kernel.kind == "precomputed":  # what a kernel costs is not known
        return ()
    exact = svm.n_vectors * (EXACT_PER_VECTOR + EXACT_PER_FEATURE * svm.kernel_width)
    tree = ON_PATH * evaluations + (band.fallback_share * exact if band else 0.0)
    if tree < exact:
        return ()
    return (
        f"method exact is expected to be {tree / exact:.1f} times as fast in C with profile host: it "
        f"evaluates {svm.n_vectors} kernel values side by side, a path {evaluations:.1f} one after another",
    )


def sv_tree(svm: SVM, data: Data | None, options: SvTreeOptions) -> Program:
    """f(x) ~ bias(leaf) + sum_l weight(leaf, l) k(x, s_l), over the vectors s_l on the way to the leaf."""
    assert data is not None
    if not svm.n_vectors:
        raise UnsupportedError("the model has no support vectors to build a tree from; use method exact")
    if options.fallback and not options.paper:
        depth = min(options.max_depth or DEPTH, options.fallback_depth)
        options = replace(options, max_depth=depth)
    if svm.kernel.kind == "precomputed":  # rows of kernel values: none can be made up, nor weighed
        options = replace(options, synthetic_rows=0, linear="off")
    rows = fitting_rows(svm, data, options.synthetic_rows, DATA_ROWS, options.seed)
    fitted, held = _parts(rows, options.paper)
    if options.balanced:
        options = replace(options, max_depth=balanced_height(svm, options, len(fitted)))
    K = kernel_matrix(svm.kernel, rows.z, svm.vectors)
    tried = list(judged_models(svm, options, K, rows, fitted, held))
    best = _choose(tried, options.fallback)
    band = None
    if options.fallback:
        band = calibrate(svm, rows.sums[held], best.sums, options.fallback_quantile)
    details = _details(best, tried, band, len(fitted))
    return _program(svm, best.model, band, details=details, notes=remarks(svm, best.evaluations, band))


def _parts(rows: FittingRows, paper: bool) -> tuple[Indices, Indices]:
    """Rows to fit to, and rows to judge by: made-up ones, since those of the data are too good to spare."""
    at = np.arange(len(rows.z))
    spare = rows.made_up if rows.made_up.any() else np.ones(len(at), dtype=bool)
    held = rows.made_up if paper else spare & rows.held  # the published form fits to the data alone
    if not held.any() or held.all():
        return at, at
    return at[~held], at[held]


def _choose(tried: list[Judged], fallback: bool) -> Judged:
    """One tree for all sums or one for each: the surer or, with a fallback, the cheaper."""
    layouts = sorted({len(one.model.trees) for one in tried})
    best = [min((one for one in tried if len(one.model.trees) == count), key=_cost) for count in layouts]
    if fallback:
        return min(best, key=lambda one: one.evaluations)
    return max(best, key=lambda one: (one.agreement, -one.error))


def _cost(one: Judged) -> float:
    """Held-out error, by which models with and without a linear term are compared.

    Made-up rows lie among those fitted to and flatter trees; the linear term is what holds
    farther out, so a model without it must do clearly better.
    """
    return one.error * (1.0 if one.model.linear else CLEARLY)


def _details(best: Judged, tried: list[Judged], band: Band | None, fitted: int) -> dict[str, Any]:
    trees = best.model.trees
    found: dict[str, Any] = {
        **best.report(),
        "nodes": sum(len(tree.picks) for tree in trees),
        "vectors": sum(len(tree.columns()) for tree in trees),
        "fitted_rows": fitted,
        "tried": [one.report() for one in tried],
    }
    if band:
        shares = {"held_out_share": band.fallback_share, "held_out_agreement": band.agreement}
        found["fallback"] = {"width": band.width, **shares}
    return found


def _program(svm: SVM, model: Model, band: Band | None, **origin: Any) -> Program:
    """Linear term and trees added up, and the exact sum behind a guard."""
    builder = Builder(svm)
    sums = ""
    if model.linear:
        x = builder.preprocess("linear_")
        weights = builder.table("linear_weights", model.linear.weights)
        bias = builder.table("linear_bias", model.linear.bias)
        centre = builder.table("linear_centre", model.linear.centre)
        builder.body.append(ir.Affine("linear", x, weights, bias, centre))
        sums = "linear"
    for index, tree in enumerate(model.trees):
        constant = np.zeros(svm.n_sums) if sums else model.intercepts
        part = index if len(model.trees) > 1 else None
        made = _path_node(builder, tree, f"tree{index or ''}_", part, constant)
        if sums:
            builder.body.append(ir.Add(f"sums{index or ''}", sums, made))
        sums = f"sums{index or ''}" if sums else made
    if band:
        exact = builder.exact_sums("exact", "exact_")
        builder.body.append(ir.Guard("guarded", sums, exact, band.width, margin_rule(svm)))
        sums = "guarded"
    return builder.finish(sums, "sv-tree", Claim.APPROXIMATE, **origin)


def _path_node(builder: Builder, tree: Tree, own: str, part: int | None, constant: Any) -> str:
    """The node of one tree, for all sums or for one; the name of its value."""
    svm = builder.svm
    x = builder.preprocess(own)
    vectors = svm.vectors[tree.columns()]
    tree = tree.renumbered()
    weights, bias = tree.weights, tree.bias
    if part is not None:
        weights, bias = (_spread(table, part, svm.n_sums) for table in (weights, bias))
    node = ir.PathSum(
        f"{own}sums",
        x,
        builder.table(f"{own}vectors", vectors),
        builder.indices(f"{own}picks", tree.picks),
        builder.table(f"{own}thresholds", tree.thresholds),
        builder.indices(f"{own}children", tree.children),
        builder.indices(f"{own}starts", tree.starts),
        builder.table(f"{own}weights", weights),
        builder.table(f"{own}bias", bias + constant),
        svm.kernel,
    )
    builder.body.append(node)
    return node.out


def _spread(table: Any, part: int, sums: int) -> Any:
    """A column as one of many, the others zero."""
    wide = np.zeros((len(table), sums))
    wide[:, part] = table[:, 0]
    return wide


METHOD = Method(
    sv_tree, SvTreeOptions, Claim.APPROXIMATE, needs_data=True, needs_vectors=False, takes_heads=True,
    quicker=("synthetic_rows=0",),
)  # fmt: skip

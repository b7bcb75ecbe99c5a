"""sv-tree: an SVM and data rows become a program that walks a tree of kernel tests.

After Ukkonen, "The support vector tree" (2010): every node computes one kernel value, which both
enters the sum and chooses the branch, so a row meets the few support vectors of its path.
The default form adds what we measured to help: constants, refitted paths, fitting rows made up
between data rows, a linear term, early stops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.rows import FittingRows, fitting_rows
from svmcompile.accelerate.registry import Method
from svmcompile.accelerate.sv_tree.grow import Tree
from svmcompile.accelerate.sv_tree.model import (
    Fallback,
    Judged,
    Model,
    SvTreeOptions,
    calibrated,
    judged_models,
    kernel_matrix,
)
from svmcompile.data import Data
from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kinds import Indices
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

# Nanoseconds on a processor with vector instructions, one row per call. The exact sum takes
# many vectors side by side; on a path each kernel value waits for the one before.
EXACT_PER_VECTOR, EXACT_PER_FEATURE = 0.35, 0.02
ON_PATH = 50.0
DATA_ROWS = 50_000  # data rows used at most
CLEARLY = 2.0  # so many times better is clearly better
HELD_SHARE = 4  # one made-up row in so many is held out


def remarks(svm: SVM, evaluations: float, fallback: Fallback | None) -> tuple[str, ...]:
    """A recommendation of the exact method where it is expected to be faster."""
    if svm.kernel.kind == "precomputed":  # what a kernel costs is not known
        return ()
    exact = svm.n_vectors * (EXACT_PER_VECTOR + EXACT_PER_FEATURE * svm.kernel_width)
    tree = ON_PATH * evaluations + (fallback.share * exact if fallback else 0.0)
    if tree < exact:
        return ()
    return (
        f"method exact is expected to be {tree / exact:.1f} times as fast in C with profile host: it takes "
        f"{svm.n_vectors} kernel values side by side, a path takes {evaluations:.1f} one after another",
    )


def sv_tree(svm: SVM, data: Data | None, options: SvTreeOptions) -> Program:
    """f(x) ~ bias(leaf) + sum_l weight(leaf, l) k(x, s_l), over the vectors s_l on the way to the leaf."""
    assert data is not None
    if not svm.n_vectors:
        raise UnsupportedError("the model has no support vectors to make a tree of; use method exact")
    if options.fallback:
        options = replace(options, max_depth=min(options.max_depth, options.fallback_depth))
    if svm.kernel.kind == "precomputed":  # rows of kernel values: none can be made up, nor weighed
        options = replace(options, synthetic_rows=0, linear="off")
    rows = fitting_rows(svm, data, options.synthetic_rows, DATA_ROWS, options.seed)
    fitted, held = _parts(rows, options.paper)
    K = kernel_matrix(svm.kernel, rows.z, svm.vectors)
    tried = list(judged_models(svm, options, K, rows, fitted, held))
    chosen = _chosen(tried, options.fallback)
    fallback = None
    if options.fallback:
        fallback = calibrated(svm, rows.sums[held], chosen.sums, options.fallback_quantile)
    return _program(
        svm,
        chosen.model,
        fallback,
        details=_details(chosen, tried, fallback, len(fitted)),
        notes=remarks(svm, chosen.evaluations, fallback),
    )


def _parts(rows: FittingRows, paper: bool) -> tuple[Indices, Indices]:
    """Rows to fit to, and rows to judge by: made-up ones, since those of the data are too good to spare."""
    at = np.arange(len(rows.z))
    spare = rows.made_up if rows.made_up.any() else np.ones(len(at), dtype=bool)
    held = spare & (at % HELD_SHARE == HELD_SHARE - 1)
    if paper:
        held = rows.made_up  # the published form fits to the data alone
    if not held.any() or held.all():
        return at, at
    return at[~held], at[held]


def _chosen(tried: list[Judged], fallback: bool) -> Judged:
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


def _details(chosen: Judged, tried: list[Judged], fallback: Fallback | None, fitted: int) -> dict[str, Any]:
    trees = chosen.model.trees
    found: dict[str, Any] = {
        **chosen.report(),
        "nodes": sum(len(tree.picks) for tree in trees),
        "vectors": sum(len(tree.columns()) for tree in trees),
        "fitted_rows": fitted,
        "tried": [one.report() for one in tried],
    }
    if fallback:
        found["fallback"] = {
            "width": fallback.width,
            "held_out_share": fallback.share,
            "held_out_agreement": fallback.agreement,
        }
    return found


def _program(svm: SVM, model: Model, fallback: Fallback | None, **origin: Any) -> Program:
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
    if fallback:
        exact = builder.exact_sums("exact", "exact_")
        builder.body.append(ir.Guard("guarded", sums, exact, fallback.width, fallback.rule))
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
    sv_tree, SvTreeOptions, Claim.APPROXIMATE, needs_data=True, needs_vectors=False, takes_heads=True
)

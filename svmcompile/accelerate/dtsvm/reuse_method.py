"""dtsvm in front of a given SVM: a tree with a small SVM of its kernel in every mixed leaf.

mode=reuse keeps kernel and C and learns what the SVM predicts: a faster stand-in. mode=search trains anew
on the data's own labels with parameters around the SVM's: another classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.dtsvm.leaves import Leaf, Theta
from svmcompile.accelerate.dtsvm.options import Numbers, ReuseOptions, TrainOptions
from svmcompile.accelerate.dtsvm.program import Decomposition, Scaling, leaf_tables, route_tables
from svmcompile.accelerate.dtsvm.reuse import Choice, Cut, Given, Trainer, choose
from svmcompile.accelerate.dtsvm.training import (
    NEEDS_GAMMA,
    Trained,
    leaf_risk,
    slacks,
    squared_norms,
    terms,
    train_classifier,
)
from svmcompile.accelerate.dtsvm.tree import Tree
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.svm import SVM

MOST_NORM_VECTORS = 8000  # up to here the norm of the given SVM is worth the memory of its kernel matrix
SOME_ROWS = 20_000  # tell how many vectors a row meets
LABELS_ONLY = "votes within a leaf are no decision values: the program gives labels only"
AROUND = (0.1, 1.0, 10.0)  # times the SVM's own C and gamma
NEW = "mode=search trained a new classifier on the given labels: judge it by its accuracy"


def in_front_of(svm: SVM, data: Data | None, options: ReuseOptions) -> Program:
    """The program of either mode."""
    assert data is not None
    options.check()
    given = Given.of(svm, data)
    return searched(given, options) if options.mode == "search" else _reused(given, options)


def _reused(given: Given, options: ReuseOptions) -> Program:
    y = _labels(given, options)
    theta = given.theta(options.C)
    covered = options.ceiling >= len(given.X)
    choice = Choice(None, (), 0) if covered else choose(given, y, theta, options)
    details: dict[str, Any] = {"C": theta.C, "tried": [one.as_dict() for one in choice.tried]}
    if theta.class_weights:
        details["class_weights"] = list(theta.class_weights)
    if choice.chosen is None:
        return _unchanged(given, choice, options, covered, details)
    trainer = Trainer(given.X, given.z, y, given.n_classes, theta, given.rule, options)
    cut = trainer.cut(trainer.grown(choice.chosen.ceiling), choice.chosen.ceiling, choice.chosen.delta)
    if cut.tree.n_leaves == 1:
        return _unchanged(given, choice, options, True, details)
    details |= {"ceiling": cut.ceiling, "delta": cut.delta, **_figures(given, cut, theta, y)}
    details["held_out"] = {"rows": choice.held, **choice.chosen.as_dict()}
    notes = _notes(choice, options, cut.leaves)
    return leaf_program(given, Parts(cut.tree, cut.leaves, given.svm.kernel, "x"), notes, details)


def _labels(given: Given, options: ReuseOptions) -> Indices:
    """What the leaves learn."""
    if options.labels == "model":
        return given.predicted
    if given.truth is None:
        raise OptionError("dtsvm: labels=given needs labels with the data; pass y, or use labels=model")
    return given.known_truth()


def _figures(given: Given, cut: Cut, theta: Theta, y: Indices) -> dict[str, Any]:
    """Sizes, and the terms of the paper's error bound beside those of the given SVM."""
    model = Decomposition(cut.tree, cut.leaves, theta, given.rule, Scaling.none(given.X.shape[1]))
    risks = [leaf_risk(leaf, task) for leaf, task in zip(cut.leaves, cut.tasks, strict=True)]
    R = float(sum(risks))
    bound = terms(R, cut.tree.n_leaves, len(given.X), given.X.shape[1])
    whole = _risk_of_given(given, y)
    bound["R_over_S"] = R / whole if whole else None  # type: ignore[assignment]
    tables = route_tables(cut.tree) | leaf_tables(cut.leaves)
    size = sum(4 * t.size if t.dtype == np.float64 else t.nbytes for t in tables.values())
    found = model.figures(given.X[:: -(-len(given.X) // SOME_ROWS)])
    pure = np.array([leaf.is_pure for leaf in cut.leaves])[cut.tree.leaves(given.X)]
    # Cells overlap, so their sizes do not tell how many rows fall into pure leaves.
    return {**found, "pure_share": float(pure.mean()), "bytes": size, "error_bound": bound}


def _risk_of_given(given: Given, y: Indices) -> float | None:
    """S: the same sum for the one SVM over all rows; None where its kernel matrix would be too large."""
    svm = given.svm
    if not 0 < svm.n_vectors <= MOST_NORM_VECTORS or svm.n_sums == 2:
        return None
    leaf = given.as_leaf()
    sums = given.sums * (given.sign if given.keeps_scores else 1.0)
    slack = [float(np.square(xi).sum()) for xi in slacks(leaf, given.rule, sums, y)]
    return float(squared_norms(leaf, given.theta(0.0)).mean()) + float(np.mean(slack))


def _notes(choice: Choice, options: ReuseOptions, leaves: tuple[Leaf, ...]) -> tuple[str, ...]:
    notes = []
    if choice.chosen and not choice.chosen.will_do:
        notes.append(
            f"agreement {choice.chosen.agreement:.2%} on the {choice.held} rows held out does not prove "
            f"the target of {options.target:.2%}; use a larger ceiling or delta"
        )
    unconverged = sum(not leaf.converged for leaf in leaves)
    if unconverged:
        notes.append(
            f"LIBSVM stopped before it converged in {unconverged} of {len(leaves)} leaves; "
            "more iterations or a smaller C helps"
        )
    return tuple(notes)


def _unchanged(
    given: Given, choice: Choice, options: ReuseOptions, covered: bool, details: dict[str, Any]
) -> Program:
    """The given SVM itself, and why."""
    why = "the ceiling covers all rows"
    if not covered:
        best = max(choice.tried, key=lambda one: one.agreement, default=None)
        why = f"no tree that is cheaper proves the target agreement of {options.target:.2%}"
        why += f" on the {choice.held} rows held out"
        why += (
            f" (best: {best.agreement:.2%} at ceiling {best.ceiling}, delta {best.delta:g})" if best else ""
        )
        why += "; a lower target or more data helps"
    builder = Builder(given.svm)
    note = f"{why}: the result is the given SVM"
    return builder.finish(
        builder.exact_sums(), "dtsvm", Claim.APPROXIMATE, (note,), details={**details, "leaves": 1}
    )


@dataclass(frozen=True, eq=False)
class Parts:
    """What was trained, and whether its tree reads rows as they come ("x") or as the kernel sees them."""

    tree: Tree
    leaves: tuple[Leaf, ...]
    kernel: Kernel
    routed: str


def leaf_program(given: Given, parts: Parts, notes: tuple[str, ...], details: dict[str, Any]) -> Program:
    """Preprocessing, the route, the sums of the leaf, and the label."""
    builder, leaves = Builder(given.svm), parts.leaves
    z = builder.preprocess()
    if given.keeps_scores and given.sign < 0:
        leaves = tuple(replace(leaf, weights=-leaf.weights, bias=-leaf.bias) for leaf in leaves)
    for name, table in (route_tables(parts.tree) | leaf_tables(leaves)).items():
        (builder.table if table.dtype == np.float64 else builder.indices)(name, table)
    routed = "x" if parts.routed == "x" else z
    builder.body += [
        ir.AxisRoute("leaf", routed, "tree_features", "tree_thresholds", "tree_children"),
        ir.LeafSums(
            "sums", z, "leaf", "leaf_vectors", "leaf_starts", "leaf_members", "leaf_firsts", "leaf_counts",
            "leaf_weights", "leaf_bias", parts.kernel, given.rule, given.n_classes,
        ),
    ]  # fmt: skip
    if given.keeps_scores:
        return builder.finish("sums", "dtsvm", Claim.APPROXIMATE, notes, details=details)
    head: Node = ir.ArgMax("label", "sums")
    if given.rule == "sum":
        head = ir.Threshold("label", "sums", True, 1, 0)
    builder.body.append(head)
    outputs = (Output("label", "label"),)
    return builder.program(outputs, "dtsvm", Claim.APPROXIMATE, (*notes, LABELS_ONLY), details=details)


def searched(given: Given, options: ReuseOptions) -> Program:
    """A classifier trained anew on the given labels, with parameters around the SVM's own."""
    if given.truth is None:
        raise OptionError("dtsvm: mode=search trains on the data's labels; pass y, or use mode=reuse")
    truth = given.known_truth()
    theta = given.theta(0.0)
    kernel = theta.kernel
    gammas = Numbers([kernel.gamma * f for f in AROUND]) if kernel.kind in NEEDS_GAMMA else Numbers(1.0)
    trained = train_classifier(
        given.z,
        truth,
        given.n_classes,
        TrainOptions(
            mode="1ao" if given.rule == "ovr" else "1a1",
            kernel=kernel.kind,
            C=Numbers([theta.C * f for f in AROUND]),
            gamma=gammas,
            coef0=kernel.coef0,
            degree=kernel.degree,
            validation=options.validation,
            scale=False,
            min_leaf=options.min_leaf,
            iterations=options.iterations,
            seed=options.seed,
            jobs=options.jobs,
        ),
    )
    return _search_program(given, trained, truth)


def _search_program(given: Given, trained: Trained, truth: Indices) -> Program:
    model = trained.model
    found: NDArray[Any] = model.predict(given.z)
    details = {
        "C": model.theta.C,
        "kernel": model.theta.kernel.text(),
        **model.figures(given.z[:: -(-len(given.z) // SOME_ROWS)]),
        "agreement": float((found == given.predicted).mean()),
        "accuracy": float((found == truth).mean()),
        "accuracy_of_given": float((given.predicted == truth).mean()),
        "search": [one.as_dict() for one in trained.tried],
    }
    if trained.chosen:
        details |= {"ceiling": trained.chosen.ceiling, "validation_accuracy": trained.chosen.accuracy}
    if model.tree.n_leaves > 1:
        parts = Parts(model.tree, model.leaves, model.theta.kernel, "z")
        return leaf_program(given, parts, (NEW,), details)
    leaf = model.leaves[0]
    sign = given.sign if given.keeps_scores else 1.0
    svm = replace(
        given.svm,
        kernel=model.theta.kernel,
        vectors=leaf.vectors,
        coefficients=sign * leaf.weights,
        intercepts=sign * leaf.bias,
        counts=leaf.counts if given.svm.counts else (),
    )
    builder = Builder(svm)
    notes = (NEW, "the ceiling that was found covers all rows: the result is one SVM")
    return builder.finish(builder.exact_sums(), "dtsvm", Claim.APPROXIMATE, notes, details=details)

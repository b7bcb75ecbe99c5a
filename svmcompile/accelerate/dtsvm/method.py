"""dtsvm: labelled rows, or an SVM and rows, in; a tree with an SVM in every mixed leaf out, as a program.

In front of a given SVM, mode=reuse keeps kernel and C and learns what the SVM predicts: a faster stand-in.
mode=search trains anew on the data's own labels with parameters around the SVM's: another classifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.dtsvm.bound import leaf_risk, slacks, squared_norms, terms
from svmcompile.accelerate.dtsvm.leaves import Leaf
from svmcompile.accelerate.dtsvm.options import Numbers, ReuseOptions, TrainOptions
from svmcompile.accelerate.dtsvm.program import Decomposition, assembled, label_node, leaf_nodes, tables_of
from svmcompile.accelerate.dtsvm.reuse import Choice, Cut, Given, Trainer, choose
from svmcompile.accelerate.dtsvm.training import NEEDS_GAMMA, Trained, train_classifier
from svmcompile.accelerate.fitting.rows import finite_rows, spread
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.data.sparse import is_sparse
from svmcompile.errors import OptionError
from svmcompile.ir.kinds import Indices
from svmcompile.ir.program import Claim, Labels, Output, Program
from svmcompile.model.svm import SVM, digest

MOST_NORM_VECTORS = 8000  # up to here the norm of the given SVM is worth its kernel values
SOME_ROWS = 20_000  # tell how many vectors a row meets
LABELS_ONLY = "votes within a leaf are not decision values: the program gives labels only"
AROUND = (0.1, 1.0, 10.0)  # times the SVM's own C and gamma
NEW = "mode=search trained a new classifier on the given labels: judge it by its accuracy"


def train(data: Data, options: TrainOptions) -> Program:
    """The classifier that the search finds best, as a program."""
    assert data.y is not None
    X = finite_rows("dtsvm", data.X, dtype=None)
    if is_sparse(X) and options.checkpoint:
        raise OptionError("dtsvm: checkpoints hold dense leaves, and these rows are sparse; leave it out")
    classes, y = np.unique(data.y, return_inverse=True)
    labels = Labels.of(classes, "dtsvm: y")
    if len(labels) < 2:
        raise OptionError("dtsvm: all rows have one class; training needs at least two classes")
    trained = train_classifier(X, y.astype(np.intp), len(labels), options)
    model = trained.model
    recorded = {
        f.name: str(getattr(options, f.name)) for f in fields(options) if f.metadata.get("recorded", True)
    }
    sha256 = digest({"X": X, "y": y, "classes": labels.values, "options": sorted(recorded.items())})
    details = details_of(trained, X)
    if options.risk:
        n_rows = sum(leaf.size for leaf in model.leaves)
        details |= terms(model.leaves, model.rule, len(labels), n_rows, X.shape[1])
    notes = _unconverged(model.leaves)
    if model.tree.n_leaves == 1:
        notes = (*notes, "the tree has one leaf: the program is one SVM over all rows")
    return assembled(model, labels, data.feature_names, sha256, notes=notes, details=details)


def details_of(trained: Trained, X: NDArray[Any]) -> dict[str, Any]:
    """What the report shows: the model, and everything the search tried."""
    theta, figures = trained.model.theta, trained.model.figures(spread(X, SOME_ROWS))
    details = {"C": theta.C, "kernel": theta.kernel.text(), **figures}
    if trained.chosen:
        details |= {"ceiling": trained.chosen.ceiling, "validation_accuracy": trained.chosen.accuracy}
        details["search"] = [one.as_dict() for one in trained.tried]
    return details


def _unconverged(leaves: Sequence[Leaf]) -> tuple[str, ...]:
    """A note where LIBSVM gave up."""
    count = sum(not leaf.converged for leaf in leaves)
    if not count:
        return ()
    return (
        f"LIBSVM stopped before it converged in {count} of {len(leaves)} leaves; "
        "more iterations or a smaller C helps",
    )


def in_front_of(svm: SVM, data: Data | None, options: ReuseOptions) -> Program:
    """The program of either mode."""
    assert data is not None
    options.check()
    svm, data = (
        svm.dense("method 'dtsvm' in front of an SVM"),
        data.dense("method 'dtsvm' in front of an SVM"),
    )
    given = Given.of(svm, data)
    return train_anew(given, options) if options.mode == "search" else _reused(given, options)


def _reused(given: Given, options: ReuseOptions) -> Program:
    y = given.predicted  # what the leaves learn
    if options.labels == "given":
        y = given.known_truth("labels=given needs labels with the data; pass y, or use labels=model")
    theta = given.theta(options.C)
    covered = options.ceiling >= len(given.X)
    choice = Choice(None, (), 0) if covered else choose(given, y, theta, options)
    details: dict[str, Any] = {"C": theta.C, "tried": [one.as_dict() for one in choice.tried]}
    if theta.class_weights:
        details["class_weights"] = list(theta.class_weights)
    if choice.best is None:
        return _unchanged(given, choice, options, covered, details)
    trainer = Trainer(given, y, theta, options)
    cut = trainer.cut(trainer.grown(choice.best.ceiling), choice.best.ceiling, choice.best.delta)
    if cut.model.tree.n_leaves == 1:
        return _unchanged(given, choice, options, True, details)
    details |= {"ceiling": cut.ceiling, "delta": cut.delta, **_figures(given, cut, y)}
    details["held_out"] = {"rows": choice.held, **choice.best.as_dict()}
    notes = _unconverged(cut.model.leaves)
    if not choice.best.meets_target:
        missed = (
            f"agreement {choice.best.agreement:.2%} on the {choice.held} rows held out does not prove "
            f"the target of {options.target:.2%}; use a larger ceiling or delta"
        )
        notes = (missed, *notes)
    return leaf_program(given, cut.model, "x", notes, details)


def _figures(given: Given, cut: Cut, y: Indices) -> dict[str, Any]:
    """Sizes, and the terms of the paper's error bound beside those of the given SVM."""
    model, (n_rows, n_features) = cut.model, given.X.shape
    judged = [
        replace(leaf, risk=leaf_risk(leaf, task))
        for leaf, task in zip(model.leaves, cut.tasks, strict=True)
    ]
    bound: dict[str, Any] = terms(judged, model.rule, given.n_classes, n_rows, n_features)
    whole = _risk_of_given(given, y)
    bound["R_over_S"] = bound["R"] / whole if whole else None
    tables = tables_of(model.tree, model.leaves)
    size = sum(4 * t.size if t.dtype == np.float64 else t.nbytes for t in tables.values())
    pure = np.array([leaf.is_pure for leaf in model.leaves])[model.tree.leaves(given.X)]
    # Cells overlap, so their sizes do not tell how many rows fall into pure leaves.
    found = model.figures(spread(given.X, SOME_ROWS)) | {"pure_share": float(pure.mean())}
    return {**found, "bytes": size, "error_bound": bound}


def _risk_of_given(given: Given, y: Indices) -> float | None:
    """S: the same sum for the one SVM over all rows; None where it has too many vectors."""
    svm = given.svm
    if not 0 < svm.n_vectors <= MOST_NORM_VECTORS or svm.n_sums == 2:
        return None
    leaf = given.as_leaf()
    sums = given.sums * (given.sign if given.keeps_scores else 1.0)
    slack = [float(np.square(xi).sum()) for xi in slacks(leaf, given.rule, sums, y)]
    return float(squared_norms(leaf, given.theta(0.0)).mean()) + float(np.mean(slack))


def _unchanged(
    given: Given, choice: Choice, options: ReuseOptions, covered: bool, details: dict[str, Any]
) -> Program:
    """The given SVM itself, and why."""
    why = "the ceiling covers all rows"
    if not covered:
        best = max(choice.tried, key=lambda one: one.agreement, default=None)
        why = (
            f"no tree that is cheaper proves the target agreement of {options.target:.2%}"
            f" on the {choice.held} rows held out"
        )
        if best:
            why += f" (best: {best.agreement:.2%} at ceiling {best.ceiling}, delta {best.delta:g})"
        why += "; a lower target or more data helps"
    builder = Builder(given.svm)
    note = f"{why}: the result is the given SVM"
    return builder.finish(
        builder.exact_sums(), "dtsvm", Claim.APPROXIMATE, (note,), details={**details, "leaves": 1}
    )


def leaf_program(
    given: Given, model: Decomposition, routed: str, notes: tuple[str, ...], details: dict[str, Any]
) -> Program:
    """Preprocessing, the route (of rows as they come, "x", or as the kernel sees them), sums and label."""
    builder, leaves = Builder(given.svm), model.leaves
    z = builder.preprocess()
    if given.keeps_scores and given.sign < 0:
        leaves = tuple(replace(leaf, weights=-leaf.weights, bias=-leaf.bias) for leaf in leaves)
    builder.tables |= tables_of(model.tree, leaves)
    builder.body += leaf_nodes(model, "x" if routed == "x" else z, z, given.n_classes)
    if given.keeps_scores:
        return builder.finish("sums", "dtsvm", Claim.APPROXIMATE, notes, details=details)
    builder.body.append(label_node(given.rule))
    outputs = (Output("label", "label"),)
    return builder.program(outputs, "dtsvm", Claim.APPROXIMATE, (*notes, LABELS_ONLY), details=details)


def train_anew(given: Given, options: ReuseOptions) -> Program:
    """A classifier trained anew on the given labels, with parameters around the SVM's own."""
    truth = given.known_truth("mode=search trains on the data's labels; pass y, or use mode=reuse")
    theta = given.theta(0.0)
    kernel = theta.kernel
    gammas = Numbers([kernel.gamma * f for f in AROUND]) if kernel.kind in NEEDS_GAMMA else Numbers(1.0)
    around = TrainOptions(
        mode="1ao" if given.rule == "ovr" else "1a1",
        kernel=kernel.kind,
        C=Numbers([theta.C * f for f in AROUND]),
        gamma=gammas,
        coef0=kernel.coef0,
        degree=kernel.degree,
        scale=False,
        **{
            name: getattr(options, name)
            for name in ("validation", "min_leaf", "iterations", "seed", "jobs")
        },
    )
    return _search_program(given, train_classifier(given.z, truth, given.n_classes, around), truth)


def _search_program(given: Given, trained: Trained, truth: Indices) -> Program:
    model = trained.model
    predicted: NDArray[Any] = model.predict(given.z)
    details = {"search": [], **details_of(trained, given.z)} | {
        "agreement": float((predicted == given.predicted).mean()),
        "accuracy": float((predicted == truth).mean()),
        "accuracy_of_given": float((given.predicted == truth).mean()),
    }
    if model.tree.n_leaves > 1:
        return leaf_program(given, model, "z", (NEW,), details)
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


METHOD = Method(
    in_front_of, ReuseOptions, Claim.APPROXIMATE, needs_data=True, takes_sparse=True, train=train,
    train_options=TrainOptions,
    quicker=("delta=0", "ceiling=400"),
)  # fmt: skip

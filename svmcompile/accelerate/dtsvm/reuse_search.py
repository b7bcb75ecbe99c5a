"""mode=search: an SVM and labelled data enter, a DTSVM trained anew around the SVM's parameters leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.dtsvm.given import Given
from svmcompile.accelerate.dtsvm.options import Numbers, TrainOptions
from svmcompile.accelerate.dtsvm.reuse_options import ReuseOptions
from svmcompile.accelerate.dtsvm.reuse_program import SOME_ROWS, Parts, leaf_program
from svmcompile.accelerate.dtsvm.trainer import NEEDS_GAMMA, Trained, train_classifier
from svmcompile.errors import OptionError
from svmcompile.ir.kinds import Indices
from svmcompile.ir.program import Claim, Program

AROUND = (0.1, 1.0, 10.0)  # times the SVM's own C and gamma
NEW = "mode=search trained a new classifier on the given labels: judge it by its accuracy"


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

"""dtsvm, trained: labelled rows in, a tree with an SVM in every mixed leaf out, as a program."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.program import assembled
from svmcompile.accelerate.dtsvm.training import Trained, terms, train_classifier
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import digest

SOME_ROWS = 20_000  # tell how many vectors a row meets


def train(data: Data, options: TrainOptions) -> Program:
    """The classifier that the search finds best, as a program."""
    assert data.y is not None
    X = _finite(data.X)
    classes, y = np.unique(data.y, return_inverse=True)
    labels = Labels.of(classes, "dtsvm: y")
    if len(labels) < 2:
        raise OptionError("dtsvm: all rows have one class; training needs at least two classes")
    trained = train_classifier(X, y.astype(np.intp), len(labels), options)
    recorded = {f.name: str(getattr(options, f.name)) for f in fields(options) if not f.metadata}
    sha256 = digest({"X": X, "y": y, "classes": labels.values, "options": sorted(recorded.items())})
    details = details_of(trained, X, options.risk)
    return assembled(
        trained.model, labels, data.feature_names, sha256, notes=_notes(trained, len(X)), details=details
    )


def _finite(X: NDArray[Any]) -> NDArray[Any]:
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise OptionError(
            f"dtsvm: row {bad[0]} holds a NaN or an infinity ({len(bad)} such rows); remove or fill them"
        )
    return X


def details_of(trained: Trained, X: NDArray[Any], risk: bool) -> dict[str, Any]:
    """What the report shows: the model, and everything the search tried."""
    model = trained.model
    details = {
        "C": model.theta.C,
        "kernel": model.theta.kernel.text(),
        **model.figures(X[:: -(-len(X) // SOME_ROWS)]),
    }
    if risk:
        L, R = model.tree.n_leaves, sum(leaf.risk for leaf in model.leaves)
        details |= terms(R, L, sum(leaf.size for leaf in model.leaves), X.shape[1])
    if trained.chosen:
        details |= {"ceiling": trained.chosen.ceiling, "validation_accuracy": trained.chosen.accuracy}
        details["search"] = [one.as_dict() for one in trained.tried]
    return details


def _notes(trained: Trained, n_rows: int) -> tuple[str, ...]:
    notes = []
    unconverged = sum(not leaf.converged for leaf in trained.model.leaves)
    if unconverged:
        notes.append(
            f"LIBSVM stopped before it converged in {unconverged} of {len(trained.model.leaves)} leaves; "
            "more iterations or a smaller C helps"
        )
    if trained.model.tree.n_leaves == 1:
        notes.append("the tree has one leaf: the program is one SVM over all rows")
    return tuple(notes)

"""Rows of files scored by a loaded model: what is wanted of them, and what becomes of missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data import Data
from svmcompile.data.rows import gap_text, gaps, side_by_side
from svmcompile.data.text import is_text
from svmcompile.errors import MissingValueError, OptionError
from svmcompile.ir.check import infer_types
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Program


@dataclass(frozen=True, slots=True)
class Scoring:
    """What is wanted of every row beside its label or value."""

    scores: bool = False
    probabilities: bool = False
    allow_missing: bool = False

    def check(self, program: Program) -> None:
        """An error if the program cannot give it."""
        if self.scores and program.output("scores") is None:
            raise OptionError("--scores: this model has no decision function")
        if self.probabilities and program.output("probabilities") is None:
            raise OptionError(
                "--probabilities: this model gives none; train it with probability=True, or calibrate it"
            )


@dataclass(frozen=True, eq=False)
class Scored:
    """What a model says of some rows."""

    values: NDArray[Any]
    scores: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None
    unscored: NDArray[np.bool_] | None = None  # rows with missing values
    kept: Mapping[str, Any] = field(default_factory=dict)

    def as_keywords(self) -> dict[str, Any]:
        """As `PredictionWriter.write` takes it, beside values and scores."""
        return {"probabilities": self.probabilities, "unscored": self.unscored, "kept": self.kept}


def score(model: Any, data: Data, wanted: Scoring, where: str, first: int) -> Scored:
    """Score some rows of a file, of which `first` is the number of the first, counted from 1."""
    found = None if is_text(data.X) else gaps(data.X, model.may_miss)
    if found is not None and not wanted.allow_missing:
        raise MissingValueError(
            f"{where}: {gap_text(data.X, found, data.feature_names or model.feature_names, first)}; "
            "fill it in, or add --allow-missing to score the other rows (rows count from 1)"
        )
    return Scored(
        model.predict(data.X, allow_nan=True),
        model.decision_function(data.X, allow_nan=True) if wanted.scores else None,
        side_by_side(model.predict_proba(data.X, allow_nan=True)) if wanted.probabilities else None,
        None if found is None else np.asarray(found.any(axis=1)),
        data.kept,
    )


def score_names(program: Program) -> tuple[str, ...]:
    """Names of the columns of decision values: by class, or by the two classes that a pair decides between.

    A value of its own belongs to the class that it speaks for when it is above zero.
    """
    value, labels = program.output("scores"), program.labels.values if program.labels else ()
    if value is None:
        return ()
    if program.labels and program.labels.targets:
        return tuple(f"score_{target}" for target in range(program.labels.per_row))
    by_pairs = any(getattr(node, "pairs", None) == value for node in program.body)
    if by_pairs and len(labels) > 2:
        return tuple(f"score_{labels[i]}_{labels[j]}" for i, j in pair_indices(len(labels)))
    rule: Any = next((node for node in program.body if getattr(node, "score", None) == value), None)
    if rule is not None and hasattr(rule, "hit"):
        return (f"score_{labels[rule.hit if rule.positive else rule.miss]}",)
    return tuple(f"score_{label}" for label in labels)


def chance_names(program: Program) -> tuple[Any, ...]:
    """What each probability is of: a class, a target that is 1, or a class of a target."""
    labels, value = program.labels, program.output("probabilities")
    if labels is None or not labels.targets:
        return labels.values if labels else ()
    if value is None or infer_types(program)[value].width == labels.per_row:
        return tuple(range(labels.per_row))
    every = enumerate(labels.of_targets())
    return tuple(f"{target}_{label}" for target, classes in every for label in classes)

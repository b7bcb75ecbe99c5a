"""Teacher: what the SVM's sums say, as targets of a loss, and scores read as sums again.

One sum (two classes, one class) and sums that a head reads are learned as chances: the cross-entropy is
least where the score is the sum itself, and errors count where they can change the label. Votes
of pairs become a chance per class, and the label the class with the largest score. Values are learned
by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import class_numbers, labels_of, likeness
from svmcompile.accelerate.proto.network import Floats, Loss
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.model.svm import SVM, LabelRule

SHARPNESS = 2.0  # a typical sum becomes this in logits
LEAST_LEAD = 1e-3  # of the class that the vote names, where a tie hides it


@dataclass(frozen=True, eq=False)
class Teacher:
    """An SVM whose sums are learned: score = (sum - level) / unit."""

    svm: SVM
    loss: Loss
    unit: Array  # [1], or [sums] of a regressor
    level: Array

    @property
    def votes(self) -> bool:
        """Whether classes are learned rather than sums."""
        return self.loss == "softmax"

    @property
    def outputs(self) -> int:
        return len(self.svm.counts) if self.votes else self.svm.n_sums

    def targets(self, sums: Array) -> Array:
        if self.loss == "squares":
            return (sums - self.level) / self.unit
        if self.loss == "logistic":
            return _chance(sums / self.unit)
        leads = self._leads(sums) / self.unit
        powers = np.exp(leads - leads.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def with_labels(self, targets: Array, given: NDArray[np.generic], share: float) -> Array:
        """Targets mixed with those of the data's own labels; unknown labels say nothing."""
        if self.loss == "squares":
            own = np.broadcast_to(given.astype(np.float64)[:, None], targets.shape)
            return (1 - share) * targets + share * (own - self.level) / self.unit
        numbers = class_numbers(self.svm, given)
        if self.votes:
            own = np.eye(self.outputs)[numbers]
        else:
            positive = labels_of(self.svm, np.ones((1, 1)))[0]
            own = (numbers == positive)[:, None].astype(np.float64)
        return np.where((numbers >= 0)[:, None], (1 - share) * targets + share * own, targets)

    def likeness(self, sums: Array, scores: Floats) -> float:
        """How well scores do: the share of equal labels, or of variance explained."""
        if self.votes:
            return float(np.mean(labels_of(self.svm, sums) == scores.argmax(axis=1)))
        return likeness(self.svm, sums, scores * self.unit + self.level)

    def _leads(self, sums: Array) -> Array:
        """For each class how far it is ahead of the nearest other; the one the vote names is first."""
        k = self.outputs
        first, second = np.triu_indices(k, 1)
        leads = np.full((k, len(sums)), np.inf)
        np.minimum.at(leads, first, sums.T)
        np.minimum.at(leads, second, -sums.T)
        winner, row = labels_of(self.svm, sums), np.arange(len(sums))
        ahead = leads.max(axis=0) + LEAST_LEAD * self.unit
        leads[winner, row] = np.maximum(leads[winner, row], ahead)
        return np.asarray(leads.T)


def teacher(svm: SVM, sums: Array) -> Teacher:
    """How to learn from an SVM, by its sums on some rows."""
    if svm.label_rule is LabelRule.NONE:
        spread = sums.std(axis=0)
        return Teacher(svm, "squares", np.where(spread > 0, spread, 1.0), sums.mean(axis=0))
    typical = float(np.median(np.abs(sums)))
    unit = np.array([typical / SHARPNESS if typical > 0 else 1.0])
    plain_votes = len(svm.counts) > 2 and svm.head is None and not svm.most_probable
    return Teacher(svm, "softmax" if plain_votes else "logistic", unit, np.zeros(1))


def refuse_labels(svm: SVM, given: NDArray[np.generic] | None) -> None:
    """An error where labels are asked for and there are none, or the model does not learn from them."""
    if given is None:
        raise OptionError("proto: labels are asked for, and the data has none; pass y, or --label COLUMN")
    values = svm.label_rule is LabelRule.NONE
    if values and given.dtype.kind not in "biuf":
        raise OptionError("proto: a regressor learns from numbers, and the labels of the data are none")
    classes = svm.labels is not None and (svm.n_sums == 1 or len(svm.counts) > 2) and svm.head is None
    if svm.sample_offset is not None or svm.density_marks is not None or not (values or classes):
        raise OptionError(
            f"proto: labels say nothing about the sums of {svm.source.kind}; leave the option labels out"
        )


def _chance(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500))))

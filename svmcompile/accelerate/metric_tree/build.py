"""One tree of one form: rows and settings enter, nodes and figures leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.narrow import BYTES
from svmcompile.accelerate.metric_tree.assemble import Assembler, Part, single
from svmcompile.accelerate.metric_tree.grow import Fit, Grower, Limits
from svmcompile.accelerate.metric_tree.judge import Judge
from svmcompile.accelerate.metric_tree.leaves import Fitter, Leaf, Rows
from svmcompile.accelerate.metric_tree.sample import Sample
from svmcompile.accelerate.metric_tree.splits import AxisSplitter, PlaneSplitter
from svmcompile.accelerate.metric_tree.tree import Tree, arranged
from svmcompile.ir.kernel import Array
from svmcompile.ir.walks import leaf_depths

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Form:
    """What kind of tree: its splits, its leaves, and when a leaf is good enough."""

    name: str
    split: str  # affine | gradient-axis | midpoint | median
    leaf: str  # ridge | taylor | quadratic
    eps: float
    min_leaf: int
    augment: int = 0
    by_risk: bool = False  # errors are expected ones, from the spread of the residuals, not counted ones

    @property
    def grows_out(self) -> bool:
        """Down to single rows, as published: nothing is fitted on the way."""
        return self.eps < 0


PUBLISHED = Form("published", "midpoint", "taylor", -1.0, 1)


@dataclass(frozen=True, eq=False)
class Built:
    """A tree as nodes, with its size."""

    form: Form
    part: Part
    n_leaves: int
    max_depth: int
    mean_depth: float  # over the rows it was built from; tests, without the leaf's own dot product
    left_out_agreement: float | None  # of the rows it was built from, each left out; None: not known
    several_classes: bool

    def figures(self) -> dict[str, Any]:
        """For reports."""
        return {
            "form": self.form.name,
            "split": self.form.split,
            "leaf": self.form.leaf,
            "stop": "risk" if self.form.by_risk else "errors",
            "eps": self.form.eps,
            "min_leaf": self.form.min_leaf,
            "augment": self.form.augment,
            "leaves": self.n_leaves,
            "max_depth": self.max_depth,
            "mean_depth": round(self.mean_depth, 4),
            "bytes": self.part.bytes,
        }


@dataclass(frozen=True, slots=True)
class Workbench:
    """What all trees over one SVM share."""

    field: Field
    judge: Judge
    ridge: float
    max_leaves: int
    max_bytes: int
    dtype: str
    x: str = "x"  # the value the nodes read

    def sample(self, points: Array, with_targets: bool) -> Sample:
        """What is known of the points."""
        return Sample.of(self.field, self.judge, points, with_targets)

    def build(self, form: Form, sample: Sample) -> Built:
        """The tree of this form over the rows."""
        fitter = self._fitter(form)
        rows = Rows(
            sample.points - sample.centre, sample.sums, sample.classes, sample.weights, sample.centre
        )
        if form.split == "affine":
            form = replace(form, min_leaf=len(sample.points))
        limited = bool(self.max_leaves or self.max_bytes)
        fit = None if form.grows_out and not limited else self._fit(form, fitter, rows)
        root = Grower(_splitter(form, sample, rows), fit, self._limits(form, sample)).grow(len(rows.places))
        tree = arranged(root)
        leaves = [branch.leaf for branch in tree.leaves if branch.leaf is not None]
        if not leaves:
            means = np.array([rows.places[branch.rows].mean(axis=0) for branch in tree.leaves])
            leaves = fitter.taylor(means, sample.centre)
        return self._built(form, sample, tree, leaves, fit is not None)

    def _fitter(self, form: Form) -> Fitter:
        svm = self.field.svm
        restricted = bool(svm.counts) and not form.grows_out and form.split != "affine"
        correct = form.leaf != "taylor" and not form.grows_out
        return Fitter(self.field, correct, form.leaf == "quadratic", self.ridge, restricted)

    def _fit(self, form: Form, fitter: Fitter, rows: Rows) -> Fit:
        def fit(which: Indices) -> tuple[Leaf, float]:
            some = rows.some(which)
            leaf, left_out = fitter.fit(some)
            return leaf, self.judge.errors(left_out, some.sums, some.classes, some.weights, form.by_risk)

        return fit

    def _limits(self, form: Form, sample: Sample) -> Limits:
        d, m, number = len(sample.centre), self.field.n_sums, BYTES[self.dtype]
        width = d + d * (d + 1) // 2 if form.leaf == "quadratic" else d
        node = 16 if form.split == "gradient-axis" else d * number + 12

        def leaf_bytes(leaf: Leaf | None) -> int:
            functions = m if leaf is None else len(leaf.sums)
            return 4 + 4 * m + functions * (8 + width * number)

        room = max(1, self.max_bytes - 4 * (d + 1)) if self.max_bytes else 0  # beside centre and end
        return Limits(form.eps, form.min_leaf, self.max_leaves, room, node, leaf_bytes)

    def _built(self, form: Form, sample: Sample, tree: Tree, leaves: list[Leaf], fitted: bool) -> Built:
        quadratic = form.leaf == "quadratic"
        if len(leaves) == 1:
            part = single(leaves[0], sample.centre, quadratic, self.x)
            depths = np.zeros(1, dtype=np.intp)
        else:
            part = Assembler(sample.points, sample.centre, quadratic, self.dtype, self.x).part(tree, leaves)
            depths = leaf_depths(tree.children)
        sizes = np.array([len(branch.rows) for branch in tree.leaves])
        wrong = sum(branch.wrong for branch in tree.leaves)
        agreement = 1 - wrong / sizes.sum() if fitted else None
        mean = float((depths * sizes).sum() / sizes.sum())
        return Built(
            form, part, len(leaves), int(depths.max()), mean, agreement, bool(self.field.svm.counts)
        )


def _splitter(form: Form, sample: Sample, rows: Rows) -> AxisSplitter | PlaneSplitter:
    if form.split == "gradient-axis":
        assert sample.targets is not None, "axis splits need the gradients"
        return AxisSplitter(sample.points, sample.targets, sample.weights)
    return PlaneSplitter(rows.places, "median" if form.split == "median" else "midpoint")

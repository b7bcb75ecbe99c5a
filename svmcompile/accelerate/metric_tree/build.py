"""One tree of one form: rows and settings enter, nodes and figures leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import BYTES, in_blocks, narrow
from svmcompile.accelerate.metric_tree.grow import (
    AxisSplitter,
    Fit,
    Grower,
    Limits,
    PlaneSplitter,
    Tree,
    arranged,
)
from svmcompile.accelerate.metric_tree.leaves import Fitter, Judge, Leaf, Sample, products
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import run
from svmcompile.ir.nodes import Node
from svmcompile.ir.walks import leaf_depths

BLOCK_ROWS = 4096
OUT = "tree"
Indices = NDArray[np.int64]
Tables = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Part:
    """Nodes from `x`, a row in kernel space, to its sums, the value of the last; with their tables."""

    x: str
    nodes: tuple[Node, ...]
    tables: Mapping[str, NDArray[Any]]

    def sums(self, points: Array) -> Array:
        """The sums of rows in kernel space, as the interpreter gives them."""
        return in_blocks(self._block, points, BLOCK_ROWS)

    def _block(self, points: Array) -> Array:
        env: dict[str, NDArray[Any]] = {self.x: points}
        for node in self.nodes:
            env[node.out] = run(node, env, self.tables)
        return np.asarray(env[self.nodes[-1].out])

    @property
    def bytes(self) -> int:
        """Of the tables in a float32 program."""
        return sum(t.size * 4 if t.dtype == np.float64 else t.nbytes for t in self.tables.values())


def single(leaf: Leaf, centre: Array, quadratic: bool, x: str) -> Part:
    """One function for all rows."""
    d, m = len(centre), len(leaf.bias)
    weights = np.zeros((m, leaf.weights.shape[1]))
    weights[leaf.sums] = leaf.weights
    tables = {"leaf_weights": weights[:, :d], "leaf_bias": leaf.bias, "tree_centre": centre}
    names = ("leaf_weights", "leaf_bias", "tree_centre")
    if not quadratic:
        return Part(x, (ir.Affine(OUT, x, *names),), tables)
    tables["leaf_squares"] = weights[:, d:]
    return Part(x, (ir.Quadratic(OUT, x, "leaf_squares", *names),), tables)


@dataclass(frozen=True, slots=True)
class Assembler:
    """Makes parts of trees grown on `points`, with functions about `centre`."""

    points: Array
    centre: Array
    quadratic: bool
    dtype: str
    x: str

    def part(self, tree: Tree, leaves: list[Leaf]) -> Part:
        """A route and the functions of its leaves."""
        route, tables = self._route(tree)
        tables |= self._functions(tree, leaves) | {"tree_centre": self.centre}
        names = ("leaf_starts", "leaf_sums", "leaf_weights", "leaf_units", "leaf_bias")
        if not self.quadratic:
            return Part(self.x, (route, ir.LeafAffine(OUT, self.x, "leaf", *names, "tree_centre")), tables)
        tables["leaf_centre"] = np.zeros(tables["leaf_weights"].shape[1])
        squares = ir.Products("products", self.x, "tree_centre")
        function = ir.LeafAffine(OUT, "products", "leaf", *names, "leaf_centre")
        return Part(self.x, (route, squares, function), tables)

    def _route(self, tree: Tree) -> tuple[Node, Tables]:
        tables: Tables = {"tree_children": tree.children, "tree_thresholds": tree.thresholds}
        if tree.planes is None:
            tables["tree_features"] = tree.features
            return ir.AxisRoute("leaf", self.x, "tree_features", "tree_thresholds", "tree_children"), tables
        stored = narrow(tree.planes, self.dtype, "hyperplanes")
        between = (self.points[tree.pairs[:, 0]] + self.points[tree.pairs[:, 1]]) / 2 - self.centre
        # A narrow plane is turned a little; between its two rows it must not move.
        moved = np.einsum("ij,ij->i", stored.missed, between)
        tables["tree_planes"] = stored.stored
        tables["tree_thresholds"] = (tree.thresholds - moved) / stored.units
        names = ("tree_planes", "tree_thresholds", "tree_children", "tree_centre")
        return ir.PlaneRoute("leaf", self.x, *names), tables

    def _functions(self, tree: Tree, leaves: list[Leaf]) -> Tables:
        """Tables of all leaves' functions; there is always one, if need be of zeros."""
        counts = [len(leaf.sums) for leaf in leaves]
        sums, weights = [leaf.sums for leaf in leaves], [leaf.weights for leaf in leaves]
        if not sum(counts):
            counts[0] = 1
            sums, weights = [np.zeros(1, dtype=np.int64)], [np.zeros((1, leaves[0].weights.shape[1]))]
        stored = narrow(np.concatenate(weights), self.dtype, "leaf weights")
        of_sum, leaf_of = np.concatenate(sums), np.repeat(np.arange(len(leaves)), counts)
        bias = np.array([leaf.bias for leaf in leaves])
        # Narrow weights are off; the constant makes up for it in the middle of the leaf.
        missed = np.einsum("ij,ij->i", stored.missed, self._middles(tree)[leaf_of])
        np.add.at(bias, (leaf_of, of_sum), missed)
        return {
            "leaf_starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            "leaf_sums": of_sum.astype(np.int32),
            "leaf_weights": stored.stored,
            "leaf_units": stored.units,
            "leaf_bias": bias,
        }

    def _middles(self, tree: Tree) -> Array:
        means = np.array([self.points[branch.rows].mean(axis=0) for branch in tree.leaves]) - self.centre
        return products(means) if self.quadratic else means


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


@dataclass(frozen=True, eq=False)
class Built:
    """A tree as nodes, with its size."""

    form: Form
    part: Part
    n_leaves: int
    max_depth: int
    mean_depth: float  # over the rows it was built from; tests, without the leaf's own dot product
    left_out_agreement: float | None  # of the rows it was built from, each left out; None: not known

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
    max_depth: int
    max_leaves: int
    max_bytes: int
    dtype: str
    x: str = "x"  # the value the nodes read

    def sample(self, points: Array, with_targets: bool) -> Sample:
        """What is known of the points."""
        return Sample.of(self.field, self.judge, points, with_targets)

    def build(self, form: Form, sample: Sample) -> Built:
        """The tree of this form over the rows."""
        restricted = bool(self.field.svm.counts) and not form.grows_out and form.split != "affine"
        correct = form.leaf != "taylor" and not form.grows_out
        quadratic = form.leaf == "quadratic"
        fitter = Fitter(self.field, sample.centre, correct, quadratic, self.ridge, restricted)
        rows = replace(sample, points=sample.points - sample.centre)
        if form.split == "affine":
            form = replace(form, min_leaf=len(sample.points))
        limited = bool(self.max_leaves or self.max_bytes)
        fit = None if form.grows_out and not limited else self._fit(form, fitter, rows)
        root = Grower(_splitter(form, sample, rows), fit, self._limits(form, sample)).grow(len(rows.points))
        tree = arranged(root)
        leaves = [branch.leaf for branch in tree.leaves if branch.leaf is not None]
        if not leaves:
            means = np.array([rows.points[branch.rows].mean(axis=0) for branch in tree.leaves])
            leaves = fitter.taylor(means)
        return self._built(form, sample, tree, leaves, fit is not None)

    def _fit(self, form: Form, fitter: Fitter, rows: Sample) -> Fit:
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
        return Limits(form.eps, form.min_leaf, self.max_depth, self.max_leaves, room, node, leaf_bytes)

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
        return Built(form, part, len(leaves), int(depths.max()), mean, agreement)


def _splitter(form: Form, sample: Sample, rows: Sample) -> AxisSplitter | PlaneSplitter:
    if form.split == "gradient-axis":
        assert sample.targets is not None, "axis splits need the gradients"
        return AxisSplitter(sample.points, sample.targets, sample.weights)
    return PlaneSplitter(rows.points, "median" if form.split == "median" else "midpoint")


PUBLISHED = Form("published", "midpoint", "taylor", -1.0, 1)

"""Nodes and tables of a tree: what a grown tree becomes in a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.narrow import narrow
from svmcompile.accelerate.metric_tree.leaves import Leaf, products
from svmcompile.accelerate.metric_tree.tree import Tree
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import run
from svmcompile.ir.nodes import Node

BLOCK_ROWS = 4096
OUT = "tree"


@dataclass(frozen=True, eq=False)
class Part:
    """Nodes from `x`, a row in kernel space, to `tree`, its sums; with their tables."""

    x: str
    nodes: tuple[Node, ...]
    tables: Mapping[str, NDArray[Any]]

    def sums(self, points: Array) -> Array:
        """The sums of rows in kernel space, as the interpreter gives them."""
        return np.concatenate(
            [self._block(points[at : at + BLOCK_ROWS]) for at in range(0, max(len(points), 1), BLOCK_ROWS)]
        )

    def _block(self, points: Array) -> Array:
        env: dict[str, NDArray[Any]] = {self.x: points}
        for node in self.nodes:
            env[node.out] = run(node, env, self.tables)
        return np.asarray(env[OUT])

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

    def _route(self, tree: Tree) -> tuple[Node, dict[str, NDArray[Any]]]:
        tables: dict[str, NDArray[Any]] = {
            "tree_children": tree.children,
            "tree_thresholds": tree.thresholds,
        }
        if tree.planes is None:
            tables["tree_features"] = tree.features
            return ir.AxisRoute("leaf", self.x, "tree_features", "tree_thresholds", "tree_children"), tables
        stored = narrow(tree.planes, self.dtype, "hyperplanes")
        between = (self.points[tree.pairs[:, 0]] + self.points[tree.pairs[:, 1]]) / 2 - self.centre
        # A narrow plane is turned a little; between its two rows it must not move.
        moved = np.einsum("ij,ij->i", stored.missed, between)
        tables |= {
            "tree_planes": stored.stored,
            "tree_thresholds": (tree.thresholds - moved) / stored.units,
        }
        names = ("tree_planes", "tree_thresholds", "tree_children", "tree_centre")
        return ir.PlaneRoute("leaf", self.x, *names), tables

    def _functions(self, tree: Tree, leaves: list[Leaf]) -> dict[str, NDArray[Any]]:
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
        np.add.at(
            bias, (leaf_of, of_sum), np.einsum("ij,ij->i", stored.missed, self._middles(tree)[leaf_of])
        )
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

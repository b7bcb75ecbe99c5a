"""Decomposition: a tree, the classifier of every leaf, and what they cost a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Theta, predict
from svmcompile.accelerate.dtsvm.tree import Tree
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Indices


@dataclass(frozen=True, eq=False)
class Scaling:
    """z = (x - shift) * factor, feature by feature, before the kernel; trees see x itself."""

    shift: Array
    factor: Array

    @classmethod
    def to_unit(cls, X: NDArray[Any]) -> Scaling:
        """Features to 0..1; one that never changes becomes 0."""
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        return cls(low, np.divide(1.0, high - low, out=np.zeros_like(low), where=high > low))

    @classmethod
    def none(cls, n_features: int) -> Scaling:
        return cls(np.zeros(n_features), np.ones(n_features))

    def __call__(self, X: NDArray[Any]) -> Array:
        return (np.asarray(X, dtype=np.float64) - self.shift) * self.factor


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A DTSVM classifier; classes are numbers."""

    tree: Tree
    leaves: tuple[Leaf, ...]
    theta: Theta
    rule: LeafRule
    scaling: Scaling

    def predict(self, X: NDArray[Any]) -> Indices:
        """The class of every row."""
        at = self.tree.leaves(X)
        found = np.zeros(len(X), dtype=np.intp)
        for leaf, rows in zip(self.leaves, rows_by_leaf(at, len(self.leaves)), strict=True):
            if len(rows):
                found[rows] = predict(leaf, self.theta, self.rule, self.scaling(X[rows]))
        return found

    def figures(self, X: NDArray[Any]) -> dict[str, Any]:
        """Size of the model, and the vectors that the rows meet on average (section 2.5)."""
        sizes = np.array([leaf.size for leaf in self.leaves])
        pure = np.array([leaf.is_pure for leaf in self.leaves])
        summed = np.array([leaf.summed_vectors for leaf in self.leaves])
        unique = np.array([leaf.unique_vectors for leaf in self.leaves])
        share = np.bincount(self.tree.leaves(X), minlength=len(self.leaves)) / max(1, len(X))
        return {
            "leaves": len(self.leaves),
            "pure_leaves": int(pure.sum()),
            "pure_share": float(sizes[pure].sum() / sizes.sum()),
            "nesv": float(share @ summed),
            "nesv_unique": float(share @ unique),
            "tnsv": int(summed.sum()),
            "tnsv_unique": int(unique.sum()),
            "unconverged_leaves": sum(not leaf.converged for leaf in self.leaves),
        }


def rows_by_leaf(leaf: Indices, n_leaves: int) -> list[Indices]:
    """The rows of every leaf, in their order."""
    order = np.argsort(leaf, kind="stable")
    ends = np.cumsum(np.bincount(leaf, minlength=n_leaves))
    return [np.asarray(part, dtype=np.intp) for part in np.split(order, ends[:-1])]

"""Tree: what the builder makes, over the columns of a kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.sv_tree.split import Matrix
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Indices
from svmcompile.ir.walks import Paths, path_evaluations, path_sums, paths


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes, each with a column or, where its column was met before, ~level; see `ir.nodes.PathSum`."""

    picks: NDArray[np.int32]  # [nodes]
    thresholds: Array  # [nodes]
    children: NDArray[np.int32]  # [nodes, 2]
    starts: NDArray[np.int32]  # [leaves + 1]
    weights: Array  # [coefficients, outputs]
    bias: Array  # [leaves, outputs]

    def paths(self, K: Matrix) -> Paths:
        """Where the rows go."""
        return paths(K, self.picks, self.thresholds, self.children)

    def values(self, K: Matrix) -> Array:
        """The tree's outputs, [rows, outputs]."""
        path = self.paths(K)
        return path_sums(path.leaf, path.met, self.starts, self.weights, self.bias)

    def evaluations(self, K: Matrix) -> Indices:
        """How many kernel values each row needs."""
        return path_evaluations(self.picks, self.children)[self.paths(K).leaf]

    def columns(self) -> NDArray[np.int32]:
        """The columns in use, each once."""
        return np.unique(self.picks[self.picks >= 0])

    def renumbered(self) -> Tree:
        """The same tree over `columns()` only."""
        used = self.columns()
        picks = np.where(self.picks >= 0, np.searchsorted(used, self.picks), self.picks)
        return Tree(
            picks.astype(np.int32), self.thresholds, self.children, self.starts, self.weights, self.bias
        )

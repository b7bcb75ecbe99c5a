"""The program while it is put together: preprocessing, tree, reach, guard band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.decide import margin_rule
from svmcompile.accelerate.metric_tree.assemble import OUT, Part
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import run
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

BLOCK_ROWS = 4096


class Draft:
    """Nodes so far. `x` names the row in kernel space, `sums` what the heads will read."""

    def __init__(self, svm: SVM) -> None:
        self.builder = Builder(svm)
        self.x = self.builder.preprocess()
        self.steps = len(self.builder.body)
        self.sums = ""

    def add_tree(self, part: Part) -> None:
        self.builder.body.extend(part.nodes)
        self.builder.tables.update(part.tables)
        self.sums = OUT

    def add_reach(self, points: Array, times: float) -> None:
        """Beyond so many radii of the points, the sums at infinity."""
        centre = self.builder.tables["tree_centre"]
        radius = times * float(np.sqrt(np.square(points - centre).sum(axis=1).max()))
        far = self.builder.table("far", self.builder.svm.intercepts)
        self.builder.body.append(ir.Reach("reached", self.x, self.sums, "tree_centre", far, radius))
        self.sums = "reached"

    def add_guard(self, width: float) -> None:
        """Sums with a margin below the width come from the SVM itself."""
        self.builder.exact_sums("exact", x=self.x)
        self.builder.body.append(
            ir.Guard("guarded", self.sums, "exact", width, margin_rule(self.builder.svm))
        )
        self.sums = "guarded"

    def values(self, points: Array) -> Array:
        """The sums of rows in kernel space, so far."""
        starts = range(0, max(len(points), 1), BLOCK_ROWS)
        return np.concatenate([self._block(points[at : at + BLOCK_ROWS]) for at in starts])

    def _block(self, points: Array) -> Array:
        env: dict[str, NDArray[Any]] = {self.x: points}
        for node in self.builder.body[self.steps :]:
            env[node.out] = run(node, env, self.builder.tables)
        return np.asarray(env[self.sums])

    def program(self, details: Mapping[str, Any]) -> Program:
        return self.builder.finish(self.sums, "metric-tree", Claim.APPROXIMATE, details=details)

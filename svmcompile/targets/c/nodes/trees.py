"""Trees in C: routes to leaves, what leaves compute, and what stands around them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.node import CNode, plain

MOST_CODED = 256  # tests that stand in the code

HasCentre = ir.PlaneRoute | ir.LeafAffine | ir.Products | ir.PlaneLists
C = TypeVar("C", bound=HasCentre)
R = TypeVar("R", bound=ir.AxisRoute | ir.PlaneRoute)


class Centred(CNode[C]):
    """The row is taken about a centre, in a copy unless that is zero."""

    def fields(self) -> dict[str, Any]:
        return {"has_centre": bool(self.tables[self.node.centre].any())}

    def idle(self) -> set[str]:
        return set() if self.tables[self.node.centre].any() else {self.node.centre}

    def scratch(self) -> int:
        return self.size * self.width if self.tables[self.node.centre].any() else 0


class Route(CNode[R]):
    """A small tree stands in the code, test after test, which needs no table and no chain of loads."""

    @property
    def is_coded(self) -> bool:
        return len(self.tables[self.node.children]) <= MOST_CODED

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"tests": self.tests() if self.is_coded else []}

    def idle(self) -> set[str]:
        coded = {self.node.children, self.node.thresholds} if self.is_coded else set()
        return super().idle() | coded

    def feature(self, at: int) -> int:
        """The feature a test reads; none in particular."""
        return 0

    def tests(self) -> list[dict[str, Any]]:
        """The tests of the tree in an order in which the left child comes next."""
        children, thresholds = self.tables[self.node.children].tolist(), self.tables[self.node.thresholds]
        tests: list[dict[str, Any]] = []
        waiting = [0]
        while waiting:
            at = waiting.pop()
            left, right = children[at]
            tests.append(
                {
                    "node": at,
                    "feature": self.feature(at),
                    "threshold": self.literal(thresholds[at]),
                    "right": right,
                    "left_leaf": ~left if left < 0 else None,
                    "labelled": any(test["right"] == at for test in tests),
                }
            )
            waiting += [child for child in (right, left) if child >= 0]
        return tests


class AxisRoute(Route[ir.AxisRoute]):
    """Each test reads one feature."""

    def feature(self, at: int) -> int:
        return int(self.tables[self.node.features][at])

    def idle(self) -> set[str]:
        return super().idle() | ({self.node.features} if self.is_coded else set())


class PlaneRoute(Route[ir.PlaneRoute], Centred[ir.PlaneRoute]):
    """Each test is a dot product."""

    dots_with = "planes"
    parts = ("plane",)


class LeafAffine(Centred[ir.LeafAffine]):
    """The functions of the row's leaf."""

    dots_with = "weights"

    @property
    def is_single(self) -> bool:
        """One score, and one function for each leaf: then `starts` and `sums` tell nothing."""
        starts = self.tables[self.node.starts]
        return self.out_width == 1 and bool((np.diff(starts.astype(np.int64)) == 1).all())

    @property
    def has_units(self) -> bool:
        """Whether some unit is not one."""
        return bool((self.tables[self.node.units] != 1).any())

    def fields(self) -> dict[str, Any]:
        node, units = self.node, self.table(self.node.units) if self.has_units else ""
        return super().fields() | {
            "single": self.is_single,
            "complete": len(self.tables[node.sums]) == self.tables[node.bias].size,
            "unit": lambda index: f" * {units}[{index}]" if units else "",
        }

    def idle(self) -> set[str]:
        node = self.node
        units = set() if self.has_units else {node.units}
        return super().idle() | units | ({node.starts, node.sums} if self.is_single else set())


plain(__name__, ir.OneLeaf)

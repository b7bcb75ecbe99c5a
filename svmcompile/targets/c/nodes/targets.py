"""Several labels per row in C."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.node import CNode, plain


class Above(CNode[ir.Above]):
    """A comparison for each value."""

    keeps_time = True

    def fields(self) -> dict[str, Any]:
        return {"limit": self.literal(self.node.limit)}


plain(__name__, ir.LabelRow)

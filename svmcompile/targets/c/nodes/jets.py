"""Sums in blocks with jets in C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BLOCK, SEGMENT, Number
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import DOUBLE, CNode

FAR: dict[Number, float] = {"f32": 1e37, "f64": 1e300}  # squared distances beyond are taken as infinite


class JetSum(CNode[ir.JetSum]):
    """Kernel values of some vectors, in double where they add up, and jets of the others."""

    parts = ("form", "kernel", "meet", "narrow")
    calls = ("dot", "distance", "exp2")
    in_double = "claim"
    reads_two_tables = copies_row = True

    def fields(self) -> dict[str, Any]:
        node, is_float = self.node, self.number == "f32"
        jets, cells, _ = self.tables[node.gaps].shape
        log2e = math.log2(math.e)
        return {
            "exp2": f"{self.helper}_exp2",
            "is_float": is_float,
            "narrow_cast": "(float)" if is_float else "",
            "smallest": real(float(np.finfo(np.float32).tiny), "f64"),
            "rbf": True,
            "given": False,
            "prepared": f"const {c_real(self.number)} z[{self.width}]",
            "z": "z",
            "tolerance": "",
            "segment": SEGMENT,
            "scale": self.literal(-node.kernel.gamma * log2e),
            "gamma": self.literal(node.kernel.gamma),
            "minus_log2e": self.literal(-log2e),
            "jets": jets,
            "vector_count": len(self.tables[node.weights]),
            "block_size": BLOCK,
            "cells": cells,
            "limit": self.literal(float(cells)),
            "far": self.literal(FAR[self.number]),
        }

    def scratch(self) -> int:
        return super().scratch() + 2 * DOUBLE

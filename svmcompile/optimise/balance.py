"""Polynomial kernels in units of their own, so that values next to the support vectors are about one.

Features of size 1e6 under degree 3 make kernel values of 1e36, and coefficients of 1e-36 make up for them:
scores fit float32, what leads to them does not. (g x.s + r)^p = c^p ((g / c) x.s + r / c)^p, and c^p goes
into the weights. c is a power of two, so nothing is rounded.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Program
from svmcompile.optimise.fold import put

ORDINARY = 40  # bits above or below one that a kernel value may have as it is
MOST_BITS = 100  # above or below one that weights are given


def balance_powers(program: Program) -> Program:
    """Polynomial kernels whose values are far from one, rescaled; the meaning is kept to the last bit."""
    for index, node in enumerate(program.body):
        if isinstance(node, (ir.KernelSum, ir.PairSum)) and node.kernel.kind == "poly":
            kernel, weights = node.kernel, program.tables[node.weights]
            unit = 2.0 ** _bits(kernel, program.tables[node.vectors], weights)
            if unit != 1.0:
                scaled = replace(kernel, gamma=kernel.gamma / unit, coef0=kernel.coef0 / unit)
                tables = {node.weights: weights * unit**kernel.degree}
                program = put(program, index, [replace(node, kernel=scaled)], tables)
    return program


def _bits(kernel: Kernel, vectors: Array, weights: Array) -> int:
    """The logarithm of the unit; 0 where values are fine as they are."""
    largest = np.square(vectors).sum(axis=1).max(initial=0.0)
    base, size = (
        abs(kernel.gamma) * float(largest) + abs(kernel.coef0),
        float(np.abs(weights).max(initial=0.0)),
    )
    if not (0 < base < math.inf and size) or abs(kernel.degree * math.log2(base)) <= ORDINARY:
        return 0
    room = [(end - math.log2(size)) / kernel.degree for end in (-MOST_BITS, MOST_BITS)]
    wanted = round(math.log2(base))
    return (
        min(wanted, max(0, math.floor(room[1]))) if wanted > 0 else max(wanted, min(0, math.ceil(room[0])))
    )

"""Values of a program as balls, node by node: one row goes in, enclosures come out."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.ir.program import Program
from svmcompile.verification.balls import Ball, Balls, Real


class Enclosures:
    """The values of one row that are asked for; code in double counts as real."""

    def __init__(self, program: Program, row: NDArray[Any], arithmetic: Real) -> None:
        self.nodes = {node.out: node for node in program.body}
        self.tables, self.arithmetic = program.tables, arithmetic
        self.known: dict[str, Balls] = {program.input.name: Real().numbers(row)}

    def __call__(self, name: str) -> Balls:
        if name not in self.known:
            self.known[name] = enclose(self.nodes[name], self)
        return self.known[name]

    def table(self, name: str) -> Balls:
        return self.arithmetic.numbers(self.tables[name])


@singledispatch
def enclose(node: ir.Node, values: Enclosures) -> Balls:
    """A node's value."""
    raise UnsupportedError(
        f"certificates behind {type(node).__name__} cannot be checked: its values have no enclosure"
    )


@enclose.register
def _(node: ir.Widen, values: Enclosures) -> Balls:
    return values(node.x)


@enclose.register
def _(node: ir.Scale, values: Enclosures) -> Balls:
    a = values.arithmetic
    shifts, factors, offsets = (values.table(name) for name in (node.shift, node.factor, node.offset))
    parts = zip(values(node.x), shifts, factors, offsets, strict=True)
    return [a.add(a.multiply(a.subtract(x, shift), factor), offset) for x, shift, factor, offset in parts]


@enclose.register
def _(node: ir.Pick, values: Enclosures) -> Balls:
    x = values(node.x)
    return [x[column] for column in values.tables[node.columns]]


@enclose.register
def _(node: ir.Join, values: Enclosures) -> Balls:
    return values(node.left) + values(node.right)


@enclose.register
def _(node: ir.Clip, values: Enclosures) -> Balls:
    low, high = values.arithmetic.number(node.low), values.arithmetic.number(node.high)
    return [x.max(low).min(high) for x in values(node.x)]


@enclose.register
def _(node: ir.KernelSum, values: Enclosures) -> Balls:
    """Of real numbers, whatever the arithmetic: the sum that certificates are about."""
    kernels, real = _kernels(node, values), Real()
    weights, bias = values.tables[node.weights], real.numbers(values.tables[node.bias])
    return [start + real.dot(kernels, real.numbers(row)) for start, row in zip(bias, weights, strict=True)]


@enclose.register
def _(node: ir.PairSum, values: Enclosures) -> Balls:
    """Likewise, pair by pair."""
    kernels, real, groups = _kernels(node, values), Real(), class_slices(node.counts)
    weights, bias = values.tables[node.weights], real.numbers(values.tables[node.bias])
    found = []
    for pair, (i, j) in enumerate(pair_indices(len(node.counts))):
        total = bias[pair]
        for own, row in ((i, j - 1), (j, i)):
            total = total + real.dot(kernels[groups[own]], real.numbers(weights[row, groups[own]]))
        found.append(total)
    return found


def _kernels(node: ir.KernelSum | ir.PairSum, values: Enclosures) -> Balls:
    x, kernel, real = values(node.x), node.kernel, Real()
    gamma, coef0 = real.number(kernel.gamma), real.number(kernel.coef0)
    vectors = values.tables[node.vectors].astype(np.float64)
    if kernel.kind == "rbf":
        return [(-gamma * _squares(x, vector)).exp() for vector in vectors]
    if kernel.kind == "poly":
        return [(gamma * real.dot(x, real.numbers(vector)) + coef0) ** kernel.degree for vector in vectors]
    raise UnsupportedError(f"certificates are about RBF and polynomial kernels, not {kernel.kind}")


def _squares(x: Balls, vector: NDArray[Any]) -> Ball:
    steps = [a - float(b) for a, b in zip(x, vector, strict=True)]
    return Real().dot(steps, steps)

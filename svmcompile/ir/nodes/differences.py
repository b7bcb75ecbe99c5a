"""Kernel sums by differences of features, as they are in every backend."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.differences import MOST_DEGREE, is_by_differences
from svmcompile.ir.kernel import Kernel, kernel_errors, poisoned, summing_error
from svmcompile.ir.kinds import Kind, Table, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, Work, dims, need


@dataclass(frozen=True, slots=True)
class DifferenceSum(Node):
    """out[j] = bias[j] + sum_i weights[j, i] * kernel(x, vectors[i]), for kernels of differences."""

    sums_kernels: ClassVar = True
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))
    weights: Table = field(metadata=dims("m n"))
    bias: Table = field(metadata=dims("m"))
    kernel: Kernel

    def result(self, at: At) -> Type:
        need(is_by_differences(self.kernel), f"a {self.kernel.kind} kernel has no sum by differences")
        need(self.kernel.gamma >= 0 and self.kernel.coef0 >= 0, "gamma or coef0 is below zero")
        need(
            self.kernel.degree <= MOST_DEGREE, f"degree {self.kernel.degree} is not one of a Matern kernel"
        )
        at.fit()
        return Type(Kind.SCORES, at.m)

    def run(self, at: At) -> NDArray[Any]:
        values = self.kernel.values(at.x, at.vectors)
        sums = values @ at.weights.T.astype(np.float64) + at.bias
        return poisoned(at.x, sums.astype(at.x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        return Work(n, n * (3 * d + SHAPE_FLOPS["exp2"] + 2 * len(at.weights)))

    def error(self, at: At, a: Arithmetic) -> Result:
        kernel, error = kernel_errors(self.kernel, at.x, at.vectors, a)
        value = kernel @ at.weights.T + at.bias

        def by_size(sizes: Array) -> Array:
            return np.asarray(sizes @ np.abs(at.weights).T)

        return value, summing_error(kernel, error, by_size, value, at.bias, a), False

"""Weights of many sums, made of those of a few: [vectors, sums] = [vectors, rank] x [rank, sums].

An SVM of k classes has a weight for each vector and pair of classes, but its pairs have much in common. Of
all weights of that rank, those along the main directions of the sums on the rows lose least.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.reduced_set.fit import Fit
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel


def most_shared(sums: int, vectors: int) -> int:
    """The largest rank at which shared weights take fewer numbers; 0 where none does."""
    return max(0, -(-sums * vectors // (sums + vectors)) - 1)


def directions(sums: Array) -> Array:
    """Directions [sums, sums] of sums of rows, those that hold most first."""
    centred = sums - sums.mean(axis=0)
    return np.asarray(np.linalg.eigh(centred.T @ centred)[1][:, ::-1])


def shared_fit(fit: Fit, mixing: Array) -> Fit:
    """The fit with weights that a few make up."""
    return Fit(mixing @ (mixing.T @ fit.weights), fit.bias)


def least_rank(most: int, does: Callable[[int], bool]) -> int:
    """The smallest rank that does, if the largest does: by bisection."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle) else (middle, high)
    return high


def add_sums(
    builder: Builder, x: str, kernel: Kernel, vectors: Array, fit: Fit, mixing: Array | None
) -> None:
    """The nodes of the sums, by that name."""
    places, bias = builder.table("vectors", vectors), builder.table("bias", fit.bias)
    if mixing is None:
        weights = builder.table("weights", fit.weights)
        builder.body.append(ir.KernelSum("sums", x, places, weights, bias, kernel))
        return
    rank = mixing.shape[1]
    weights = builder.table("weights", mixing.T @ fit.weights)
    zeros, centre = builder.table("zeros", np.zeros(rank)), builder.table("centre", np.zeros(rank))
    builder.body.append(ir.KernelSum("shared", x, places, weights, zeros, kernel))
    builder.body.append(ir.AsFeatures("few", "shared"))
    builder.body.append(ir.Affine("sums", "few", builder.table("mixing", mixing), bias, centre))

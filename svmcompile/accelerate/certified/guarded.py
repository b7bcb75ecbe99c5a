"""The exact sum in float32 with a bound on its rounding, and double for scores within it.

Code of an RBF sum takes |x|^2 + |v|^2 - 2 x . v for the squared distance. What that does to the exponent
s = gamma |x - v|^2 of a kernel value (`exponent_error`), times exp(-s), has a largest value, whatever the
row. The rest is as in `svmcompile.ir.bounds`: exp2 itself, and adding up.
"""

from __future__ import annotations

import math

import numpy as np

from svmcompile.accelerate.bounds.margins import exponent_error
from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC, BLOCK, dot_chain
from svmcompile.ir.kernel import Array
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.svm import SVM

SAFE = 1.03  # for products of errors, while an exponent is off by no more than LARGEST
LARGEST = 0.01
STEP = 1e-3
TINY = 1e-36  # what numbers below float32's normal range may lose, generously


def guard_width(svm: SVM) -> float:
    """What the float32 sum of a machine without preprocessing may be off by; infinite if not known."""
    f32 = ARITHMETIC["f32"]
    vectors, weights = svm.vectors, np.abs(svm.coefficients[0])
    w, d = svm.kernel.gamma * np.square(vectors).sum(axis=1), vectors.shape[1]
    chain, most = dot_chain(d), float(w.max(initial=1.0))
    if f32.u * (2 * chain + 18) * most > LARGEST or svm.kernel.gamma < TINY:
        return math.inf
    kernel = f32.u * _peaks(w, chain) + f32.exp_error + f32.u
    adding = (BLOCK + 4) * f32.u + (len(w) / BLOCK + 8) * ARITHMETIC["f64"].u + TINY
    return SAFE * (float(weights @ (kernel + adding)) + 4 * f32.u * abs(float(svm.intercepts[0])) + TINY)


def _peaks(w: Array, chain: int) -> Array:
    """A bound on the largest value of exp(-s) times the error of s, over all s, of each vector.

    With r = sqrt(s) it falls beyond r = 2; between two points of the grid, exp(-r^2) is no larger than at
    the first and the error no larger than at the second.
    """
    r = np.arange(0.0, 2.0 + STEP, STEP)
    values = np.exp(-np.square(r)) * exponent_error(w[:, None], np.square(r + STEP), chain)
    return np.asarray(values.max(axis=1))


def guarded(svm: SVM, width: float) -> Program:
    """The program of a machine with one decision value."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    sums = builder.exact_sums()
    builder.body.append(ir.Guard("guarded", sums, exact, width, "sign"))
    builder.body.extend(head_nodes(svm, "guarded"))
    return builder.program([Output("label", "label")], "certified", Claim.SAME_LABEL)

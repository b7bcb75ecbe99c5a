"""The exact sum in float32 with a bound on its rounding, and double for scores within it.

Code of an RBF sum takes |x|^2 + |v|^2 - 2 x . v for the squared distance. With s = gamma |x - v|^2 and
w = gamma |v|^2 the exponent of a kernel value is off by at most

    U ((2 n + 8) (w + sqrt(w s)) + 5 ((sqrt(w) + sqrt(s))^2 + w)),   U = 2^-24,

as gamma |x| |v| <= w + sqrt(w s), where products go through n additions; times exp(-s) that has a largest
value, whatever the row. The rest is as in `svmcompile.ir.bounds`: exp2 itself, and adding up.
"""

from __future__ import annotations

import math

import numpy as np

from svmcompile.accelerate.exact import Builder, head_nodes
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel_errors import BLOCK
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.propagate import ARITHMETIC
from svmcompile.ir.stages import dot_chain
from svmcompile.kernel import Array
from svmcompile.svm import SVM

SAFE = 1.03  # for products of errors, while an exponent is off by no more than LARGEST
LARGEST = 0.01
STEP = 1e-3
TINY = 1e-36  # what numbers below float32's normal range may lose, generously


def guard_width(svm: SVM) -> float:
    """What the float32 sum of a machine without preprocessing may be off by; infinite if not known."""
    f32 = ARITHMETIC["f32"]
    vectors, weights = svm.vectors, np.abs(svm.coefficients[0])
    w, d = svm.kernel.gamma * np.square(vectors).sum(axis=1), vectors.shape[1]
    n = dot_chain(d)
    a, b, c = (2 * n + 8 + 10) * w, (2 * n + 8 + 10) * np.sqrt(w), np.full(len(w), 5.0)
    if f32.u * float(np.max([a, b, c])) > LARGEST or svm.kernel.gamma < TINY:
        return math.inf
    kernel = f32.u * _peaks(a, b, c) + f32.exp_error + f32.u
    adding = (BLOCK + 4) * f32.u + (len(w) / BLOCK + 8) * ARITHMETIC["f64"].u + TINY
    return SAFE * (float(weights @ (kernel + adding)) + 4 * f32.u * abs(float(svm.intercepts[0])) + TINY)


def _peaks(a: Array, b: Array, c: Array) -> Array:
    """A bound on the largest value of exp(-s) (a + b sqrt(s) + c s) over s, of each triple.

    With r = sqrt(s) it falls beyond r = 2; between two points of the grid, exp(-r^2) is no larger than at
    the first and the polynomial no larger than at the second.
    """
    r = np.arange(0.0, 2.0 + STEP, STEP)
    values = np.exp(-np.square(r)) * (
        a[:, None] + b[:, None] * (r + STEP) + c[:, None] * np.square(r + STEP)
    )
    return np.asarray(values.max(axis=1))


def guarded(svm: SVM, width: float) -> Program:
    """The program of a machine with one decision value."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    sums = builder.exact_sums()
    builder.body.append(ir.Guard("guarded", sums, exact, width, "sign"))
    builder.body.extend(head_nodes(svm, "guarded"))
    return builder.program([Output("label", "label")], "certified", Claim.SAME_LABEL)

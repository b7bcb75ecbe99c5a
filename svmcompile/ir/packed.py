"""Kernel values from folded tables: a dot product, an offset, and the shape of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir.kernel import power
from svmcompile.ir.kinds import Floats
from svmcompile.ir.node import At


def packed_values(at: At, x: Floats, vectors: Floats, offsets: Floats) -> Floats:
    """Kernel values [rows, n] of a packed sum."""
    if at.shape == "given":
        return x[:, vectors[:, 0]].astype(np.float64)
    return shaped(at, x, x @ vectors.T + offsets)


def shaped(at: At, x: Floats, t: Any) -> Floats:
    """Kernel values [rows, n] from dot products."""
    if at.shape == "exp2":
        half = 0.5 * np.square(x, dtype=np.float64).sum(axis=1, keepdims=True)
        t = np.exp2(np.minimum(t - half.astype(x.dtype), 0))  # above zero only by rounding
    elif at.shape == "power":
        t = power(t, at.degree)
    elif at.shape == "tanh":
        t = np.tanh(t)
    return np.asarray(t, dtype=np.float64)

"""The node of normal quantiles: shares of rows become numbers as of a normal distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kinds import Kind, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, need

LEAST = 1e-7 - 2.0**-52  # the share at which scikit-learn cuts quantiles off
# The quantile of a share e^-t up to a half is (ln 2 - t) N(t) / D(t), by powers of t from 0 on. No term is
# below zero, so that sums of them lose nothing.
NUMERATOR = {
    "f32": (
        3.156179558041979, 27.724304335666577, 43.201372471829416, 17.718675876441115, 2.0331378077248563,
        0.054990209669943536, 0.00015823698511938385,
    ),
    "f64": (
        3.700102052456504, 121.56409785741305, 885.2256854921875, 2294.3637408547106, 2548.073337551672,
        1320.1424433272077, 329.357785886584, 39.242471780067255, 2.120736121977004, 0.0461707360238358,
        0.0003100600253128687, 2.7320816164250006e-07,
    ),
}  # fmt: skip
DENOMINATOR = {
    "f32": (
        1.0, 14.974590427554187, 37.98800570028463, 25.856807198605473, 5.252654605652264,
        0.2942723653737118, 0.0031096160334568522,
    ),
    "f64": (
        1.0, 47.67844774344224, 470.54817605197485, 1622.8983091620141, 2393.6645993851093,
        1659.3463239755815, 562.8594154112587, 93.67019606858207, 7.393331801493598, 0.2545752787124609,
        0.0032026194990862388, 9.47438571073275e-06,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NormalQuantile(Node):
    """The number below which a normal distribution has a share, of x[2j] = share and x[2j + 1] = 1 - share.

    Both are given, so that small ones keep their digits; the smaller counts, as LEAST if it is less.
    """

    flops: ClassVar = SHAPE_FLOPS["exp2"] + 4 * len(NUMERATOR["f32"])
    out: Value
    x: Value

    def result(self, at: At) -> Type:
        need(at.d % 2 == 0, "a share lacks its other part")
        return Type(Kind.FEATURES, at.d // 2)

    def run(self, at: At) -> NDArray[Any]:
        from scipy.special import ndtri

        share, rest = at.x[:, ::2].astype(np.float64), at.x[:, 1::2].astype(np.float64)
        size = -ndtri(np.clip(np.minimum(share, rest), LEAST, 0.5))
        return np.asarray((np.where(share < rest, -size, size) + (share + rest) * 0).astype(at.x.dtype))

    def inverse(self, z: Array) -> Array:
        """The shares that become these."""
        from scipy.special import ndtr

        return np.stack([ndtr(z), ndtr(-z)], axis=2).reshape(len(z), -1)

    def error(self, at: At, a: Arithmetic) -> Result:
        """By 1 / density, the slope, at the smallest share possible; the original rounds those near 1."""
        from scipy.special import ndtri

        value, x = self.value(at), at.x
        moved = np.maximum(x.error[:, ::2], x.error[:, 1::2]) + 2.0**-52
        least = np.maximum(np.minimum(x.value[:, ::2], x.value[:, 1::2]) - moved, LEAST)
        density = np.exp(-(ndtri(np.minimum(least, 0.5)) ** 2) / 2) / np.sqrt(2 * np.pi)
        logs = a.log_error * (1 - np.log(least)) * least
        return value, (moved + logs) / density + a.normal_error + a.u * np.abs(value), False

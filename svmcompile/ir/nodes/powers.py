"""The node of power transforms: features become less skewed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import Kind, Table, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, dims
from svmcompile.ir.nodes.ensembles import MOST_EXPONENT

SERIES = 16  # terms of exp(t) - 1 for t from -0.5 to 0.5, where its own series loses nothing
SERIES_ROUNDINGS = 40


@dataclass(frozen=True, slots=True)
class BoxCox(Node):
    """out = (x^p - 1) / p with p = powers[j], or ln x where p is 0; NaN unless x is above zero.

    Where `both` is set, that of 1 + x, and below zero minus that of 1 - x with the power 2 - p (Yeo and
    Johnson). What the number type has no exponential of counts as the largest; NaN for infinities.
    """

    flops: ClassVar = 2 * SHAPE_FLOPS["exp2"] + SERIES
    in_place: ClassVar = True
    out: Value
    x: Value
    powers: Table = field(metadata=dims("d"))
    both: bool

    def result(self, at: At) -> Type:
        at.fit()
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        x = at.x.astype(np.float64)
        power, logs = self._parts(x, at.powers)
        most = MOST_EXPONENT["f32" if at.x.dtype == np.float32 else "f64"]
        t = np.where(power * logs > most, most, power * logs)
        with np.errstate(all="ignore"):
            out = np.where(power == 0, logs, np.expm1(t) / power)
            return np.asarray((np.where(self.both & (x < 0), -out, out) + x * 0).astype(at.x.dtype))

    def _parts(self, x: NDArray[Any], powers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The power of each feature, and the logarithm of what is raised to it."""
        with np.errstate(all="ignore"):
            if not self.both:
                return np.broadcast_to(powers, x.shape), np.log(np.where(x > 0, x, np.nan))
            return np.where(x < 0, 2 - powers, powers), np.log1p(np.abs(x))

    def inverse(self, z: NDArray[Any], powers: NDArray[Any]) -> NDArray[Any]:
        """Rows that become these; the nearest that there are where none does."""
        size = np.abs(z) if self.both else z
        power = np.where(z < 0, 2 - powers, powers) if self.both else powers
        with np.errstate(all="ignore"):
            logs = np.log(np.maximum(1 + power * size, 1e-9)) / np.where(power == 0, 1.0, power)
        base = np.exp(np.clip(np.where(power == 0, size, logs), -20, 20))
        return np.asarray(np.sign(z) * (base - 1) if self.both else base)

    def error(self, at: At, a: Arithmetic) -> Result:
        """By the slopes of exp(p l) / p in l = ln x and in p, and the errors of both functions."""
        value, x = self.value(at), at.x
        power, logs = self._parts(x.value, at.powers)
        base = np.abs(x.value) + (1.0 if self.both else 0.0)
        with np.errstate(all="ignore"):
            moved = np.where(x.error > 0, x.error / np.maximum(base - x.error, 0.0), 0.0)
            off = moved + a.log_error * (1 + np.abs(logs)) + 2 * a.u
            t = power * logs
            steepest = np.abs(power) + (2.0 if self.both else 0.0)
            top = np.maximum(t, 0) + steepest * off + 4 * a.u * (2 + np.abs(power)) * np.abs(logs)
            growth = np.exp(np.minimum(top, 700.0))
            own = 2 * a.exp_error + (SERIES_ROUNDINGS + 8 * np.abs(t)) * a.u
            in_power = 4 * a.u * (2 + np.abs(power)) * logs**2
            error = growth * (off + in_power + np.abs(logs) * own) + a.tiny + 2 * a.u * np.abs(value)
            return value, np.where(top < np.log(a.largest) - 1, error, np.inf), False

"""Costs of a Taylor front end, in the units of `anytime`'s prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.kernel import Array


@dataclass(frozen=True, slots=True)
class TaylorPrices:
    """(for each, and once): nanoseconds of emitted float32 C, one row per call, or flops."""

    plane: tuple[float, float]  # a test on the way to a leaf: per feature, and each
    first: tuple[float, float]  # order 1: per feature, and once
    second: tuple[float, float]  # order 2: per product of two coordinates, and once
    third: tuple[float, float]  # order 3: per product of three, and once
    axis: tuple[float, float]  # a coordinate: per feature, and each
    lanes: int = 1  # features and products come in groups of so many

    def _of(self, price: tuple[float, float], count: int) -> float:
        return price[0] * (-(-count // self.lanes) * self.lanes) + price[1]

    def route(self, depth: Array, d: int) -> Array:
        """So many tests on the way."""
        return depth * self._of(self.plane, d)

    def upto(self, order: int, d: int, rank: int) -> Array:
        """What a row has cost after each order, [order]; rank 0 if all features are coordinates."""
        r = rank or d
        found = [self._of(self.first, d)]
        if order > 1:
            turned = r * self._of(self.axis, d) if rank else 0.0
            found.append(turned + self._of(self.second, r * (r + 1) // 2))
        if order > 2:
            found.append(self._of(self.third, r * (r + 1) * (r + 2) // 6))
        return np.cumsum(found)


PRICES = {
    "flops": TaylorPrices(
        plane=(2.0, 2.0), first=(5.0, 24.0), second=(2.0, 6.0), third=(2.0, 6.0), axis=(2.0, 2.0)
    ),
    "host": TaylorPrices(
        plane=(0.03, 3.0), first=(0.1, 14.0), second=(0.05, 6.0), third=(0.05, 8.0),
        axis=(0.04, 1.0), lanes=16,
    ),
    "portable": TaylorPrices(
        plane=(0.3, 4.0), first=(0.9, 20.0), second=(0.35, 10.0), third=(0.35, 10.0), axis=(0.3, 3.0)
    ),
}  # fmt: skip

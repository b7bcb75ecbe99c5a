"""Costs of a Taylor front end, in the units of `anytime`'s prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.certified.growth import Form
from svmcompile.ir.kernel import Array

# Trees up to this size have all their planes looked at together, in groups.
MOST_LEAVES, MOST_PRODUCTS, PLANES = 32, 1024, 8


@dataclass(frozen=True, slots=True)
class TaylorPrices:
    """(for each, and once): nanoseconds of emitted float32 C, one row per call, or flops."""

    plane: tuple[float, float]  # a test on the way to a leaf: per feature, and each
    first: tuple[float, float]  # order 1: per feature, and once
    second: tuple[float, float]  # order 2: per product of two coordinates, and once
    third: tuple[float, float]  # order 3: per product of three, and once
    axis: tuple[float, float]  # a coordinate: per feature, and each
    lanes: int = 1  # features and products come in groups of so many
    beside: tuple[float, float] = (0.0, 0.0)  # all planes of a small tree at once: per product, and once
    # All products of the features that are not zero: per feature, per product, and once.
    picked: tuple[float, float, float] = (1.0, 2.0, 24.0)

    def _of(self, price: tuple[float, float], count: int) -> float:
        return price[0] * (-(-count // self.lanes) * self.lanes) + price[1]

    def form(self, products: int) -> float:
        """A quadratic form of so many products."""
        return self._of(self.second, products)

    def route(self, depth: Array, d: int, leaves: int) -> Array:
        """So many tests on the way in a tree of so many leaves."""
        products = -(-(leaves - 1) // PLANES) * PLANES * d
        if 1 < leaves <= MOST_LEAVES and products <= MOST_PRODUCTS and self.beside[1]:
            return np.full(len(depth), self.beside[0] * products + self.beside[1])
        return depth * self._of(self.plane, d)

    def upto(self, form: Form, d: int) -> Array:
        """What a row has cost after each order, [order]."""
        order, r = form.order, form.rank or d
        found = [self._picked(form, d) if form.filled else self._of(self.first, d)]
        if order > 1:
            turned = r * self._of(self.axis, d) if form.rank and not form.filled else 0.0
            found.append(turned + self._of(self.second, r * (r + 1) // 2))
        if order > 2:
            found.append(self._of(self.third, r * (r + 1) * (r + 2) // 6))
        return np.cumsum(found)

    def once(self, d: int) -> float:
        """What all jets of a row share: its difference from the centre, and an exponential."""
        return self._of(self.first, d)

    def jet(self, d: int) -> float:
        """A jet: a dot product and a quadratic form."""
        return self._of(self.axis, d) + self._of(self.second, d * (d + 1) // 2)

    def _picked(self, form: Form, d: int) -> float:
        """All coordinates at once, from the features that are not zero; centre and slope are two more."""
        width = 2 + (form.rank if form.order > 1 else 0)
        feature, product, once = self.picked
        return feature * d + product * form.filled * (-(-width // self.lanes) * self.lanes) + once


PRICES = {
    "flops": TaylorPrices(
        plane=(2.0, 2.0), first=(5.0, 24.0), second=(2.0, 6.0), third=(2.0, 6.0), axis=(2.0, 2.0)
    ),
    "host": TaylorPrices(
        plane=(0.03, 6.0), first=(0.12, 8.0), second=(0.05, 6.0), third=(0.05, 8.0),
        axis=(0.04, 1.0), lanes=16, beside=(0.02, 3.5), picked=(0.09, 0.028, 60.0),
    ),
    "portable": TaylorPrices(
        plane=(0.36, 1.0), first=(0.22, 11.0), second=(0.4, 6.0), third=(0.47, 20.0), axis=(0.1, 1.5),
        picked=(0.5, 0.15, 20.0),
    ),
}  # fmt: skip

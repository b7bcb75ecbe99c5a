"""What stands in the way of polynomials, where they do not pay: a sum and rows go in, figures come out."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.accelerate.certified.growth import Leaf
from svmcompile.accelerate.taylor.sums import Local
from svmcompile.ir.arithmetic import Array

ROWS = 400  # of the sample
MOST = 0.9  # of the squares of a form's eigenvalues
HEAVY = 100  # times the usual score: so large are absolute weights whose rounding and bounds matter
HELD = 0.1  # of the squared norm, above order 3
WIDE = 0.5  # of the features


def obstacles(one: Sum, sample: Array, leaf: Leaf | None = None) -> dict[str, Any]:
    """Absolute weights beside scores; seen from one centre, what higher orders hold, and directions."""
    some = sample[:: -(-len(sample) // ROWS)]
    score = float(np.median(np.abs(one.products(some) + one.bias)))
    found = {"weights": float(np.abs(one.weights).sum()), "usual_score": score}
    if leaf is None:
        return _rounded(found)
    if isinstance(leaf.local, Local):
        residual, norm = leaf.local.bounds.residual, leaf.local.whole.norm
        held = float(residual[min(3, len(residual) - 1)]) ** 2 / norm if norm > 0 else 0.0
        found["above_order_3"] = min(1.0, held)
    values = np.sort(np.square(np.linalg.eigvalsh(leaf.local.form)))[::-1]
    needed = int(np.searchsorted(np.cumsum(values), MOST * values.sum())) + 1
    return _rounded(found) | {"directions": min(needed, len(values)), "features": len(values)}


def _rounded(figures: dict[str, float]) -> dict[str, Any]:
    return {name: float(f"{value:.3g}") for name, value in figures.items()}


def told(figures: dict[str, Any]) -> str:
    """The same as a sentence: what is unusual of it, else all."""
    ratio = figures["weights"] / max(figures["usual_score"], 1e-300)
    heavy = f"the absolute weights add up to {figures['weights']:.3g}, {ratio:.3g} times a usual score"
    parts = {heavy: ratio > HEAVY}
    if "above_order_3" in figures:
        held = figures["above_order_3"]
        parts[f"orders above 3 hold {held:.0%} of the squared norm about one centre"] = held > HELD
    if "directions" in figures:
        needed, features = figures["directions"], figures["features"]
        wide = needed > WIDE * features
        parts[f"the quadratic form is in {needed} of {features} directions"] = wide and features > 1
    shown = [text for text, unusual in parts.items() if unusual] or list(parts)
    return ", ".join(shown)

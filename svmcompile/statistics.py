"""What a count on some rows says about rows to come (Clopper and Pearson)."""

from __future__ import annotations

CONFIDENCE = 0.95


def lower_bound(same: int, rows: int, level: float) -> float:
    """The share is above this with confidence 1 - level."""
    return _share(level, same, rows - same + 1) if same else 0.0


def upper_bound(same: int, rows: int, level: float) -> float:
    """The share is below this with confidence 1 - level."""
    return _share(1 - level, same + 1, rows - same) if same < rows else 1.0


def interval(same: int, rows: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The two-sided confidence interval of a share: each side may err by half of what is left."""
    level = (1 - confidence) / 2
    return lower_bound(same, rows, level), upper_bound(same, rows, level)


def _share(level: float, a: int, b: int) -> float:
    """A quantile of the beta distribution, without scipy.stats, which takes long to load."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, level))

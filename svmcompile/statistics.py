"""What a count on some rows says about rows to come (Clopper and Pearson)."""

from __future__ import annotations

from scipy.stats import beta

CONFIDENCE = 0.95


def lower_bound(same: int, rows: int, level: float) -> float:
    """The share is above this with confidence 1 - level."""
    return float(beta.ppf(level, same, rows - same + 1)) if same else 0.0


def upper_bound(same: int, rows: int, level: float) -> float:
    """The share is below this with confidence 1 - level."""
    return float(beta.ppf(1 - level, same + 1, rows - same)) if same < rows else 1.0


def interval(same: int, rows: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The two-sided confidence interval of a share: each side may err by half of what is left."""
    level = (1 - confidence) / 2
    return lower_bound(same, rows, level), upper_bound(same, rows, level)

"""What rows that built nothing can prove of an approximation: binomial bounds on its errors."""

from __future__ import annotations


def upper_bound(errors: int, rows: int, confidence: float) -> float:
    """Clopper and Pearson's one-sided bound on the share of errors."""
    if errors >= rows:
        return 1.0
    from scipy.stats import beta

    return float(beta.ppf(confidence, errors + 1, rows - errors))


def allowed_errors(rows: int, target: float, confidence: float) -> int:
    """The most errors that still prove the target; -1 where even none does not."""
    allowed = -1
    while allowed < rows and 1 - upper_bound(allowed + 1, rows, confidence) >= target:
        allowed += 1
    return allowed

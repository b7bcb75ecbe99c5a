"""Notes for the user: what is promised, what sample rows showed, and why it may be the exact sum."""

from __future__ import annotations

from typing import Any

from svmcompile.accelerate.bounds.options import UNITS
from svmcompile.accelerate.certified.choose import Choice
from svmcompile.accelerate.certified.options import CertifiedOptions

PROMISE = (
    "every label is that of the original in double, also where float32 alone could not tell; "
    "there is no decision function"
)
CALIBRATED = (
    "calibrated: bounds were multiplied by what sample rows showed, so labels may change on other rows"
)


def remarks(
    choice: Choice, figures: dict[str, Any], exact: float, options: CertifiedOptions
) -> tuple[str, ...]:
    """Notes for a program with a front end."""
    decided = ", ".join(
        f"{stage['share']:.1%} by {stage['stage']}" for stage in figures["stages"] if stage["share"]
    )
    axes = f"in {choice.form.rank} directions, " if choice.form.rank else ""
    return (
        PROMISE if options.mode == "certified" else CALIBRATED,
        f"{len(choice.leaves)} centres, order {choice.form.order}, {axes}{choice.bytes} bytes; "
        f"of sample rows are decided {decided}; predicted {figures['cost'] / exact:.0%} of the exact "
        f"sum's cost ({UNITS[options.tune]})",
    )


def no_gain(ratio: float, options: CertifiedOptions) -> str:
    """Why the exact sum is taken."""
    return (
        f"polynomials are predicted to cost {ratio:.2f} times as much as the exact sum "
        f"({UNITS[options.tune]}), too much to be worth it; a larger max_bytes allows more centres, and "
        "force=true emits them nevertheless"
    )


def instead(reason: str) -> str:
    return f"certified emits the exact sum: {reason}"

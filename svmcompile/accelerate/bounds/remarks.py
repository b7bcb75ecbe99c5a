"""Notes for the user: what is promised, what was predicted, and why it may be the exact sum."""

from __future__ import annotations

from svmcompile.accelerate.bounds.choose import Choice
from svmcompile.accelerate.bounds.options import UNITS, AnytimeOptions

ROUNDING = (
    "in float32, rounding alone is too large beside these features, or not bounded behind such "
    "preprocessing, for any bound to be certain; scaled features, or plain ones, would do"
)


def remarks(choice: Choice, options: AnytimeOptions) -> tuple[str, ...]:
    """Notes for a program of bounded sums."""
    promise = (
        "every label is that of the original in double, also where float32 alone could not tell; "
        "there is no decision function (tolerance gives one)"
        if options.by_label
        else f"values are within {options.tolerance:g} of the original's, or as near as rounding of the "
        "whole sum allows"
    )
    form = choice.form
    return (
        promise,
        f"predicted on sample rows: {choice.steps:.1f} kernel values and {choice.cost / choice.exact:.0%} "
        f"of the exact sum's cost ({UNITS[options.tune]}), with block={form.block}, k_max={form.k_max}, "
        f"r_coords={form.r_coords}",
    )


def no_gain(ratio: float, options: AnytimeOptions) -> str:
    """Why the exact sum is taken."""
    return (
        f"bounds are predicted to cost {ratio:.2f} times as much as the exact sum "
        f"({UNITS[options.tune]}), too much to be worth it; force=true emits them nevertheless, and with "
        "them keeps labels that float32 alone cannot tell"
    )


def instead(reason: str) -> str:
    return f"anytime emits the exact sum: {reason}"

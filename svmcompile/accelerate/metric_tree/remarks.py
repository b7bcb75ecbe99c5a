"""Notes for the user: where the tree falls short, with figures."""

from __future__ import annotations

from svmcompile.accelerate.metric_tree.build import Built
from svmcompile.accelerate.metric_tree.choose import Choice
from svmcompile.accelerate.metric_tree.guard import Band
from svmcompile.accelerate.metric_tree.options import MetricTreeOptions
from svmcompile.ir.cost import Cost

POOR = 0.95  # agreement below which many classes are too many


def remarks(
    options: MetricTreeOptions, built: Built, choice: Choice, band: Band | None, cost: Cost
) -> tuple[str, ...]:
    """All that a user should know before trusting the program."""
    found = [*choice.notes(options.target), *_few_rows(built, choice), *_many_classes(built, choice)]
    if band is not None:
        found += _guard(options, band)
    if cost.mean_flops >= cost.exact_flops:
        found.append(
            f"method exact is cheaper here: {cost.exact_flops:,} flops per row, "
            f"this program takes {cost.mean_flops:,.0f}"
        )
    return tuple(found)


def _few_rows(built: Built, choice: Choice) -> list[str]:
    if choice.tried or choice.reached:
        return []
    return [f"the data is too small for a holdout, so the form {built.form.name!r} was taken unchecked"]


def _many_classes(built: Built, choice: Choice) -> list[str]:
    """Pairs of classes share one tree, which does not suit many of them."""
    if not built.several_classes:
        return []
    held = [one.agreement for one in choice.tried if one.form == choice.form]
    agreement, rows = (
        (held[0], "held-out rows") if held else (built.left_out_agreement, "rows, each left out")
    )
    if agreement is None or agreement >= POOR:
        return []
    return [
        f"one tree for all pairs of classes does not suit this model: {agreement:.1%} agreement on {rows}, "
        f"{built.part.bytes / 1e6:.2f} MB; use method exact"
    ]


def _guard(options: MetricTreeOptions, band: Band) -> list[str]:
    notes = [f"guard band {band.width:.3g}: {band.fallback:.1%} of {band.rows} rows go to the exact sum"]
    if band.width == 0:
        notes = [
            f"no guard band is needed: the tree has {band.agreement:.2%} agreement on {band.rows} rows"
        ]
    if not band.reached:
        notes.append(
            f"{band.rows} rows cannot prove {options.target:.2%} agreement with {options.confidence:.0%} "
            f"confidence, {band.proven:.2%} at best; give more rows (calibrate=FILE) or a lower target"
        )
    return notes

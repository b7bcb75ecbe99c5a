"""What a user should know of the lists that were made."""

from __future__ import annotations

from svmcompile.accelerate.h1_tree.choose import Chosen
from svmcompile.accelerate.h1_tree.options import H1TreeOptions
from svmcompile.ir.cost import Cost


def remarks(options: H1TreeOptions, best: Chosen | None, cost: Cost) -> tuple[str, ...]:
    found = _exits(options, best) if best is not None else []
    if cost.mean_flops > cost.exact_flops:
        found.append(
            f"method exact is cheaper here: {cost.exact_flops:,} flops per row, "
            f"this program takes {cost.mean_flops:,.0f}"
        )
    return tuple(found)


def _exits(options: H1TreeOptions, best: Chosen) -> list[str]:
    found = best.calibration
    if not best.lists.nodes:
        return ["no half-space could answer enough rows; the program is the SVM as it is"]
    notes = [
        f"{found.exit_share:.1%} of {found.rows} held-out rows are answered by half-spaces, "
        f"{found.mean_depth:.1f} of them on average; the others go to the SVM"
    ]
    if not found.reached:
        notes.append(
            f"{found.rows} rows cannot prove {options.target:.2%} agreement with {options.confidence:.0%} "
            f"confidence, {found.proven_agreement:.2%} at best; "
            "give more rows (calibrate=FILE) or a lower target"
        )
    return notes

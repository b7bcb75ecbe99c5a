"""The report of an emitted program: what was made, from what, what it costs, what rounding does to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Code, Labels, Program
from svmcompile.targets.c.model import sizes
from svmcompile.targets.c.nodes import c_class

MEAN_COSTS = ("mean_kernel_evaluations", "mean_flops")
ROUNDING_WARNING = 0.001  # share of a typical score that rounding may reach without a note


def describe(
    program: Program,
    code: Code | None,
    meaning: Program,
    *,
    name: str,
    targets: tuple[str, ...],
    number: Number,
    profile: str,
    tables: str | None,
) -> dict[str, Any]:
    """The report: what was made, from what, what it costs, and what rounding does to it.

    `code` is what C was written from, if any; `meaning` what the interpreter runs for it.
    """
    origin = program.origin
    return {
        "name": name,
        "source": {"kind": origin.source, "sha256": origin.sha256},
        "method": origin.method,
        "options": dict(origin.options),
        "claim": origin.claim.value,
        "target": targets[0] if len(targets) == 1 else list(targets),
        "precision": number,
        "profile": profile,
        "n_features": program.n_features,
        "n_classes": program.n_classes,
        **({"categories": program.categories.facts(program.feature_names)} if program.categories else {}),
        **by_target(program.labels),
        "n_support_vectors": origin.n_support_vectors,
        "cost": _cost(program, code),
        "passes": [
            {
                "name": saving.by,
                "flops": {"before": saving.flops[0], "after": saving.flops[1]},
                "table_bytes": {"before": saving.table_bytes[0], "after": saving.table_bytes[1]},
            }
            for saving in origin.savings
        ],
        "notes": [*origin.notes, *_rounding_notes(program, meaning, number)],
        "details": dict(origin.details),
        "tables": "f16" if tables == "f16" else number,
        "vectors": None if code is None else _stored_vectors(code.program),
        **({"fixed_error": origin.details["fixed"]["error"]} if number in FIXED else {}),
    }


def by_target(labels: Labels | None) -> dict[str, Any]:
    """The classes of each target, of models that give several labels per row."""
    several = labels.of_targets() if labels else []
    return {"classes_by_target": [classes.tolist() for classes in several]} if several else {}


def _stored_vectors(emitted: Program) -> dict[str, Any] | None:
    """How C stores the support vectors, in how many bytes; None where there are none."""
    sums = [node for node in emitted.body if c_class(node).stores]
    if not sums:
        return None
    sparse = [node for node in sums if c_class(node).by_feature]
    names = [getattr(node, field) for node in sums for field in c_class(node).stores]
    return {
        "storage": "sparse" if len(sparse) == len(sums) else "mixed" if sparse else "dense",
        "bytes": sum(int(emitted.tables[name].nbytes) for name in names),
    }


def _cost(program: Program, code: Code | None) -> dict[str, Any]:
    """The cost of what was emitted; C knows its tables and scratch better than a program does."""
    cost: dict[str, Any] = (code.meaning if code else program).cost().as_dict()
    known = program.origin.details.get("mean_cost", {})
    cost |= {key: known[key] for key in MEAN_COSTS if key in known}
    return cost | (sizes(code) if code else {})


def _rounding_notes(program: Program, meaning: Program, number: Number) -> list[str]:
    """A warning where rounding is not small beside the scores of the probe rows."""
    if number in FIXED or not program.probes.size:
        return []
    meant, found = (interpret(one, program.probes) for one in (program, meaning))
    scores = next((name for name in meant if name != "label"), None)
    if scores is None:  # labels only
        return []
    worst = float(np.abs(meant[scores] - found[scores]).max())
    typical = float(np.median(np.abs(meant[scores])))
    if worst <= ROUNDING_WARNING * typical:
        return []
    return [
        f"{number} rounding moves decision values of the probe rows by up to {worst:.2g} "
        f"(typical value {typical:.2g}); "
        + ("use f64, or scale the features" if number == "f32" else "scale the features before training")
    ]

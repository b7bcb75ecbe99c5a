"""decide: the candidate to take. Limits come first, then labels, cost and size, in order, never weighed.

The page of `explore` follows the same rule (templates/explore/choice.js); a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from svmcompile.choose.statistics import finalists_allowed
from svmcompile.choose.wishes import Limits, Wishes

Record = dict[str, Any]
EQUAL_COST = 1.05  # costs this close count as equal, and the smaller program is taken
EQUAL_DISAGREEMENT = 0.001
CHEAPER = 0.8
LABEL_LIMITS = ("same_labels", "agreement", "accuracy_loss")
# Which figure a limit is about.
FIGURES = {
    "latency_us": "time_us",
    "batch_latency_us": "batch_time_us",
    "max_bytes": "table_bytes",
    "flash": "flash_bytes",
    "ram": "ram_bytes",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """The winner, or None; what was held against the reporting rows, and what was not even eligible."""

    winner: Record | None
    tested: tuple[Record, ...] = ()  # that failed on the reporting rows
    tests: int = 1  # how many could be tested
    order: tuple[Record, ...] = ()
    reasons: dict[int, str] = field(default_factory=dict)  # why a candidate lost


def decide(records: Sequence[Record], wishes: Wishes, report_rows: int) -> Decision:
    """What to take, under limits and wishes."""
    limits = wishes.limits
    tests = finalists_allowed(report_rows, limits.agreement, 1 - wishes.confidence)
    reasons = {one["number"]: missed for one in records if (missed := misses(one, limits, tests))}
    eligible = [one for one in records if one["state"] == "measured" and not reasons.get(one["number"])]
    order = ordered(eligible, wishes)
    tested: list[Record] = []
    for one in order:
        free = one["proven"] or not limits.on_labels  # nothing to show on the reporting rows
        if not free and len(tested) == tests:
            continue
        if free or holds(one, limits, tests):
            reasons |= _lost(one, order, tested, wishes)
            return Decision(one, tuple(tested), tests, tuple(order), reasons)
        tested.append(one)
        reasons[one["number"]] = "agreed too little on the reporting rows"
    return Decision(None, tuple(tested), tests, tuple(order), reasons)


def _lost(
    winner: Record, order: Sequence[Record], tested: Sequence[Record], wishes: Wishes
) -> dict[int, str]:
    """Why those lost that met every limit."""
    cost, size = wishes.cost_name, wishes.size_name
    reasons = {}
    for one in order:
        if one is winner or one in tested:
            continue
        ratio = _figure(one, cost) / max(_figure(winner, cost), 1e-300)
        if winner["proven"] and not one["proven"] and not wishes.limits.on_labels:
            reasons[one["number"]] = f"keeps fewer labels than {winner['number']}"
        elif ratio > EQUAL_COST:
            name = {"time_us": "time", "batch_time_us": "batch time"}.get(cost, cost.replace("_", " "))
            reasons[one["number"]] = f"{ratio:.2f} times the {name} of {winner['number']}"
        elif _figure(one, size) > _figure(winner, size):
            reasons[one["number"]] = f"as fast as {winner['number']}, but larger"
        else:
            reasons[one["number"]] = f"comes after {winner['number']}"
    return reasons


def misses(one: Record, limits: Limits, tests: int) -> str:
    """Which limit a candidate misses, in words; empty if it meets all as far as the choosing rows tell."""
    if one["state"] != "measured":
        return str(one["reason"])
    missed = []
    if limits.same_labels and not one["proven"]:
        missed.append("does not promise every label")
    if not one["proven"]:
        if limits.agreement is not None and one["agreement"]["expected_low"][tests - 1] < limits.agreement:
            choose = one["agreement"]["choose"]
            missed.append(f"agrees on {choose['same'] / choose['rows']:.2%} of the choosing rows")
        if limits.accuracy_loss is not None:
            loss = one["accuracy"] and one["accuracy"]["expected_loss_high"][tests - 1]
            if loss is None or loss > limits.accuracy_loss:
                missed.append("may lose more accuracy")
    for name, figure in FIGURES.items():
        limit, value = getattr(limits, name), one["figures"].get(figure)
        if limit is not None and (value is None or value > limit):
            told = "is not known" if value is None else f"is {value:,.4g}, above {limit:,.4g}"
            missed.append(f"{figure.replace('_', ' ')} {told}")
    return "; ".join(missed)


def holds(one: Record, limits: Limits, tests: int) -> bool:
    """Whether the reporting rows show what the limits on labels ask for."""
    agreement = limits.agreement is None or one["agreement"]["report"]["low"][tests - 1] >= limits.agreement
    loss = limits.accuracy_loss is None or (
        one["accuracy"] is not None and one["accuracy"]["loss_high"][tests - 1] <= limits.accuracy_loss
    )
    return bool(agreement and loss and not limits.same_labels)


def ordered(records: Sequence[Record], wishes: Wishes) -> list[Record]:
    """From the best to the worst of those that meet the limits."""
    if wishes.limits.on_labels:
        return _by_cost(records, wishes)
    proven = [one for one in records if one["proven"]]
    rest = [one for one in records if not one["proven"]]
    order = _by_cost(proven, wishes)
    while rest:
        least = min(map(_disagreement, rest))
        group = [one for one in rest if _disagreement(one) <= least + EQUAL_DISAGREEMENT]
        order += _by_cost(group, wishes)
        rest = [one for one in rest if one not in group]
    return order


def _by_cost(records: Sequence[Record], wishes: Wishes) -> list[Record]:
    """The cheapest first; of those as cheap the smallest."""
    rest, order = list(records), []
    while rest:
        least = min(_figure(one, wishes.cost_name) for one in rest)
        equal = [one for one in rest if _figure(one, wishes.cost_name) <= EQUAL_COST * least]
        best = min(equal, key=lambda one: (_figure(one, wishes.size_name), one["number"]))
        order.append(best)
        rest.remove(best)
    return order


def _disagreement(one: Record) -> float:
    choose = one["agreement"]["choose"]
    return float(1 - choose["same"] / choose["rows"])


def _figure(one: Record, name: str) -> float:
    """A figure; what is not known counts as infinite."""
    value = one["figures"].get(name)
    return math.inf if value is None else float(value)


def binding(records: Sequence[Record], wishes: Wishes, report_rows: int) -> dict[str, Record]:
    """For each limit without which another candidate would win: that candidate.

    Without its limit on labels it is the one that keeps most of them at four fifths of the cost or less.
    """
    own = decide(records, wishes, report_rows).winner
    found = {}
    for name in wishes.limits.given():
        if name in LABEL_LIMITS:
            loose = replace(wishes.limits, same_labels=False, agreement=None, accuracy_loss=None)
            most = CHEAPER * (_figure(own, wishes.cost_name) if own else 0.0)
            met = [one for one in records if not misses(one, loose, 1)]
            rest = [one for one in met if _figure(one, wishes.cost_name) < most]
            other = min(rest, key=_disagreement, default=None)
        else:
            unset: Any = None
            loose = replace(wishes.limits, **{name: unset})
            other = decide(records, replace(wishes, limits=loose), report_rows).winner
        if other is not None and other is not own:
            found[name] = other
    return found


def nearest(records: Sequence[Record], wishes: Wishes, count: int = 3) -> list[Record]:
    """The candidates that miss the limits by least, the worst miss of each counting."""

    def miss(one: Record) -> float:
        limits, worst = wishes.limits, 0.0
        if limits.same_labels and not one["proven"]:
            worst = 1.0 + _disagreement(one)
        if limits.agreement is not None and not one["proven"]:
            low = one["agreement"]["expected_low"][0]
            worst = max(worst, (limits.agreement - low) / (1 - limits.agreement))
        for name, figure in FIGURES.items():
            limit, value = getattr(limits, name), one["figures"].get(figure)
            if limit is not None and value is not None:
                worst = max(worst, value / limit - 1)
        return worst

    return sorted((one for one in records if one["state"] == "measured"), key=miss)[:count]


def mark_dominated(records: Sequence[Record], wishes: Wishes) -> None:
    """Marks those to which another is at least equal in labels, cost and size, and better in one."""

    def marks(one: Record) -> tuple[float, ...]:
        return (
            0.0 if one["proven"] else _disagreement(one) + 1e-9,
            _figure(one, wishes.cost_name),
            _figure(one, wishes.size_name),
        )

    known = [one for one in records if one["state"] == "measured"]
    for one in known:
        own = marks(one)
        one["dominated"] = any(
            other is not one
            and all(a <= b for a, b in zip(marks(other), own, strict=True))
            and marks(other) != own
            for other in known
        )

"""The rule of choice once more, in the words of its definition, to hold the page's script against."""

from __future__ import annotations

import math
from typing import Any

LIMITS = {
    "latency_us": "time_us",
    "batch_latency_us": "batch_time_us",
    "max_bytes": "table_bytes",
    "flash": "flash_bytes",
    "ram": "ram_bytes",
}


def winner(record: dict[str, Any], limits: dict[str, Any], minimise: str) -> int | None:
    """The number of the candidate that `auto` takes."""
    k = _finalists(record, limits)
    agreement, loss = limits["agreement"], limits["accuracy_loss"]
    limited = limits["same_labels"] or agreement is not None or loss is not None
    eligible = [one for one in record["candidates"] if _meets(one, limits, k)]
    groups = [eligible] if limited else _by_labels(eligible)
    tested = 0
    for one in (one for group in groups for one in _by_cost(group, record, minimise)):
        if one["proven"] or not limited:
            return int(one["number"])
        if tested == k:
            continue
        tested += 1
        kept = agreement is None or one["agreement"]["report"]["low"][k - 1] >= agreement
        if kept and (loss is None or one["accuracy"]["loss_high"][k - 1] <= loss):
            return int(one["number"])
    return None


def _finalists(record: dict[str, Any], limits: dict[str, Any]) -> int:
    if limits["agreement"] is None and limits["accuracy_loss"] is None:
        return 3
    risk = 1 - record["settings"]["confidence"]
    for k in (3, 2):
        agreement = limits["agreement"]
        if agreement == 1:
            return 1  # no number of rows shows it
        needed = 1 if agreement is None else math.ceil(math.log(risk / k) / math.log(agreement))
        if record["rows"]["report"] >= 2 * needed:
            return k
    return 1


def _meets(one: dict[str, Any], limits: dict[str, Any], k: int) -> bool:
    if one["state"] != "measured":
        return False
    for name, figure in LIMITS.items():
        value = one["figures"][figure]
        if limits[name] is not None and (value is None or value > limits[name]):
            return False
    if one["proven"]:
        return True
    if limits["same_labels"]:
        return False
    agreement, loss = limits["agreement"], limits["accuracy_loss"]
    if agreement is not None and one["agreement"]["expected_low"][k - 1] < agreement:
        return False
    return loss is None or bool(one["accuracy"] and one["accuracy"]["expected_loss_high"][k - 1] <= loss)


def _by_labels(eligible: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups = [[one for one in eligible if one["proven"]]]
    rest = [one for one in eligible if not one["proven"]]
    while rest:
        shares = [
            1 - one["agreement"]["choose"]["same"] / one["agreement"]["choose"]["rows"] for one in rest
        ]
        near = [share <= min(shares) + 0.001 for share in shares]
        groups.append([one for one, is_near in zip(rest, near, strict=True) if is_near])
        rest = [one for one, is_near in zip(rest, near, strict=True) if not is_near]
    return groups


def _by_cost(group: list[dict[str, Any]], record: dict[str, Any], minimise: str) -> list[dict[str, Any]]:
    cpu = record["settings"]["cpu"]
    size = "flash_bytes" if cpu else "table_bytes"
    cost = {
        "time": "instructions" if cpu else "time_us",
        "batch-time": "batch_time_us",
        "instructions": "instructions",
        "bytes": size,
        "energy": "energy_nj",
    }[minimise]

    def figure(one: dict[str, Any], name: str) -> float:
        return math.inf if one["figures"][name] is None else float(one["figures"][name])

    rest, order = list(group), []
    while rest:
        least = min(figure(one, cost) for one in rest)
        equal = [one for one in rest if figure(one, cost) <= 1.05 * least]
        order.append(min(equal, key=lambda one: (figure(one, size), one["number"])))
        rest.remove(order[-1])
    return order

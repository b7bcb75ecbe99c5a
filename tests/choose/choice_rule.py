"""The rule of choice as `auto` applies it, for the limits and wishes that a page shows."""

from __future__ import annotations

from typing import Any

from svmcompile.choose.decide import decide
from svmcompile.choose.wishes import Limits, Wishes
from svmcompile.device.cost import CPUS, DeviceOptions


def winner(record: dict[str, Any], limits: dict[str, Any], minimise: str) -> int | None:
    """The number of the candidate that `auto` takes."""
    settings = record["settings"]
    device = None if settings["cpu"] is None else DeviceOptions(CPUS["cortex-m4f"])
    wishes = Wishes(
        limits=Limits(**limits), minimise=minimise, device=device, confidence=settings["confidence"]
    )
    found = decide(record["candidates"], wishes, record["rows"]["report"]).winner
    return found and int(found["number"])

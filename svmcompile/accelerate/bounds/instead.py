"""Instead: what a part of the method returns when the exact sum is the better program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Instead:
    """Why the exact sum is emitted, with figures for the report."""

    reason: str
    details: dict[str, Any] = field(default_factory=dict)

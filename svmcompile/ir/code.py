"""Code: a machine program as a target writes it, with what its nodes and tables do not tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from svmcompile.ir.program import Program


@dataclass(frozen=True, slots=True)
class Code:
    """What `lower` hands on: targets write `program`, reports and comparisons run `meaning`."""

    program: Program
    meaning: Program
    profile: str = "portable"
    units: Mapping[str, float] = field(default_factory=dict)  # by node: what the row is multiplied by
    folded: frozenset[str] = frozenset()  # tables of norms that have gone into the weights

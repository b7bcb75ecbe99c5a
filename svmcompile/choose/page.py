"""page: STUB until the branch of the page is merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def explore_page(
    record: Mapping[str, Any], program: Any = None, module: bytes | None = None, rows: Any = None
) -> str:
    return "<!doctype html>"

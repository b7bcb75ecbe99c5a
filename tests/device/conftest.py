"""The whole matrix of processors takes minutes: only `pytest tests/device -m slow` runs it."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in (config.getoption("-m") or ""):
        return
    matrix = [item for item in items if _is_matrix(item)]
    if matrix:
        config.hook.pytest_deselected(items=matrix)
        items[:] = [item for item in items if not _is_matrix(item)]


def _is_matrix(item: pytest.Item) -> bool:
    return item.get_closest_marker("device") is not None and item.get_closest_marker("slow") is not None

"""The table of rivals has a line for everyone: figures, or why there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES / "papers"))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import cells
    import rivals

    monkeypatch.setattr(rivals, "STORE", cells.Store(tmp_path))
    return rivals


def measured(rivals: Any, name: str, outcome: Any) -> None:
    """Keeps figures of a contender, or why it has none."""

    def measure() -> Any:
        if isinstance(outcome, str):
            raise rivals.Unmeasured(outcome)
        return outcome

    rivals.STORE.measure("usps-2", rivals.Cell(name, (), measure))


def test_who_was_refused_has_a_line_that_says_why(rivals: Any) -> None:
    measured(rivals, "exact", {"accuracy": 97.0, "agreement": 100.0, "flash": 1234.0})
    measured(
        rivals,
        "h1-tree",
        "h1-tree did not finish within 120 s (--time-limit), and nothing was written; try ...",
    )
    measured(
        rivals, "metric-tree", "metric-tree: a leaf alone takes 47,284 bytes; methods reduced-set and ..."
    )
    names = ["exact", "h1-tree", "metric-tree", "linear"]
    assert [line for line in rivals.lines("usps-2", names) if not line[0].startswith("*published")] == [
        ("exact", "97.00", "100.00", "1,234", "", "", "", "", ""),
        ("h1-tree: did not finish within 120 s", *[""] * 8),
        ("metric-tree: a leaf alone takes 47,284 bytes", *[""] * 8),
        ("linear: not measured", *[""] * 8),
    ]


def test_who_was_refused_is_not_asked_again(rivals: Any) -> None:
    one = rivals.cell("usps-2", "CMSIS-DSP", False)
    assert rivals.STORE.read("usps-2", one) is None
    measured(rivals, "CMSIS-DSP", "it takes two classes only")
    assert rivals.STORE.read("usps-2", one) == {}

"""docs/api.md is what the script writes now."""

from __future__ import annotations

from pathlib import Path

import svmcompile as sc
from tests import api_page

PAGE = Path(__file__).parents[1] / "docs" / "api.md"


def test_the_page_is_up_to_date():
    held = PAGE.read_text(encoding="utf-8")
    assert held == api_page.page(), "run: make api-page"
    for name in {*sc.__all__} - {"__version__"}:
        assert f"### {name}\n" in held or f"| `{name}` |" in held
    assert "### svmcompile compile MODEL" in held and "| `--most-probable` |" in held

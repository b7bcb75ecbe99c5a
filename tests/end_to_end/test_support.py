"""The table of support in docs/supported.md is what the command prints now."""

from __future__ import annotations

from pathlib import Path

import pytest

from svmcompile.commands import support
from svmcompile.read.sklearn.features import TRANSFORMERS
from svmcompile.read.sklearn.machines import MACHINES
from svmcompile.read.sklearn.text import VECTORIZERS

PAGE = Path(__file__).parents[2] / "docs/supported.md"


def test_the_page_holds_what_the_command_prints():
    text = PAGE.read_text(encoding="utf-8")
    held = text.partition(support.BEGIN)[2].partition(support.END)[0].strip()
    made = support.table().strip()
    assert held == made, "run: python -m svmcompile.commands.support docs/supported.md"
    for name in (*MACHINES, *TRANSFORMERS, *VECTORIZERS):
        assert f"`{name}`" in made


def test_a_file_without_marks_is_left_alone(tmp_path):
    (tmp_path / "a.md").write_text("text")
    with pytest.raises(SystemExit, match="has no lines"):
        support.put_into(tmp_path / "a.md")
    assert (tmp_path / "a.md").read_text() == "text"

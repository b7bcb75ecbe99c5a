"""Comparing a text with a stored file, byte for byte."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

SHOWN_LINES = 60


def compare_with_golden(path: Path, text: str, update: bool) -> None:
    """Fails with a diff, or writes the file if asked to; a CI run only ever compares."""
    if update:
        _rewrite(path, text.encode())
    elif not path.exists():
        pytest.fail(f"golden file {path.name} does not exist; run pytest --update-golden and read it")
    elif path.read_bytes() != text.encode():
        pytest.fail(_difference(path, text), pytrace=False)


def _rewrite(path: Path, content: bytes) -> None:
    if os.environ.get("CI"):
        pytest.fail("--update-golden is for people; a CI run must compare")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def _difference(path: Path, text: str) -> str:
    """A diff short enough to read; says so where only line ends differ."""
    stored = path.read_bytes().decode(errors="replace")
    lines = list(
        difflib.unified_diff(stored.splitlines(), text.splitlines(), "stored", "now", lineterm="", n=2)
    )
    if not lines:
        return f"golden file {path.name} differs in its line ends only"
    more = [f"... {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return "\n".join(
        [f"golden file {path.name} differs (pytest --update-golden):", *lines[:SHOWN_LINES], *more]
    )

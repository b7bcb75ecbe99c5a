"""Shared by all tests: golden files and the option that rewrites them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
SHOWN_LINES = 60

Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(name, text)`: the text must be the bytes of tests/golden/<name>."""
    update = bool(request.config.getoption("--update-golden"))
    return lambda name, text: compare_with_golden(GOLDEN / name, text, update)


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

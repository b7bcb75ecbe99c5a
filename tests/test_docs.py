"""What README, CHANGES, docs and docstrings name is there: files, folders and modules."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from svmcompile.ir import arithmetic
from tests.test_layers import FLOORS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGES.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = sorted((ROOT / "svmcompile").rglob("*.py"))
FILES = [
    f"/{path.relative_to(ROOT).as_posix()}"
    for folder in ("svmcompile", "templates", "tests", "examples", "docs")
    for path in (ROOT / folder).rglob("*")
]
ROOMS = "|".join(path.name for path in (ROOT / "svmcompile").iterdir() if (path / "__init__.py").exists())
PLACE = re.compile(rf"(?<![\w/.<])(?:svmcompile|templates|tests|examples|docs|{ROOMS})/[\w./<>-]*[\w>]")
FILE = re.compile(r"`([\w./-]+\.(?:py|j2|md))`")
MODULE = re.compile(r"\bsvmcompile(?:\.[A-Za-z_]\w*)+")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def is_there(name: str) -> bool:
    """Does a path end so? `<...>` stands for any name, and files of kits may go without `.j2`."""
    parts = re.split(r"<[^>]*>", name.rstrip("/"))
    end = re.compile("/" + r"[\w-]+".join(map(re.escape, parts)) + r"(\.j2)?$")
    return any(end.search(path) for path in FILES)


def is_importable(name: str) -> bool:
    """Is it a module, or something in one?"""
    module, _, last = name.rpartition(".")
    if find_spec(module) is None:
        return False
    return hasattr(import_module(module), last) or find_spec(name) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_what_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {*PLACE.findall(text), *FILE.findall(text)} - {"README.md", "CHANGES.md"}
    assert [name for name in sorted(named) if not is_there(name)] == []
    assert [name for name in sorted({*MODULE.findall(text)}) if not is_importable(name)] == []
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_name_files_that_are_there(path: Path) -> None:
    assert [name for name in FILE.findall(path.read_text(encoding="utf-8")) if not is_there(name)] == []


def test_what_is_gone_is_missed() -> None:
    assert is_there("svmcompile/ir/nodes/<family>.py") and is_there("templates/kits/zephyr")
    assert not is_there("svmcompile/ir/rules.py") and not is_there("ir/nodes.py")
    assert is_importable("svmcompile.api.emit") and not is_importable("svmcompile.pipeline.compile")


def test_the_architecture_page_tells_what_the_code_says() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example and example[1] in (ROOT / "svmcompile/ir/nodes/forms.py").read_text(encoding="utf-8")
    floors = [
        {*line.split()} for line in page.partition("every import:\n\n")[2].partition("\n\n")[0].splitlines()
    ]
    assert floors[::-1] == [floor - {"__init__"} for floor in FLOORS]
    assert [name for name in ROOMS.split("|") if f"| `{name}` |" not in page] == []
    for name in ("BLOCK", "SEGMENT", "LONG"):
        assert f"| `{name}` | {getattr(arithmetic, name)} |" in page

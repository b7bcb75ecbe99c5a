"""What README, CHANGES, docs and docstrings name is there, and links hold."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from svmcompile.ir import arithmetic
from svmcompile.plugins.entries import GROUPS
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
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^```([\w ]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def is_there(name: str) -> bool:
    """Does a path end so? `<...>` stands for any name, and files of kits may go without `.j2`."""
    parts = re.split(r"<[^>]*>", name.rstrip("/"))
    end = re.compile("/" + r"[\w-]+".join(map(re.escape, parts)) + r"(\.j2)?$")
    return any(end.search(path) for path in FILES)


def anchors(page: Path) -> set[str]:
    """What its headings are called in links, as GitHub calls them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, link: str, anchor: str) -> bool:
    """Is there such a file, and such a heading in it?"""
    there = page.parent / link if link else page
    return there.exists() and (not anchor or anchor in anchors(there))


def is_importable(name: str) -> bool:
    """Is it a module, or something in one?"""
    module, _, last = name.rpartition(".")
    if find_spec(module) is None:
        return False
    return hasattr(import_module(module), last) or find_spec(name) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_what_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {*PLACE.findall(text), *FILE.findall(text)} - {
        "README.md",
        "CHANGES.md",
        "SECURITY.md",
        "NAME.misra.md",
        "NAME.py",
    }
    assert [name for name in sorted(named) if not is_there(name)] == []
    modules = {*MODULE.findall(text)} - {*GROUPS.values()}
    assert [name for name in sorted(modules) if not is_importable(name)] == []
    links = LINK.findall(FENCED.sub("", text))
    assert [link for link in links if not leads_somewhere(page, *link)] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_name_files_that_are_there(path: Path) -> None:
    assert [name for name in FILE.findall(path.read_text(encoding="utf-8")) if not is_there(name)] == []


def test_what_is_gone_is_missed() -> None:
    assert is_there("svmcompile/ir/nodes/<family>.py") and is_there("templates/kits/zephyr")
    assert not is_there("svmcompile/ir/rules.py") and not is_there("ir/nodes.py")
    page = ROOT / "README.md"
    assert leads_somewhere(page, "docs/supported.md", "untrusted-files")
    assert not leads_somewhere(page, "docs/supported.md", "no-such-heading")
    assert not leads_somewhere(page, "docs/no-such-page.md", "")
    assert is_importable("svmcompile.api.emit") and not is_importable("svmcompile.pipeline.compile")


def test_the_architecture_page_tells_what_the_code_says() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    example = re.search(r"```py\n(.*?)```", page, re.DOTALL)
    assert example and example[1] in (ROOT / "svmcompile/ir/nodes/forms.py").read_text(encoding="utf-8")
    floors = [
        {*line.split()} for line in page.partition("every import:\n\n")[2].partition("\n\n")[0].splitlines()
    ]
    assert floors[::-1] == [floor - {"__init__"} for floor in FLOORS]
    assert [name for name in ROOMS.split("|") if f"| `{name}` |" not in page] == []
    for name in ("BLOCK", "SEGMENT", "LONG"):
        assert f"| `{name}` | {getattr(arithmetic, name)} |" in page


def table(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table whose heading begins so."""
    text = page.read_text(encoding="utf-8")
    lines = text[text.index(heading) :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def test_the_readme_tells_what_was_measured() -> None:
    """Its ratios are the least and the largest in the table of docs/measured.md."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    titles, *models = table(ROOT / "docs/measured.md", "| model | our C, us per row |")
    for peer in ("scikit-learn", "skl2onnx in ONNX Runtime", "LIBSVM"):
        cells = [model[titles.index(peer)].split(" / ") for model in models]
        ratios = sorted((one for cell in cells for one in cell), key=float)
        assert re.search(rf"{peer} (takes )?{ratios[0]} to {ratios[-1]} times", text), peer

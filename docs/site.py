"""Hooks of the site: CHANGES.md becomes a page, and links that leave docs stay links on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]


def on_files(files: Any, config: Any) -> Any:
    text = (ROOT / "CHANGES.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "changes.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Pages link the changes as GitHub shows them; other files of the repository become plain names."""
    for page, there in (("CHANGES.md", "changes.md"), ("README.md", "index.md")):
        markdown = markdown.replace(f"](../{page})", f"]({there})")
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", markdown)

"""The documentation as a site: it builds, every page is in it, and the errors it explains are ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXPLAINED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """Pages missing from the navigation, dead links and dead anchors are warnings, and end the build."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path.stem for path in DOCS.glob("*.md")}
    assert pages <= {path.stem for path in tmp_path.glob("*.html")}
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    loaded_from_elsewhere = re.findall(r'(?:src|stylesheet" href)="(?:https?:)?//[^"]*', home)
    assert loaded_from_elsewhere == []
    assert "exit code" in (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")


def test_explained_errors_are_raised_somewhere() -> None:
    """Each message on the page of troubles is part of one in the package."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "svmcompile").rglob("*.py")]
    code = re.sub(r'"\s*\n\s*f?"', "", "\n".join(sources))
    messages = EXPLAINED.findall((DOCS / "troubleshooting.md").read_text(encoding="utf-8"))
    assert len(messages) >= 10
    assert [message for message in messages if message not in code] == []

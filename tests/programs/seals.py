"""Output folders whose files a test changes."""

from __future__ import annotations

import json
from pathlib import Path


def unseal(folder: Path, name: str) -> Path:
    """The folder without digests, as one of an older version: changed files are not noticed."""
    path = folder / f"{name}.json"
    report = json.loads(path.read_text())
    del report["digests"]
    path.write_text(json.dumps(report))
    return folder

"""Optional libraries: the command that installs them, from where svmcompile itself came."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]


def install(*extras: str) -> str:
    """The command that installs extras, quoted for every shell; svmcompile is on no package index yet."""
    wanted = f"[{','.join(extras)}]"
    if (ROOT / "pyproject.toml").is_file():  # a checkout
        return f"pip install -e {shlex.quote(f'{ROOT}{wanted}')}"
    source = _source(wanted)
    if source:
        return f"pip install {shlex.quote(source)}"
    return f"pip install '.{wanted}' in a checkout of svmcompile"


def _source(wanted: str) -> str:
    """What pip installed svmcompile from, with extras; empty where it did not record it or it is gone."""
    try:
        known = json.loads(metadata.distribution("svmcompile").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    url, version = str(known.get("url", "")), known.get("vcs_info", {})
    if version:
        return f"svmcompile{wanted} @ {version['vcs']}+{url}@{version['commit_id']}"
    place = Path(unquote(urlsplit(url).path))
    return f"{place}{wanted}" if url.startswith("file:") and place.exists() else ""

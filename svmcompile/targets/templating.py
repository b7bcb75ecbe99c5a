"""The jinja environment: templates lay out, Python decides."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from svmcompile.errors import EmitError


def template_folder() -> Path:
    """`templates/` inside the package (installed) or beside it (checkout, editable install)."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "templates", package.parent / "templates"):
        if (folder / "c" / "model.c.j2").is_file():
            return folder
    raise EmitError("the templates are missing; reinstall svmcompile")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(template_folder()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, context: dict[str, Any]) -> str:
    """The text of a template."""
    text: str = _environment().get_template(template).render(context)
    return text

"""explore.html: one page that shows the candidates of a search, from disk and without a network.

The record, whose labels and names come from a model, goes into one JSON block and reaches the page as text
alone. The page's policy allows its own scripts, by hash, and no request.
"""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from svmcompile import __version__
from svmcompile.ir.program import Program
from svmcompile.targets.templating import render
from svmcompile.targets.wasm.page import digest, script_json, try_facts

SCRIPTS = ("format", "choice", "axes", "plot", "hover", "detail", "table", "limits", "page")


def explore_page(
    record: Mapping[str, Any],
    program: Program | None = None,
    module: bytes | None = None,
    rows: NDArray[Any] | None = None,
) -> str:
    """The page of a record (explore.json, format 1).

    `program` (a machine program) and `module` (its WebAssembly) are those of the winner: with them rows can
    be tried in the page, and `rows` tell the range of each feature.
    """
    name = ", ".join(str(model["name"]) for model in record["models"])
    style = "".join(
        render(part, {}) for part in ("wasm/try.css", "explore/explore.css", "explore/parts.css")
    )
    # A block keeps the names of this script apart from those of try.js.
    parts = "".join(render(f"explore/{part}.js", {}) for part in SCRIPTS)
    script = f'\n"use strict";\n{{\n{parts}}}\n'
    trial = _trial(program, module, name, rows) if program is not None and module is not None else None
    return render(
        "explore/page.html.j2",
        {
            "name": html.escape(name),
            "version": __version__,
            "style": style,
            "style_hash": digest(style),
            "script": script,
            "script_hashes": [digest(script), *([digest(trial["script"])] if trial else [])],
            "record": script_json(_finite(record)),
            "trial": trial,
        },
    )


def _trial(program: Program, module: bytes, name: str, rows: NDArray[Any] | None) -> dict[str, str]:
    """What the part of the page that runs rows consists of."""
    return {
        "script": render("wasm/try.js", {}),
        "facts": script_json(try_facts(program, name, rows)),
        "module": base64.b64encode(module).decode(),
    }


def _finite(value: Any) -> Any:
    """The value with null for numbers that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

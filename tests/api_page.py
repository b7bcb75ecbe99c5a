"""Writes docs/api.md: the public names and the commands, from their signatures, docstrings and options.

python -m tests.api_page docs/api.md      (make api-page)
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import typer

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.proofs.report import ProofReport
from svmcompile.runtime.c import CModel
from svmcompile.runtime.onnx import OnnxModel
from svmcompile.runtime.scikit import Given
from svmcompile.runtime.wasm import WasmModel
from svmcompile.verification.certificate import CertificateReport
from svmcompile.verification.differential import Comparison, Report

HEAD = """# API and commands

`make api-page` writes this page from signatures, docstrings and options; a test says that it is up to date.
In Python, `import svmcompile as sc`.
"""
FUNCTIONS = (
    "build",
    "compile",
    "explore",
    "train",
    "quantise",
    "emit",
    "write",
    "load",
    "verify",
    "prove",
    "check_certificate",
    "device_cost",
)
CLASSES = ("Program", "Claim", "Compiled", "DTSVMClassifier")
LOADED = {"C": CModel, "WebAssembly": WasmModel, "ONNX": OnnxModel}
REPORTS = (Report, Comparison, CertificateReport, ProofReport)
MEMBERS = (FunctionType, Given, classmethod, property)
WIDTH = 100


def page() -> str:
    """The whole page."""
    errors = [name for name in sc.__all__ if name.endswith("Error")]
    assert {*FUNCTIONS, *CLASSES, *errors, "__version__"} == set(sc.__all__), (
        "a public name has no place here"
    )
    parts = [HEAD, "## Functions\n"]
    parts += [function(getattr(sc, name)) for name in FUNCTIONS]
    parts += ["## Classes\n", *(of_class(getattr(sc, name)) for name in CLASSES)]
    parts += ["## Loaded models\n", loaded()]
    parts += ["## Reports\n", *(of_class(one) for one in REPORTS)]
    parts += [
        "## Errors\n",
        table(("error", "when"), ((f"`{name}`", doc(getattr(sc, name))) for name in errors)),
    ]
    group = typer.main.get_command(app)
    parts += ["## Commands\n", *(command(name, one) for name, one in group.commands.items())]  # type: ignore[attr-defined]
    return "\n".join(parts)


def doc(thing: Any) -> str:
    """A docstring on one line, fit for a table."""
    return " ".join((thing.__doc__ or "").split())


def function(thing: Any) -> str:
    """A function with its signature and docstring."""
    return f"### {thing.__name__}\n\n```py\n{signature(thing)}\n```\n\n{inspect.getdoc(thing)}\n"


def tree_of(thing: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def signature(thing: Any, name: str | None = None, width: int = WIDTH) -> str:
    """How to call a function, `self` left out; what does not fit a line stands on several."""
    known = inspect.signature(thing)
    inside: list[str] = []
    for one in known.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not any(text.startswith("*") for text in inside):
            inside.append("*")
        if one.name not in ("self", "cls"):
            default = "" if one.default is one.empty else f" = {one.default!r}"
            stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
            inside.append(f"{stars}{one.name}: {one.annotation}{default}")
    result = "" if name else f" -> {known.return_annotation}"
    line = f"{name or thing.__name__}({', '.join(inside)}){result}"
    if len(line) <= width:
        return line
    rows = [""]
    for text in inside:
        if len(rows[-1]) + len(text) > width - 6:
            rows.append("")
        rows[-1] += f"{text}, "
    body = "\n".join(f"    {row.rstrip()}" for row in rows)
    return f"{name or thing.__name__}(\n{body}\n){result}"


def of_class(thing: Any) -> str:
    """A class: how to make one where users do, its fields and members."""
    lines = [f"### {thing.__name__}\n"]
    if thing in (sc.Compiled, sc.DTSVMClassifier):
        lines.append(f"```py\n{signature(thing.__init__, thing.__name__)}\n```\n")
    lines.append(f"{inspect.getdoc(thing)}\n")
    rows = [*fields(thing), *members(thing)]
    bare = ", ".join(name for name, text in rows if not text)
    lines += [f"{bare}\n"] if bare else []
    return "\n".join([*lines, table(("member", ""), (row for row in rows if row[1]))])


def fields(thing: Any) -> Iterator[tuple[str, str]]:
    """Fields of a dataclass and members of an enum, with the comments beside them."""
    source = textwrap.dedent(inspect.getsource(thing)).splitlines()
    for node in tree_of(thing).body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            kind = f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
            comment = source[node.lineno - 1].partition("  # ")[2]
            yield f"`{ast.unparse(target)}{kind}`", comment


def members(thing: Any) -> Iterator[tuple[str, str]]:
    """Public methods and properties that a class or its parents in this package define."""
    for name, member in members_of(thing).items():
        if isinstance(member, property):
            yield f"`{name}: {inspect.signature(member.fget).return_annotation}`", doc(member)
        else:
            yield f"`{signature(member, width=sys.maxsize)}`", doc(member)


def members_of(thing: type) -> dict[str, Any]:
    parents = [one for one in reversed(thing.__mro__) if one.__module__.startswith("svmcompile")]
    return {
        name: getattr(value, "__func__", value)
        for parent in parents
        for name, value in vars(parent).items()
        if not name.startswith("_") and isinstance(value, MEMBERS)
    }


def loaded() -> str:
    """What `load` gives: members of each class, and for which targets."""
    kinds: dict[str, list[str]] = {}
    rows: dict[str, tuple[str, str]] = {}
    for kind, one in LOADED.items():
        for name, row in zip(members_of(one), members(one), strict=True):
            kinds.setdefault(name, []).append(kind)
            rows.setdefault(name, row)
    table_rows = (
        (*row, "all" if len(kinds[name]) == 3 else ", ".join(kinds[name])) for name, row in rows.items()
    )
    return table(("member", "", "target"), table_rows)


def command(name: str, one: Any) -> str:
    """A command with its arguments and options."""
    options = [option for option in one.params if option.name != "help"]
    words = [option.name.upper() for option in options if option.param_type_name == "argument"]
    lines = [f"### {' '.join(['svmcompile', name, *words])}\n", f"{' '.join((one.help or '').split())}\n"]
    return "\n".join([*lines, table(("option", ""), map(option_row, options))])


def option_row(option: Any) -> tuple[str, str]:
    argument = option.param_type_name == "argument"
    names = option.name.upper() if argument else ", ".join(sorted(option.opts, key=len))
    text = " ".join((option.help or "").split())
    if option.required and not argument:
        text += " (required)"
    elif (
        option.default not in (None, False, [], ())
        and "[default" not in text
        and not callable(option.default)
    ):
        text += f" [default: {option.default}]"
    return f"`{names}`", text


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; nothing where there is no row."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    titles = list(head)
    return "\n".join([f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *lines, ""]) if lines else ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

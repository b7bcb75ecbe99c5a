"""The command line: parse, call, print. Flags are those of `commands.options`; commands load late."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from svmcompile.commands import helping, options
from svmcompile.commands.data_options import DataOptions
from svmcompile.errors import SvmCompileError
from svmcompile.files.plain import json_text, visible

# A command NAME has its options in NameOptions and runs in the module `commands.NAME`.
NAMES = (
    "compile",
    "explore",
    "train",
    "convert",
    "inspect",
    "verify",
    "predict",
    "bench",
    "methods",
    "demo",
)
COMMANDS: dict[str, type[options.Options]] = {
    name: getattr(options, f"{name.capitalize()}Options") for name in NAMES
}
app = typer.Typer(
    name="svmcompile",
    help="Compile trained support vector machines to standalone C, ONNX and WebAssembly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Entry point: errors made on purpose end in a message and their exit code, without a traceback."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except SvmCompileError as error:
        print(f"svmcompile: {visible(str(error))}", file=sys.stderr)
        _end(type(error).__name__, str(error), error.exit_code)
    except KeyboardInterrupt:
        print("svmcompile: stopped", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        error.show()  # type: ignore[attr-defined]  # of click, wherever typer has it from
        _end("UsageError", error.format_message(), error.exit_code)  # type: ignore[attr-defined]


def _end(kind: str, message: str, code: int) -> NoReturn:
    """Leave with an error that is on standard error already; with --json it is the one JSON object too."""
    if "--json" in sys.argv[1:]:
        print(json_text({"error": kind, "message": message, "exit_code": code, "ok": False}), end="")
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        from svmcompile import __version__

        print(f"svmcompile {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Compile trained support vector machines to standalone C, ONNX and WebAssembly."""


class Grouped(TyperCommand):
    """A command whose help has its options in panels, if there are many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        params = self.get_params(ctx)
        if len(params) <= helping.MANY:
            super().format_options(ctx, formatter)
            return
        by_name = {one.name: one for one in params}
        arguments = [one.name for one in params if one.param_type_name == "argument"]
        others = [name for name in by_name if name not in helping.PANEL and name not in arguments]
        for panel, names in {"Arguments": arguments, **helping.PANELS, "Other": others}.items():
            found = [by_name[name].get_help_record(ctx) for name in names if name in by_name]
            if records := [record for record in found if record]:
                with formatter.section(panel):
                    formatter.write_dl(records)


def _add(name: str, kind: type[options.Options]) -> None:
    """A command whose flags are the fields of its options."""

    def call(**flags: Any) -> None:
        run(name, kind(**flags))

    call.__doc__ = kind.__doc__
    whole, shared = inspect.signature(kind, eval_str=True), DataOptions.__dataclass_fields__
    own_first = sorted(whole.parameters.values(), key=lambda flag: flag.name in shared)
    call.__signature__ = whole.replace(parameters=own_first)  # type: ignore[attr-defined]
    summary = " ".join((kind.__doc__ or "").split()).split(". ")[0].rstrip(".")
    app.command(name, cls=Grouped, short_help=summary)(call)


for _name, _kind in COMMANDS.items():
    _add(_name, _kind)


def run(name: str, wanted: options.Options) -> None:
    """Run a command, with bars on standard error, and print its report; exit 1 where a claim is broken."""
    from svmcompile.commands import show
    from svmcompile.progress import showing

    command = importlib.import_module(f"svmcompile.commands.{name}")
    quiet = wanted.as_json
    with showing(lambda what, total: show.progress(what, total, quiet), lambda text: show.say(text, quiet)):
        report = command.run(wanted)
    if wanted.as_json:
        print(json_text(report, default=str), end="")
    else:
        getattr(show, name)(report, wanted)
    if not report.get("ok", True):
        raise typer.Exit(1)

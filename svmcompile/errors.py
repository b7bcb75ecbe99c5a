"""Every error a user can meet. A message says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable


class SvmCompileError(Exception):
    """Root of all errors raised on purpose; the command line shows it without a traceback."""

    exit_code = 2


class ReadError(SvmCompileError):
    """A model, program or data file cannot be read."""


class UnsupportedError(SvmCompileError):
    """The input is valid, but it cannot be compiled."""


class OptionError(SvmCompileError):
    """An option or argument has a value that makes no sense."""


class MissingValueError(OptionError, ValueError):
    """A row holds NaN or an infinity; a `ValueError`, as scikit-learn raises."""


class UnknownCategoryError(OptionError, ValueError):
    """A row holds text that its column cannot; a `ValueError`, as scikit-learn raises."""


class CheckError(SvmCompileError):
    """A program is not well formed."""


class EmitError(SvmCompileError):
    """A program cannot be written for the chosen target."""


class ToolchainError(SvmCompileError):
    """A C compiler or a run-time library is missing or failed."""

    exit_code = 3


class PluginError(SvmCompileError):
    """A package that extends svmcompile cannot be used."""

    exit_code = 3


class VerifyError(SvmCompileError):
    """Two things that should agree cannot be compared."""


def find_name(given: str, known: Iterable[str], what: str) -> str:
    """The known name that is meant, whatever its case and dashes; else an error that suggests one."""
    names = {_plain(one): one for one in known}
    if _plain(given) in names:
        return names[_plain(given)]
    listed = ", ".join(names.values())
    raise OptionError(f"unknown {what} {given!r}{suggestion(given, names.values())}; known: {listed}")


def suggestion(given: str, known: Iterable[str]) -> str:
    """In parentheses, the known name nearest to one that is not; empty where none is near."""
    from difflib import get_close_matches  # not needed until something goes wrong

    names = {_plain(one): one for one in known}
    near = get_close_matches(_plain(given), names, n=1)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def _plain(name: str) -> str:
    return str(name).lower().replace("_", "-")

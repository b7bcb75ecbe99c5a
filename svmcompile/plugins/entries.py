"""Entry points of other packages: found, loaded, and what they do guarded.

Built-in names come first: plugins are looked for only where a name is not built in, and one that is
broken hurts nobody who does not ask for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from importlib import metadata
from typing import Any, TypeVar

from svmcompile.errors import OptionError, PluginError, SvmCompileError, find_name

PACKAGE = __name__.partition(".")[0]
GROUPS = {one: f"{PACKAGE}.{one}s" for one in ("reader", "method", "target", "kit")}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point: what it is, its name, the package that has it, and why it cannot be used."""

    what: str
    name: str
    package: str
    entry: metadata.EntryPoint
    problem: str = ""

    def error(self, problem: str) -> PluginError:
        return PluginError(
            f"{self.what} {self.name!r} of package {self.package} {problem}; update or remove the package"
        )


@lru_cache(8)
def _entries(what: str, path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """All entry points of a group, by name and package; `path` is where Python looks for them."""
    found = []
    for entry in metadata.entry_points(group=GROUPS[what]):
        owner = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "of no distribution"
        found.append(Plugin(what, entry.name, owner, entry))
    return tuple(sorted(found, key=lambda one: (one.name, one.package)))


def plugins(what: str, builtin: Iterable[str]) -> list[Plugin]:
    """The plugins of a kind; those whose name cannot be used have a problem."""
    entries, taken = _entries(what, tuple(sys.path)), {"auto", *map(_plain, builtin)}
    owners: dict[str, list[str]] = {}
    for one in entries:
        owners.setdefault(_plain(one.name), []).append(one.package)
    return [replace(one, problem=_problem(one, taken, owners[_plain(one.name)])) for one in entries]


def _problem(plugin: Plugin, taken: set[str], owners: list[str]) -> str:
    if not NAME.fullmatch(plugin.name):
        return "has a name that is not lower-case words joined by dashes"
    if _plain(plugin.name) in taken:
        return "has the name of a built-in one and is not used"
    return f"has a name that packages share ({', '.join(owners)})" if len(owners) > 1 else ""


def find_plugged(given: str, builtin: Iterable[str], what: str) -> str:
    """As `find_name`, among built-in names first, then among those of plugins."""
    builtin = list(builtin)
    try:
        return find_name(given, builtin, what)
    except OptionError:
        return find_name(given, [*builtin, *(one.name for one in plugins(what, builtin))], what)


def find_plugin(name: str, builtin: Iterable[str], what: str) -> Plugin:
    """The plugin of a name that is not built in."""
    found = [one for one in plugins(what, builtin) if one.name == name]
    if not found:
        raise OptionError(f"there is no {what} {name!r}")
    if found[0].problem:
        raise found[0].error(found[0].problem)
    return found[0]


def load(plugin: Plugin, kind: type[Kind]) -> Kind:
    """What an entry point names; an error that names the package where that is not what it should be."""
    try:
        found = plugin.entry.load()
    except Exception as error:  # importing it runs the package's own code
        raise plugin.error(f"cannot be loaded ({type(error).__name__}: {error})") from error
    if not isinstance(found, kind):
        raise plugin.error(f"is a {type(found).__name__}, not a {kind.__module__}.{kind.__name__}")
    return found


def guarded(plugin: Plugin, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with errors that are not made on purpose told as those of the package."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except SvmCompileError:
            raise
        except Exception as error:
            raise plugin.error(f"failed ({type(error).__name__}: {error})") from error

    return call


def checked_files(plugin: Plugin, files: Any, start: str) -> dict[str, str | bytes]:
    """Files that a plugin made: text or bytes under relative paths that begin as they must."""
    if not isinstance(files, Mapping):
        raise plugin.error(f"gave a {type(files).__name__}, not a mapping of file names")
    for path, content in files.items():
        parts = path.split("/") if isinstance(path, str) else [""]
        if not all(re.fullmatch(r"\w[\w.-]*", part, re.ASCII) for part in parts) or not path.startswith(
            start
        ):
            raise plugin.error(
                f"names a file {str(path)[:80]!r}; paths are relative and begin with {start!r}"
            )
        if not isinstance(content, (str, bytes)):
            raise plugin.error(f"gave {path} as a {type(content).__name__}, not as text or bytes")
    return dict(files)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")

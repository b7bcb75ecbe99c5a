"""methods: every method, or one with its options, as its own module declares it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from svmcompile.accelerate.registry import METHODS, Method, method, method_name
from svmcompile.commands.options import MethodsOptions
from svmcompile.errors import PluginError
from svmcompile.flow.evaluation import TARGETS
from svmcompile.plugins import Kit, Reader, Target
from svmcompile.plugins.entries import Plugin, find_plugin, load, plugins
from svmcompile.read import READERS
from svmcompile.targets.kits import KIT_NAMES

KINDS: dict[str, type] = {"reader": Reader, "method": Method, "target": Target, "kit": Kit}


def run(options: MethodsOptions) -> dict[str, Any]:
    """Claims, needs, and options with type, default, range and a sentence each."""
    if options.name is not None:
        return {"methods": [facts(method_name(options.name))], "plugins": []}
    added = plugged()
    own = [one["name"] for one in added if one["what"] == "method" and not one["problem"]]
    return {"methods": [facts(name) for name in (*METHODS, *own)], "plugins": added}


def plugged() -> list[dict[str, Any]]:
    """Every plugin with its package, and why it cannot be used."""
    names = {"method": METHODS, "reader": READERS, "target": TARGETS, "kit": KIT_NAMES}
    return [_facts(one) for what, builtin in names.items() for one in plugins(what, builtin)]


def _facts(plugin: Plugin) -> dict[str, Any]:
    problem = plugin.problem
    try:
        if not problem:
            load(plugin, KINDS[plugin.what])
    except PluginError as error:
        problem = str(error)
    return {"what": plugin.what, "name": plugin.name, "package": plugin.package, "problem": problem}


def facts(name: str) -> dict[str, Any]:
    """What a method declares."""
    found = method(name)
    return {
        "name": name,
        "package": "" if name in METHODS else find_plugin(name, METHODS, "method").package,
        "claim": found.claim.value,
        "needs_data": found.needs_data,
        "summary": found.summary,
        "options": [asdict(option) for option in found.option_list],
        "trains": found.train is not None,
        "train_options": [asdict(option) for option in found.train_option_list],
    }


def text(value: Any) -> str:
    """A default as --set takes it."""
    return str(value).lower() if isinstance(value, bool) else f"{value}"

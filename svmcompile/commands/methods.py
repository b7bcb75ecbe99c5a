"""methods: every method, or one with its options, as its own module declares it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from svmcompile.accelerate.registry import METHODS, method, method_name
from svmcompile.commands.options import MethodsOptions


def run(options: MethodsOptions) -> dict[str, Any]:
    """Claims, needs, and options with type, default, range and a sentence each."""
    names = list(METHODS) if options.name is None else [method_name(options.name)]
    return {"methods": [facts(name) for name in names]}


def facts(name: str) -> dict[str, Any]:
    """What a method declares."""
    found = method(name)
    return {
        "name": name,
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

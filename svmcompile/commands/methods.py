"""methods: every method as its own module declares it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from svmcompile.accelerate.registry import METHODS, method
from svmcompile.commands.options import MethodsOptions


def run(options: MethodsOptions) -> dict[str, Any]:
    """Claims, needs, options and defaults."""
    return {
        "methods": [
            {
                "name": name,
                "claim": found.claim.value,
                "needs_data": found.needs_data,
                "summary": found.summary,
                "options": [asdict(option) for option in found.option_list],
                "trains": found.train is not None,
                "train_options": [asdict(option) for option in found.train_option_list],
            }
            for name, found in ((name, method(name)) for name in METHODS)
        ]
    }

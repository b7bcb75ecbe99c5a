"""Parts of the C interface: those that each profile has, and what `--api` changes. Light.

Which functions there are depends on the kind of model, the profile and `--api`, never on a model's numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

from svmcompile.errors import OptionError, find_name

PARTS = {
    "sparse": "functions for rows given by their non-zero features",
    "model": "NAME_get, one struct for every kind of model",
    "cpp": "NAME.hpp, for C++17",
}
USUAL = {"host": ("sparse", "model"), "portable": ("sparse", "model"), "device": ()}
WITHOUT = "no-"


def read_parts(given: str | Iterable[str], profile: str) -> frozenset[str]:
    """The parts of a profile's C, with those that a user adds or, with no- before them, leaves out."""
    parts: set[str] = {*USUAL[profile]}
    for word in filter(None, ",".join([given] if isinstance(given, str) else given).split(",")):
        part = find_name(word.strip().removeprefix(WITHOUT), PARTS, "part of the C interface")
        (parts.discard if word.strip().startswith(WITHOUT) else parts.add)(part)
    if profile == "device" and "sparse" in parts:
        raise OptionError("part sparse needs room for a whole row on the stack, which devices lack")
    return frozenset(parts)

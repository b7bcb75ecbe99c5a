"""A kit of our own: NAME.c and NAME.h with a makefile."""

from __future__ import annotations

from collections.abc import Mapping

from svmcompile.ir.program import Program
from svmcompile.plugins import Kit


def emit(
    program: Program, name: str, precision: str, files: Mapping[str, str | bytes]
) -> dict[str, str | bytes]:
    """Sources, and the rule that builds them."""
    makefile = f"{name}.o: {name}.c {name}.h\n\t$(CC) -O2 -c {name}.c\n"
    return {"Makefile": makefile} | {file: files[file] for file in (f"{name}.c", f"{name}.h")}


KIT = Kit(emit=emit)

"""A target of our own: the program as a listing."""

from __future__ import annotations

from svmcompile.ir.program import Program
from svmcompile.plugins import Target


def emit(program: Program, name: str, precision: str) -> dict[str, str]:
    """One text file."""
    return {f"{name}.txt": f"{name} ({precision})\n\n{program.text()}\n"}


TARGET = Target(emit=emit)

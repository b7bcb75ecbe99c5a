"""Code that runs the same instructions and reads the same places for every row; what cannot is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.program import Program
from svmcompile.targets.c.node import CNode

OPTION = "constant_time"
KERNELS = {"tanh": "a sigmoid kernel", "given": "a precomputed kernel"}


IN_C = ("c", "shared")


def check_targets(program: Program, targets: Iterable[str]) -> None:
    """Refuse a target whose instructions are not ours to choose."""
    others = [target for target in targets if target not in IN_C]
    if others and is_steady(program):
        raise _refusal(f"what runs target {others[0]} chooses its instructions", "use target c")


def is_steady(program: Program) -> bool:
    """Whether a program was compiled with constant_time=true."""
    return bool(dict(program.origin.options).get(OPTION))


def check_steady(program: Program, profile: str, nodes: Iterable[CNode[Any]]) -> None:
    """Refuse what does not take the same instructions for every row."""
    if program.number in FIXED:
        raise _refusal(f"{program.number} looks kernel values up by the row", "use --precision f32 or f64")
    if profile == "host":
        raise _refusal("profile host is not checked for it", "use --profile portable or device")
    for node in nodes:
        if not node.keeps_time:
            what = KERNELS.get(getattr(node.node, "shape", ""), type(node.node).__name__)
            raise _refusal(f"{what} takes branches that depend on the row", "leave it out")


def _refusal(why: str, instead: str) -> EmitError:
    return EmitError(f"{OPTION}=true: {why}; {instead}")

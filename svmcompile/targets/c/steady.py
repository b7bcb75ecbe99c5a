"""Code that runs the same instructions and reads the same places for every row; what cannot is refused."""

from __future__ import annotations

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.program import Code, Program

OPTION = "constant_time"
# Whose macros have no branch and no place in memory that depends on a row, or have such a form.
NODES = (
    ir.Prepare, ir.PackedSum, ir.Affine, ir.Quadratic, ir.Scale, ir.Pick, ir.Join, ir.AsFeatures,
    ir.Vote, ir.ArgMax, ir.Threshold, ir.OvrScores,
)  # fmt: skip
SHAPES = ("exp2", "distance", "power", "identity")


def check_not_steady(program: Program) -> None:
    """Refuse a target whose instructions are not ours to choose."""
    if is_steady(program):
        raise _refusal("what runs an ONNX graph chooses its instructions", "use target c")


def is_steady(program: Program) -> bool:
    """Whether a program was compiled with constant_time=true."""
    return bool(dict(program.origin.options).get(OPTION))


def check_steady(code: Code) -> None:
    """Refuse what does not take the same instructions for every row."""
    program = code.program
    if program.number in FIXED:
        raise _refusal(f"{program.number} looks kernel values up by the row", "use --precision f32 or f64")
    if code.profile == "host":
        raise _refusal("profile host is not checked for it", "use --profile portable or device")
    for node in program.body:
        if not isinstance(node, NODES):
            raise _refusal(f"{type(node).__name__} takes branches that depend on the row", "leave it out")
        if isinstance(node, ir.PackedSum) and node.shape not in SHAPES:
            kernel = {"tanh": "a sigmoid kernel"}.get(node.shape, "a precomputed kernel")
            raise _refusal(f"{kernel} has no such form", "use a linear, polynomial or RBF kernel")


def _refusal(why: str, instead: str) -> EmitError:
    return EmitError(f"{OPTION}=true: {why}; {instead}")

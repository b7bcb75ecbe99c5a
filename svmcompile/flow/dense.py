"""Vectors without their zeros become arrays where what is asked for knows no others."""

from __future__ import annotations

from collections.abc import Collection

from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.nodes import CsrLeaves, CsrSum
from svmcompile.ir.program import Program
from svmcompile.optimise import optimise
from svmcompile.optimise.compressed import dense_sums

DENSE_TARGETS = ("blob", "sql")


def with_dense_sums(
    program: Program, number: Number, profile: str, tables: str | None, targets: Collection[str]
) -> Program:
    """The program as it is, or with dense vectors; an error that says why where these are too large."""
    sums = [node for node in program.body if isinstance(node, CsrSum)]
    leaves = [node for node in program.body if isinstance(node, CsrLeaves)]
    reasons = (
        (number in FIXED, f"precision {number}"),
        (profile == "device", "profile device"),
        (tables in ("dense", "f16"), f"tables={tables}"),
        *((target in targets, f"target {target}") for target in DENSE_TARGETS),
        (bool(leaves) and "onnx" in targets, "target onnx of a tree with vectors in its leaves"),
        (any(node.kernel.gamma == 0 for node in sums), "a kernel with gamma 0"),
    )
    why = next((text for is_so, text in reasons if is_so), "")
    return optimise(dense_sums(program, why)) if (sums or leaves) and why else program

"""How far a program in whole numbers may be from its origin, and which rows it may send another way.

The bound on sums is stated by the program; it holds for rows within range and any path through a tree
that rounding cannot change.

A program in whole numbers states how far each test can be off, in the test's own unit. Rows that keep a
distance to every threshold they meet take the same way as in the program it was made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import INPUT_LIMITS
from svmcompile.ir.bounds import Bounds
from svmcompile.ir.graph import maker
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.program import Program

AT_THE_END = 0.01  # of a whole number, by which float rounding may take an end of the range beyond it


def fixed_bounds(program: Program, rows: NDArray[Any]) -> Bounds:
    """Bounds on scores: infinite where there are none, as for rows beyond the range or close to a test."""
    stated = program.origin.details["fixed"]
    error, outside = stated["error"], ~within_range(program, rows) | near_tests(program, rows)
    found = np.full((len(rows), _width(program)), np.inf)
    value = program.output("scores") or program.output("value")
    node = maker(program, value)
    near = np.zeros(len(rows), dtype=bool)
    if isinstance(node, ir.Dequantise):
        found[:] = error
        near = (np.abs(interpret_values(program, rows, {node.out})[node.out]) <= error).any(axis=1)
    elif isinstance(node, ir.OvrScores):
        near = (np.abs(interpret_values(program, rows, {node.pairs})[node.pairs]) <= error).any(axis=1)
        # A sum of errors, squashed by a function that rises by a third at most; plus float rounding.
        found[~near] = (node.n_classes - 1) * error / 3 + 1e-5
    found[outside] = np.inf
    return Bounds(found, near | outside, np.zeros((len(rows), 0)))


def is_exact(program: Program) -> bool:
    """Whether a backend gives the very numbers of the interpreter: the row is quantised, and no more."""
    readers = [node for node in program.body if program.input.name in ir.operands(node)]
    return bool(program.input.number) or all(node.quantises for node in readers)


def _width(program: Program) -> int:
    from svmcompile.ir.check import infer_types

    value = program.output("scores") or program.output("value")
    return infer_types(program)[value].width if value else 0


def within_range(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of which nothing is cut off, neither of the features nor of what preprocessing makes of them."""
    found = _of_input_type(program, rows)
    for node in program.body:
        if node.quantises:
            at = At(node, program.tables, interpret_values(program, rows, set(ir.operands(node))))
            with np.errstate(all="ignore"):
                t = (at.x.astype(np.float64) - at.shift) * at.factor / 2.0 ** getattr(node, "scale_bits", 0)
            found &= (np.abs(t) <= at.limit + AT_THE_END).all(axis=1)
    return found


def _of_input_type(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows that the input's number type holds as they are."""
    if not program.input.number:
        return np.ones(len(rows), dtype=bool)
    low, high = INPUT_LIMITS[program.input.number]
    return np.asarray(((rows >= low) & (rows <= high) & (rows == np.rint(rows))).all(axis=1))


def near_tests(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows may take another way."""
    slacks = program.origin.details["fixed"].get("slacks", {})
    found = np.zeros(len(rows), dtype=bool)
    for node in program.body:
        if node.out in slacks:
            read = interpret_values(program, rows, set(ir.operands(node)))
            found |= node.near(At(node, program.tables, read), np.asarray(slacks[node.out]))
    return found

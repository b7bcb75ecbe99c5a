"""error_bounds: how far rounding can move scores, row by row; fixed_bounds: in whole numbers.

A forward error analysis of the math program, for any backend that evaluates
it in one number type, in any order of summation, with kernel values summed up
in double after blocks of at most 32 and quadratic forms row by row. Next to
the value of each node stands a bound on its error; u is the unit roundoff.
Kernel values follow

    |dK| <= K (exp_error + u + ln2 dt),
    dt = u ((d + 4) sum_j |x'_j s'_j| + 5 (|x'|^2 + |s'|^2) / 2) + sum_j (|x'_j| + |s'_j| + e_j) e_j

for an RBF kernel in base 2, where e_j is the error x' already has. Numbers too
small for full precision add `a.tiny` each. Where a value on the way, or a sum of sizes, may leave the
number type the bound is infinite, and the row's label is not certain.

A program in whole numbers states the bound on its sums; it holds for rows within range and any path
through a tree that rounding cannot change. It states how far each test can be off, too, in the test's
own unit. Rows that keep a distance to every threshold they meet take the same way as in the program it
was made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC, INPUT_LIMITS, Array, Bounded, Number
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.graph import maker
from svmcompile.ir.interpret import flat_tables, interpret_values
from svmcompile.ir.kernel import chunks
from svmcompile.ir.node import At
from svmcompile.ir.program import Program

SECOND_ORDER = 1.01  # makes up for products of errors, which the analysis leaves out
EXTRA = {"samples": "score_samples", "deviation": "predict_std"}  # outputs of one number, and functions
AT_THE_END = 0.01  # of a whole number, by which float rounding may take an end of the range beyond it


class Bounds(NamedTuple):
    """Bounds on the errors of what a row gets, and which rows may get another label.

    A bound is infinite where rounding may decide, as when it changes how often an iteration runs.
    """

    scores: Array  # [rows, scores]
    unstable: NDArray[np.bool_]  # [rows]
    probabilities: Array  # [rows, classes]; without columns where there are none
    extra: Array  # [rows, 1], of raw scores or standard deviations; without columns where there are none


def error_bounds(program: Program, rows: NDArray[Any], number: Number) -> Bounds:
    """Bounds for rows that are exact in the number type."""
    flat = flat_tables(program)
    sizes = [max(table.shape) for name, table in program.tables.items() if name not in flat]
    every = chunks(len(rows), max([*sizes, program.n_features]))
    parts = [_chunk(program, rows[part], number) for part in every]
    return Bounds(*map(np.concatenate, zip(*parts, strict=True)))


def _chunk(program: Program, rows: NDArray[Any], number: Number) -> Bounds:
    x = np.asarray(rows.astype(np.float64))
    env = {program.input.name: Bounded(x, np.zeros_like(x), np.zeros(len(x), dtype=bool))}
    types = infer_types(program)
    with np.errstate(all="ignore"):
        for node in program.body:
            arithmetic = ARITHMETIC["f64" if in_double(node, types) else number]
            value, error, unstable = node.error(At(node, program.tables, env), arithmetic)
            for name in ir.operands(node):
                unstable = unstable | env[name].unstable
            if value.dtype.kind == "f":  # no label
                error = np.where(np.abs(value) + error <= arithmetic.largest, SECOND_ORDER * error, np.inf)
            env[node.out] = Bounded(value, error, unstable)
    ends = [env[output.value] for output in program.outputs]
    errors = {output.name: env[output.value].error for output in program.outputs}
    none = np.zeros((len(x), 0))
    scores = errors.get("scores", errors.get("value", none))
    unstable = np.logical_or.reduce([end.unstable for end in ends])
    extra = next((errors[name] for name in EXTRA if name in errors), none)
    return Bounds(scores, unstable, errors.get("probabilities", none), extra)


def fixed_bounds(
    program: Program,
    rows: NDArray[Any],
    error: float | None = None,
    inside: NDArray[np.bool_] | None = None,
) -> Bounds:
    """Bounds on scores: infinite where there are none, as for rows beyond the range or close to a test.

    Sums are off by what the program states, and rows are `inside` the range as it sees it, unless others
    are given.
    """
    inside = within_range(program, rows) if inside is None else inside
    outside = ~inside | near_tests(program, rows)
    error = program.origin.details["fixed"]["error"] if error is None else error
    value = program.output("scores") or program.output("value")
    found = np.full((len(rows), infer_types(program)[value].width if value else 0), np.inf)
    node = maker(program, value)
    near = np.zeros(len(rows), dtype=bool)
    if node:
        read = interpret_values(program, rows, {node.out, *ir.operands(node)} - {program.input.name})
        if known := node.whole_error(At(node, program.tables, read), error):
            found[:], near = known
    found[outside] = np.inf
    extra = found[:, : bool(extra_output(program))]  # raw scores are scores and a constant
    return Bounds(found, near | outside, np.zeros((len(rows), 0)), extra)


def extra_output(program: Program) -> str | None:
    """The function of what a row gets beside label, scores and probabilities."""
    return next((method for name, method in EXTRA.items() if program.output(name)), None)


def is_exact(program: Program) -> bool:
    """Whether a backend gives the very numbers of the interpreter: the row is quantised, and no more."""
    rows, readers = {program.input.name}, []
    for node in program.body:
        if rows & set(ir.operands(node)):
            if node.leaves_out and not program.input.number:
                rows.add(node.out)  # the same numbers
            else:
                readers.append(node)
    if not program.input.number:
        return all(node.quantises for node in readers)
    types = infer_types(program)  # what makes floats of a whole row goes on to compute with them
    return all(node.quantises or types[node.out].kind is not ir.Kind.FEATURES for node in readers)


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


def within_stated_range(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows within the range of each feature that a program in whole numbers states."""
    known = program.origin.details["fixed"]
    ends = np.asarray(known["low"]), np.asarray(known["high"])
    return np.asarray(((rows >= ends[0]) & (rows <= ends[1])).all(axis=1)) & _of_input_type(program, rows)


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
            try:
                found |= node.near(At(node, program.tables, read), np.asarray(slacks[node.out]))
            except (TypeError, ValueError, IndexError):
                raise CheckError(f"the slacks of %{node.out} are not those of its tests") from None
    return found

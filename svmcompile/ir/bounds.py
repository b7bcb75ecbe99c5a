"""error_bounds: how far a backend's rounding can move scores, row by row.

A forward error analysis of the math program, for any backend that evaluates
it in one number type, in any order of summation, with kernel values summed up
in double after blocks of at most 32 and quadratic forms row by row. Next to
the value of each node stands a bound on its error; u is the unit roundoff.
Kernel values follow

    |dK| <= K (exp_error + u + ln2 dt),
    dt = u ((d + 4) sum_j |x'_j s'_j| + 5 (|x'|^2 + |s'|^2) / 2) + sum_j (|x'_j| + |s'_j| + e_j) e_j

for an RBF kernel in base 2, where e_j is the error x' already has. Numbers too
small for full precision add `a.tiny` each. Overflow is not rounding: where a
backend leaves its number type, the bounds do not hold and a comparison shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC, Bounded, Number
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.interpret import flat_tables
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.row_functions import chunks

SECOND_ORDER = 1.01  # makes up for products of errors, which the analysis leaves out


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the errors of scores (or values) and probabilities, and which rows may get another label.

    A bound is infinite where rounding may decide, as when it changes how often an iteration runs.
    """

    scores: Array  # [rows, scores]
    unstable: NDArray[np.bool_]  # [rows]
    probabilities: Array  # [rows, classes]; without columns where there are none


def error_bounds(program: Program, rows: NDArray[Any], number: Number) -> Bounds:
    """Bounds for rows that are exact in the number type."""
    flat = flat_tables(program)
    sizes = [max(table.shape) for name, table in program.tables.items() if name not in flat]
    every = chunks(len(rows), max([*sizes, program.n_features]))
    parts = [_chunk(program, rows[part], number) for part in every]
    fields = [(part.scores, part.unstable, part.probabilities) for part in parts]
    return Bounds(*(np.concatenate(arrays) for arrays in zip(*fields, strict=True)))


def _chunk(program: Program, rows: NDArray[Any], number: Number) -> Bounds:
    x = rows.astype(np.float64)
    env = {program.input.name: Bounded(x, np.zeros_like(x), np.zeros(len(x), dtype=bool))}
    types = infer_types(program)
    with np.errstate(all="ignore"):
        for node in program.body:
            arithmetic = ARITHMETIC["f64" if in_double(node, types) else number]
            value, error, unstable = node.error(At(node, program.tables, env), arithmetic)
            for name in ir.operands(node):
                unstable = unstable | env[name].unstable
            env[node.out] = Bounded(value, SECOND_ORDER * error, unstable)
    ends = [env[output.value] for output in program.outputs]
    errors = {output.name: env[output.value].error for output in program.outputs}
    none = np.zeros((len(x), 0))
    scores = errors.get("scores", errors.get("value", none))
    unstable = np.logical_or.reduce([end.unstable for end in ends])
    return Bounds(scores, unstable, errors.get("probabilities", none))

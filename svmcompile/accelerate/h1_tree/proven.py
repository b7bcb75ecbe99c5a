"""Exits that are proven: half-spaces from Taylor expansions, taken only where the sign is certain.

A Taylor polynomial of first order is a half-space with a bound on what it leaves
out. A row exits where that bound leaves no doubt; the others go through a sum that
stops when its own sign is certain. So no label changes, and the claim is SAME_LABEL.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import row_error
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.program import anytime
from svmcompile.accelerate.bounds.rows import centred
from svmcompile.accelerate.bounds.sums import merged
from svmcompile.accelerate.taylor.before import bounded_sum, shares, with_front
from svmcompile.data import Data
from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

HELD = 0.25  # of the rows measure how many exits are proven
ROWS = 20_000  # that centres are made from


def proven(svm: SVM, data: Data, listed: Program, centres: int) -> Program:
    """`listed` is the program with exits by measurement, which are counted against the proven ones."""
    behind = anytime(svm, data, AnytimeOptions(force=True))
    node = bounded_sum(behind)
    if node is None or node.kernel.kind != "rbf":
        raise UnsupportedError(
            "h1-tree: exits can be proven for one decision value of an RBF kernel; "
            "leave out proven=true, or use method anytime"
        )
    rows = np.asarray(data.X, dtype=np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    held = np.arange(len(rows)) % round(1 / HELD) == 0
    seen = interpret_values(behind, rows[~held][:ROWS], {node.x})[node.x]
    own = centred(merged(svm))
    program = with_front(svm, behind, row_error(own.front, own.n_features), seen, centres, order=1)
    figures = _figures(program, listed, rows[held])
    note = f"{figures['rows']:.1%} of held-out rows exit by proof; the claim covers every row"
    origin = replace(
        program.origin,
        method="h1-tree",
        notes=(*svm.notes, note),
        details={"proven": {"centres": centres, **figures}},
    )
    return program.replace(origin=origin)


def _figures(program: Program, listed: Program, rows: NDArray[np.float64]) -> dict[str, float]:
    """Shares of rows, and of the rows that exit by measurement, whose exit is proven."""
    exits = _exits(listed, rows)
    found = {"rows": shares(program, rows)[0], "exits_by_measurement": float(exits.mean())}
    if exits.any():
        found["of_those_exits"] = shares(program, rows[exits])[0]
    return {name: round(value, 4) for name, value in found.items()}


def _exits(listed: Program, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    lists = [node for node in listed.body if isinstance(node, ir.PlaneLists)]
    if not lists:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(interpret_values(listed, rows, {lists[0].out})[lists[0].out][:, 0] != 0)

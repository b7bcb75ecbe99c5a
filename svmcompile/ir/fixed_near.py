"""near_tests: rows that come so close to a threshold that quantising may send them another way.

A program in whole numbers states how far each test can be off, in the test's own unit. Rows that keep a
distance to every threshold they meet take the same way as in the program it was made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.fixed_meaning import whole_dots, whole_table
from svmcompile.ir.fixed_tree_meaning import fixed_path
from svmcompile.ir.interpret import interpret_values, margins
from svmcompile.ir.list_walk import walk_lists
from svmcompile.ir.program import Program
from svmcompile.ir.trees import Indices, walk


def near_tests(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows may take another way."""
    slacks = program.origin.details["fixed"].get("slacks", {})
    found = np.zeros(len(rows), dtype=bool)
    for node in program.body:
        if node.out in slacks:
            read = interpret_values(program, rows, set(ir.operands(node)))
            found |= _near(node, read, program.tables, np.asarray(slacks[node.out]))
    return found


def _near(node: Any, read: Any, tables: Any, slack: NDArray[Any]) -> NDArray[np.bool_]:
    if isinstance(node, ir.Guard):
        return np.asarray(np.abs(margins(read[node.score], node.rule) - node.width) <= slack[0])
    if isinstance(node, ir.FixedPath):
        return _near_path(node, read[node.x], tables, slack)
    x, thresholds = read[node.x].astype(np.int64), whole_table(tables, node.thresholds)
    if isinstance(node, ir.AxisRoute):
        values = x[:, tables[node.features].astype(np.intp)]
    else:
        values = whole_dots(x, whole_table(tables, node.planes))
    close = np.abs(values - thresholds) <= slack
    if isinstance(node, ir.PlaneLists):
        return np.asarray((close & walk_lists(node, x, tables).tested).any(axis=1))
    return _near_route(node, values, close, tables)


def _near_path(node: ir.FixedPath, x: Any, tables: Any, slack: NDArray[Any]) -> NDArray[np.bool_]:
    path, thresholds = fixed_path(node, x, tables), whole_table(tables, node.thresholds)
    at = np.maximum(path.nodes, 0)
    return np.asarray(((np.abs(path.met - thresholds[at]) <= slack[at]) & (path.nodes >= 0)).any(axis=1))


def _near_route(node: Any, values: Any, close: NDArray[np.bool_], tables: Any) -> NDArray[np.bool_]:
    thresholds = whole_table(tables, node.thresholds)
    found = np.zeros(len(values), dtype=bool)

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        found[rows] |= close[rows, at]
        return np.asarray(values[rows, at] > thresholds[at])

    walk(len(values), tables[node.children], above)
    return found

"""place_columns: columns that only change places do so in the tables, once and for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import maker
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Affine, KernelSum, Node, PairSum, PathSum, Pick, table_names
from svmcompile.ir.program import Program
from svmcompile.optimise.rewrite import own_scale, rewrite

Tables = dict[str, NDArray[Any]]
Sum = KernelSum | PairSum | PathSum | Affine


def place_columns(program: Program) -> Program:
    """Sums behind a pick of all features in another order have the order in their tables; exact."""
    if not any(isinstance(node, Pick) for node in program.body):
        return program
    types = infer_types(program)
    for node in program.body:
        if isinstance(node, Affine) or (
            isinstance(node, (KernelSum, PairSum, PathSum)) and node.kernel.kind != "precomputed"
        ):
            program = _placed(program, types, node)
    return program


def _placed(program: Program, types: Types, node: Sum) -> Program:
    scale = own_scale(program, node.x)
    pick = maker(program, scale.x if scale else node.x)
    if not isinstance(pick, Pick) or pick.x not in types:
        return program
    columns, width = program.tables[pick.columns], types[pick.x].width
    if not np.array_equal(np.sort(columns), np.arange(width)):
        return program
    order = np.argsort(columns)  # feature j stands at place order[j]
    replaced: dict[str, Node] = {node.out: node if scale else replace(node, x=pick.x)}
    tables = _ordered(program, node, order)
    if scale:
        replaced[scale.out] = replace(scale, x=pick.x)
        tables |= {name: program.tables[name][order] for name in table_names(scale)}
    return rewrite(program, [replaced.get(item.out, item) for item in program.body], tables)


def _ordered(program: Program, node: Sum, order: NDArray[np.intp]) -> Tables:
    t = program.tables
    if isinstance(node, Affine):
        return {node.weights: t[node.weights][:, order], node.centre: t[node.centre][order]}
    return {node.vectors: t[node.vectors][:, order]}

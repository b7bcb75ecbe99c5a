"""Columns are picked as early as can be, put together again, and change places in the tables.

A ColumnTransformer picks columns, scales each lot and joins them. Scalings commute with both,
so one pick and one scaling remain, and the scaling can go on into the model. All is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import Tables, fresh, maker, only_maker, readers
from svmcompile.ir.kinds import Kind, Types
from svmcompile.ir.node import TABLES, VALUES
from svmcompile.ir.program import Program
from svmcompile.model.head import renamed
from svmcompile.optimise.fold import into_scale, own_scale, put, repeat, rewrite

Folded = tuple[list[ir.Node], Tables]  # the nodes that replace one node, and their tables
# Each feature alone, with tables [d] at most.
BY_FEATURE = (ir.Scale, ir.Clip, ir.Cosine, ir.Fill, ir.Missing)
Sum = ir.KernelSum | ir.PairSum | ir.PathSum | ir.Affine


def fold_columns(program: Program) -> Program:
    return repeat(_fold_one, program)


def _fold_one(program: Program) -> Program:
    if not any(isinstance(node, (ir.Pick, ir.Join)) for node in program.body):
        return program
    types = infer_types(program)
    for index, node in enumerate(program.body):
        if types[node.out].kind is not Kind.FEATURES:
            continue  # heads stay as they are
        if isinstance(node, ir.Pick) and _is_identity(program, types, node):
            body = [
                renamed(other, {node.out: node.x}, VALUES) for other in program.body if other is not node
            ]
            return rewrite(program, body, {})
        for rule in RULES.get(type(node), ()):
            with np.errstate(all="ignore"):
                folded = rule(program, types, node)
            if folded and (candidate := put(program, index, *folded)) is not program:
                return candidate
    return program


def _is_identity(program: Program, types: Types, node: ir.Pick) -> bool:
    return np.array_equal(program.tables[node.columns], np.arange(types[node.x].width))


def _names(program: Program, stem: str, *ends: str) -> Iterator[str]:
    taken = set(program.tables)
    for end in ends:
        name = fresh(stem, end, taken)
        taken.add(name)
        yield name


def _value_name(program: Program, stem: str) -> str:
    return fresh(stem, "columns", {program.input.name, *(node.out for node in program.body)})


def _pick_of_pick(program: Program, types: Types, node: ir.Pick) -> Folded | None:
    inner = maker(program, node.x)
    if not isinstance(inner, ir.Pick):
        return None
    columns = program.tables[inner.columns][program.tables[node.columns]]
    return [replace(node, x=inner.x)], {node.columns: columns}


def _pick_before(program: Program, types: Types, node: ir.Pick) -> Folded | None:
    """A node that takes each feature alone comes after the pick, if all that reads it picks from it."""
    inner = maker(program, node.x)
    if not isinstance(inner, BY_FEATURE):
        return None
    picks = readers(program, inner.out)
    sizes = [len(program.tables[item.columns]) for item in picks if isinstance(item, ir.Pick)]
    if len(sizes) < len(picks) or sum(sizes) > types[inner.x].width:
        return None
    columns = program.tables[node.columns]
    picked = replace(node, out=_value_name(program, node.out), x=inner.x)
    old = ir.table_names(inner)
    names = dict(zip(old, _names(program, node.out, *(f"part{at}" for at in range(len(old)))), strict=True))
    after: Any = renamed(inner, names, TABLES)
    tables = {names[name]: program.tables[name][columns] for name in old}
    return [picked, replace(after, out=node.out, x=picked.out)], tables


def _pick_of_map(program: Program, types: Types, node: ir.Pick) -> Folded | None:
    """Only the scores or products that are picked are computed."""
    inner, columns = only_maker(program, node.x), program.tables[node.columns]
    if len(columns) > types[node.x].width:
        return None
    if isinstance(inner, ir.Powers):
        return [replace(inner, out=node.out)], {inner.factors: program.tables[inner.factors][columns]}
    if not isinstance(inner, ir.AsFeatures):
        return None
    made = only_maker(program, inner.scores)
    if not isinstance(made, (ir.Affine, ir.KernelSum)):
        return None
    tables = {name: program.tables[name][columns] for name in (made.weights, made.bias)}
    return [made, replace(inner, out=node.out)], tables


def _scale_of_scale(program: Program, types: Types, node: ir.Scale) -> Folded | None:
    inner = own_scale(program, node.x)
    if inner is None:
        return None
    new, tables = into_scale(program, inner, node)
    return [new], tables


@dataclass(frozen=True)
class _Part:
    """One side of a join: columns of a value, scaled or not."""

    root: str
    columns: NDArray[Any]
    scale: ir.Scale | None

    def table(self, program: Program, field: str) -> NDArray[Any]:
        """A table of the scaling, or of one that does nothing."""
        if self.scale is None:
            return np.full(len(self.columns), 1.0 if field == "factor" else 0.0)
        return program.tables[getattr(self.scale, field)]


def _part(program: Program, types: Types, value: str) -> _Part:
    scale = own_scale(program, value)
    below = scale.x if scale else value
    pick = only_maker(program, below)
    if isinstance(pick, ir.Pick):
        return _Part(pick.x, program.tables[pick.columns], scale)
    return _Part(below, np.arange(types[below].width), scale)


def _join_of_parts(program: Program, types: Types, node: ir.Join) -> Folded | None:
    """Columns of one value, each lot scaled or not, become one pick and one scaling."""
    left, right = (_part(program, types, value) for value in (node.left, node.right))
    if left.root != right.root:
        return None
    scaled = left.scale is not None or right.scale is not None
    (columns,) = _names(program, node.out, "columns")
    picked = ir.Pick(_value_name(program, node.out) if scaled else node.out, left.root, columns)
    tables: Tables = {columns: np.concatenate([left.columns, right.columns]).astype(np.int32)}
    if not scaled:
        return [picked], tables
    ends = ("shift", "factor", "offset")
    names = list(_names(program, node.out, *ends))
    for name, end in zip(names, ends, strict=True):
        tables[name] = np.concatenate([part.table(program, end) for part in (left, right)])
    return [picked, ir.Scale(node.out, picked.out, *names)], tables


def place_columns(program: Program) -> Program:
    """Sums behind a pick of all features in another order have the order in their tables; exact."""
    if not any(isinstance(node, ir.Pick) for node in program.body):
        return program
    types = infer_types(program)
    for node in program.body:
        if isinstance(node, ir.Affine) or (
            isinstance(node, (ir.KernelSum, ir.PairSum, ir.PathSum)) and node.kernel.kind != "precomputed"
        ):
            program = _placed(program, types, node)
    return program


def _placed(program: Program, types: Types, node: Sum) -> Program:
    scale = own_scale(program, node.x)
    pick = maker(program, scale.x if scale else node.x)
    if not isinstance(pick, ir.Pick) or pick.x not in types:
        return program
    columns, width = program.tables[pick.columns], types[pick.x].width
    if not np.array_equal(np.sort(columns), np.arange(width)):
        return program
    order = np.argsort(columns)  # feature j stands at place order[j]
    replaced: dict[str, ir.Node] = {node.out: node if scale else replace(node, x=pick.x)}
    tables = _ordered(program, node, order)
    if scale:
        replaced[scale.out] = replace(scale, x=pick.x)
        tables |= {name: program.tables[name][order] for name in ir.table_names(scale)}
    return rewrite(program, [replaced.get(item.out, item) for item in program.body], tables)


def _ordered(program: Program, node: Sum, order: NDArray[np.intp]) -> Tables:
    t = program.tables
    if isinstance(node, ir.Affine):
        return {node.weights: t[node.weights][:, order], node.centre: t[node.centre][order]}
    return {node.vectors: t[node.vectors][:, order]}


RULES: dict[type[Any], tuple[Callable[[Program, Types, Any], Folded | None], ...]] = {
    ir.Pick: (_pick_of_pick, _pick_before, _pick_of_map),
    ir.Scale: (_scale_of_scale,),
    ir.Join: (_join_of_parts,),
}

"""check: is a program well formed? Collects every problem, then raises one error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Kind, Level, Node, Type
from svmcompile.ir.program import Program

Tables = Mapping[str, NDArray[Any]]
Types = dict[str, Type]

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")  # names become parts of C identifiers


def check(program: Program) -> Program:
    """The program, if it is well formed."""
    problems = [f"{name!r} is not a valid name" for name in _names(program) if not NAME.fullmatch(name)]
    types = infer_types(program, problems)
    _check_outputs(program, types, problems)
    _check_tables(program, problems)
    if problems:
        raise CheckError("the program is not well formed: " + "; ".join(problems))
    return program


def _names(program: Program) -> list[str]:
    return [program.input.name, *(node.out for node in program.body), *program.tables]


def infer_types(program: Program, problems: list[str] | None = None) -> Types:
    """The type of every value; problems met on the way are appended."""
    found: list[str] = [] if problems is None else problems
    types: Types = {program.input.name: Type(Kind.FEATURES, program.input.width)}
    level = Level.MACHINE if program.number else Level.MATH
    for node in program.body:
        where = f"{type(node).__name__} %{node.out}"
        if node.level not in (level, Level.BOTH):
            found.append(f"{where}: a {node.level.value} node in a {level.value} program")
        if node.out in types:
            found.append(f"{where}: the name is taken")
        missing = [f"%{name}" for name in ir.operands(node) if name not in types]
        missing += [f"@{name}" for name in ir.table_names(node) if name not in program.tables]
        if missing:
            found.append(f"{where}: {', '.join(missing)} not defined")
            continue
        try:
            types[node.out] = result_type(node, types, program.tables)
        except (ValueError, IndexError) as error:
            found.append(f"{where}: {error}")
    return types


def _check_outputs(program: Program, types: Types, problems: list[str]) -> None:
    wanted = {"label": Kind.LABEL, "scores": Kind.SCORES, "value": Kind.SCORES}
    for output in program.outputs:
        if output.name not in wanted:
            problems.append(f"unknown output {output.name!r}")
        elif output.value not in types:
            problems.append(f"output {output.name}: %{output.value} is not defined")
        elif types[output.value].kind is not wanted[output.name]:
            problems.append(f"output {output.name}: %{output.value} is {types[output.value].kind.value}")
        elif output.name == "label" and types[output.value].width != program.n_classes:
            problems.append(f"output label: {program.n_classes} labels for {types[output.value].width}")
        elif output.name == "value" and types[output.value].width != 1:
            problems.append("output value: must have width 1")
    if not program.outputs:
        problems.append("no outputs")
    names = program.input.feature_names
    if names and len(names) != program.input.width:
        problems.append(f"{len(names)} feature names for {program.input.width} features")
    if program.probes.size and program.probes.shape[1:] != (program.input.width,):
        problems.append(f"probes have shape {program.probes.shape}")


def _check_tables(program: Program, problems: list[str]) -> None:
    used = {name for node in program.body for name in ir.table_names(node)}
    dtype = {None: np.float64, "f64": np.float64, "f32": np.float32}[program.number]
    for name, table in program.tables.items():
        if name not in used:
            problems.append(f"table @{name} is not used")
        if table.dtype != dtype:
            problems.append(f"table @{name} is {table.dtype}, expected {np.dtype(dtype)}")
        elif not np.isfinite(table).all():
            problems.append(f"table @{name} holds a NaN or an infinity")


@singledispatch
def result_type(node: Node, types: Types, tables: Tables) -> Type:
    """The type a node gives; ValueError if its operands or tables do not fit."""
    raise TypeError(f"no type rule for {type(node).__name__}")


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _shape(tables: Tables, **expected: tuple[str, tuple[int, ...]]) -> None:
    for field, (name, shape) in expected.items():
        _need(tables[name].shape == shape, f"{field} @{name} is {tables[name].shape}, expected {shape}")


def _features(node: Any, types: Types) -> int:
    _need(types[node.x].kind is Kind.FEATURES, f"%{node.x} is not features")
    return types[node.x].width


def _pairs(n_classes: int) -> int:
    return n_classes * (n_classes - 1) // 2


@result_type.register(ir.Scale)
@result_type.register(ir.Prepare)
def _(node: ir.Scale | ir.Prepare, types: Types, tables: Tables) -> Type:
    width = _features(node, types)
    _shape(tables, shift=(node.shift, (width,)), factor=(node.factor, (width,)))
    _need(not isinstance(node, ir.Prepare) or node.limit > 0, "limit must be above zero")
    return Type(Kind.FEATURES, width)


@result_type.register
def _(node: ir.Clip, types: Types, tables: Tables) -> Type:
    _need(node.low <= node.high, f"low {node.low} is above high {node.high}")
    return Type(Kind.FEATURES, _features(node, types))


@result_type.register
def _(node: ir.KernelSum, types: Types, tables: Tables) -> Type:
    n, m = tables[node.vectors].shape[0], tables[node.bias].shape[0]
    _shape(
        tables,
        vectors=(node.vectors, (n, _features(node, types))),
        weights=(node.weights, (m, n)),
        bias=(node.bias, (m,)),
    )
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.PairSum, types: Types, tables: Tables) -> Type:
    k, n = len(node.counts), sum(node.counts)
    _need(k >= 2 and min(node.counts) >= 0, "two or more classes needed")
    _shape(
        tables,
        vectors=(node.vectors, (n, _features(node, types))),
        weights=(node.weights, (k - 1, n)),
        bias=(node.bias, (_pairs(k),)),
    )
    return Type(Kind.SCORES, _pairs(k))


@result_type.register
def _(node: ir.Affine, types: Types, tables: Tables) -> Type:
    d, m = _features(node, types), tables[node.bias].shape[0]
    _shape(
        tables, weights=(node.weights, (m, d)), bias=(node.bias, (m,)), centre=(node.centre, (d,))
    )
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.Quadratic, types: Types, tables: Tables) -> Type:
    d, m = _features(node, types), tables[node.bias].shape[0]
    _shape(
        tables,
        squares=(node.squares, (m, d * (d + 1) // 2)),
        weights=(node.weights, (m, d)),
        bias=(node.bias, (m,)),
        centre=(node.centre, (d,)),
    )
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.PackedSum, types: Types, tables: Tables) -> Type:
    n, sums = tables[node.vectors].shape[0], tables[node.bias].shape[0]
    k = len(node.counts)
    _need(not k or (sum(node.counts) == n and sums == _pairs(k)), "counts do not fit the tables")
    _shape(
        tables,
        vectors=(node.vectors, (n, _features(node, types))),
        weights=(node.weights, (n, k - 1 if k else sums)),
        bias=(node.bias, (sums,)),
    )
    _need(tables[node.offsets].shape in ((n,), (1,)), "offsets do not fit the vectors")
    return Type(Kind.SCORES, sums)


@result_type.register(ir.OvrScores)
@result_type.register(ir.Vote)
def _(node: ir.OvrScores | ir.Vote, types: Types, tables: Tables) -> Type:
    _need(types[node.pairs] == Type(Kind.SCORES, _pairs(node.n_classes)), "needs one score per pair")
    kind = Kind.LABEL if isinstance(node, ir.Vote) else Kind.SCORES
    return Type(kind, node.n_classes)


@result_type.register
def _(node: ir.ArgMax, types: Types, tables: Tables) -> Type:
    _need(types[node.scores].kind is Kind.SCORES, "needs scores")
    return Type(Kind.LABEL, types[node.scores].width)


@result_type.register
def _(node: ir.Threshold, types: Types, tables: Tables) -> Type:
    _need(types[node.score] == Type(Kind.SCORES, 1), "needs one score")
    _need({node.hit, node.miss} == {0, 1}, "hit and miss must be 0 and 1")
    return Type(Kind.LABEL, 2)

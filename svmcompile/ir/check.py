"""check: is a program well formed? Collects every problem, then raises one error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.inverted import inverted_problems, vectors_and_lanes
from svmcompile.ir.nodes import Kind, Level, Node, Type
from svmcompile.ir.program import Program
from svmcompile.kernel import Kernel

Tables = Mapping[str, NDArray[Any]]
Types = dict[str, Type]

MAX_DEGREE = 1 << 16
MAX_NAME = 40
NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{MAX_NAME - 1}}}")  # names become parts of C identifiers


def check(program: Program) -> Program:
    """The program, if it is well formed."""
    problems = [f"{name!r} is not a valid name" for name in _names(program) if not NAME.fullmatch(name)]
    types = infer_types(program, problems)
    _check_input(program, problems)
    _check_outputs(program, types, problems)
    _check_unused(program, problems)
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


def _check_input(program: Program, problems: list[str]) -> None:
    width, names = program.input.width, program.input.feature_names
    if width < 1:
        problems.append(f"the input has {width} features")
    if names and len(names) != width:
        problems.append(f"{len(names)} feature names for {width} features")
    if program.probes.size and program.probes.shape[1:] != (width,):
        problems.append(f"probes have shape {program.probes.shape}")


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
    names = [output.name for output in program.outputs]
    if not names:
        problems.append("no outputs")
    if len(set(names)) != len(names):
        problems.append("an output is given twice")
    main, other = ("label", "value") if program.labels else ("value", "label")
    if main not in names or other in names:
        kind = "a classifier" if program.labels else "a program without labels"
        problems.append(f"{kind} gives {main!r} and never {other!r}")


def _check_unused(program: Program, problems: list[str]) -> None:
    """Every value and every table has a reader."""
    read = {output.value for output in program.outputs}
    read.update(name for node in program.body for name in ir.operands(node))
    problems += [f"%{node.out} is not used" for node in program.body if node.out not in read]
    tables = {name for node in program.body for name in ir.table_names(node)}
    problems += [f"table @{name} is not used" for name in program.tables if name not in tables]


def _check_tables(program: Program, problems: list[str]) -> None:
    dtype = {None: np.float64, "f64": np.float64, "f32": np.float32}[program.number]
    halves = {node.vectors for node in program.body if isinstance(node, ir.TiledSum)}
    whole = {name for node in program.body for name in ir.integer_tables(node)}
    for name, table in program.tables.items():
        if name in whole:
            if table.dtype not in (np.uint16, np.uint32):
                problems.append(f"table @{name} is {table.dtype}, expected whole numbers of 16 or 32 bits")
        elif table.dtype != dtype and not (name in halves and table.dtype == np.float16):
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


def _float32(tables: Tables, name: str) -> None:
    table = tables[name]
    with np.errstate(over="ignore"):
        same = table.astype(np.float32).astype(table.dtype) == table
    _need(bool(same.all()), f"@{name} holds numbers that are not float32")


def _features(node: Any, types: Types) -> int:
    _need(types[node.x].kind is Kind.FEATURES, f"%{node.x} is not features")
    return types[node.x].width


def _sums(tables: Tables, bias: str) -> int:
    """How many sums there are: one per bias."""
    sums = int(tables[bias].shape[0])
    _need(sums > 0, f"bias @{bias} is empty")
    return sums


def _kernel(kernel: Kernel) -> None:
    _need(math.isfinite(kernel.gamma) and math.isfinite(kernel.coef0), "the kernel is not finite")
    _degree(kernel.degree)


def _degree(degree: int) -> None:
    _need(0 <= degree <= MAX_DEGREE, f"degree {degree} is not within 0 and {MAX_DEGREE}")


def _counts(counts: tuple[int, ...]) -> None:
    _need(len(counts) >= 2 and min(counts) >= 0, "two or more classes needed")


def _pairs(n_classes: int) -> int:
    _need(n_classes >= 2, "two or more classes needed")
    return n_classes * (n_classes - 1) // 2


@result_type.register(ir.Scale)
@result_type.register(ir.Prepare)
def _(node: ir.Scale | ir.Prepare, types: Types, tables: Tables) -> Type:
    width = _features(node, types)
    _shape(tables, shift=(node.shift, (width,)), factor=(node.factor, (width,)))
    if isinstance(node, ir.Scale):
        _shape(tables, offset=(node.offset, (width,)))
    _float32(tables, node.shift)
    _need(not isinstance(node, ir.Prepare) or node.limit > 0, "limit must be above zero")
    return Type(Kind.FEATURES, width)


@result_type.register
def _(node: ir.Clip, types: Types, tables: Tables) -> Type:
    _need(node.low <= node.high, f"low {node.low} is above high {node.high}")
    return Type(Kind.FEATURES, _features(node, types))


@result_type.register
def _(node: ir.KernelSum, types: Types, tables: Tables) -> Type:
    _kernel(node.kernel)
    n, m = tables[node.vectors].shape[0], _sums(tables, node.bias)
    _shape(
        tables,
        vectors=(node.vectors, (n, _features(node, types))),
        weights=(node.weights, (m, n)),
        bias=(node.bias, (m,)),
    )
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.PairSum, types: Types, tables: Tables) -> Type:
    _kernel(node.kernel)
    _counts(node.counts)
    k, n = len(node.counts), sum(node.counts)
    _shape(
        tables,
        vectors=(node.vectors, (n, _features(node, types))),
        weights=(node.weights, (k - 1, n)),
        bias=(node.bias, (_pairs(k),)),
    )
    return Type(Kind.SCORES, _pairs(k))


@result_type.register
def _(node: ir.Affine, types: Types, tables: Tables) -> Type:
    d, m = _features(node, types), _sums(tables, node.bias)
    _shape(tables, weights=(node.weights, (m, d)), bias=(node.bias, (m,)), centre=(node.centre, (d,)))
    _float32(tables, node.centre)
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.Quadratic, types: Types, tables: Tables) -> Type:
    d, m = _features(node, types), _sums(tables, node.bias)
    _shape(
        tables,
        squares=(node.squares, (m, d * (d + 1) // 2)),
        weights=(node.weights, (m, d)),
        bias=(node.bias, (m,)),
        centre=(node.centre, (d,)),
    )
    _float32(tables, node.centre)
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.PackedSum, types: Types, tables: Tables) -> Type:
    _degree(node.degree)
    n, sums, k = tables[node.vectors].shape[0], _sums(tables, node.bias), len(node.counts)
    if node.counts:
        _counts(node.counts)
        _need(sum(node.counts) == n and sums == _pairs(k), "counts do not fit the tables")
    _shape(
        tables,
        vectors=(node.vectors, (n, _features(node, types))),
        weights=(node.weights, (n, k - 1 if k else sums)),
        bias=(node.bias, (sums,)),
        offsets=(node.offsets, (n if node.shape == "exp2" else 1,)),
    )
    return Type(Kind.SCORES, sums)


@result_type.register
def _(node: ir.TiledSum, types: Types, tables: Tables) -> Type:
    d, sums, k = _features(node, types), tables[node.bias].shape[0], len(node.counts)
    _need(tables[node.vectors].ndim == 3, "vectors are not in blocks")
    blocks, _, lanes = tables[node.vectors].shape
    columns = k - 1 if k > 1 else sums
    _need(k >= 1 and min(node.counts) >= 0 and node.degree >= 0, "counts or degree make no sense")
    _need(k == 1 or sums == _pairs(k), "counts do not fit the tables")
    _need(sum(node.counts) <= blocks * lanes, "more vectors counted than stored")
    by_lane = tables[node.weights].ndim == 3
    weights = (blocks, columns, lanes) if by_lane else (blocks * lanes, columns + -columns % lanes)
    _shape(
        tables,
        vectors=(node.vectors, (blocks, d, lanes)),
        weights=(node.weights, weights),
        offsets=(node.offsets, (blocks * lanes,) if node.shape == "exp2" else (1,)),
        bias=(node.bias, (sums,)),
    )
    return Type(Kind.SCORES, sums)


@result_type.register
def _(node: ir.SparseSum, types: Types, tables: Tables) -> Type:
    d, sums, k = _features(node, types), _sums(tables, node.bias), len(node.counts)
    _need(k >= 1 and min(node.counts) >= 0, "counts make no sense")
    _degree(node.degree)
    _need(k == 1 or sums == _pairs(k), "counts do not fit the tables")
    _need(node.limit > 0, "limit must be above zero")
    vectors, lanes = vectors_and_lanes(tables[node.weights])
    columns = k - 1 if k > 1 else sums
    by_lane = tables[node.weights].ndim == 3
    _need(sum(node.counts) <= vectors, "more vectors counted than stored")
    _need(node.segment > 0 and node.segment % lanes == 0, f"segment {node.segment} has no whole blocks")
    _shape(
        tables,
        factor=(node.factor, (d,) if tables[node.factor].size > 1 else (1,)),
        weights=(
            node.weights,
            (vectors // lanes, columns, lanes) if by_lane else (vectors, columns + -columns % lanes),
        ),
        offsets=(node.offsets, (vectors,) if node.shape == "exp2" else (1,)),
        values=(node.values, tables[node.indices].shape),
    )
    for problem in inverted_problems(node, tables, d, vectors):
        raise ValueError(problem)
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

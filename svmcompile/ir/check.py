"""check: is a program well formed? Collects every problem, then raises one error."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import numpy as np

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import FIXED, INPUT_LIMITS
from svmcompile.ir.kinds import Types
from svmcompile.ir.node import At, need
from svmcompile.ir.nodes import Kind, Level, Node, Type
from svmcompile.ir.program import OutputName, Program
from svmcompile.ir.whole_numbers import INT32, fits

MAX_NAME = 40
BY_CLASS = ("label", "probabilities")  # outputs as wide as there are classes
ALONE = ("samples", "deviation")  # outputs of one number
NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{MAX_NAME - 1}}}")  # names become parts of C identifiers


def check(program: Program) -> Program:
    """The program, if it is well formed."""
    problems = [f"{name!r} is not a valid name" for name in _names(program) if not NAME.fullmatch(name)]
    types = infer_types(program, problems)
    _check_input(program, problems)
    _check_outputs(program, types, problems)
    _check_unused(program, problems)
    _check_tables(program, types, problems)
    if problems:
        raise CheckError("the program is not well formed: " + "; ".join(problems))
    return program


def _names(program: Program) -> list[str]:
    return [program.input.name, *(node.out for node in program.body), *program.tables]


def infer_types(program: Program, problems: list[str] | None = None) -> Types:
    """The type of every value; problems met on the way are appended."""
    found: list[str] = [] if problems is None else problems
    types: Types = {program.input.name: input_type(program)}
    level = Level.MACHINE if program.number else Level.MATH
    for node in program.body:
        where = f"{type(node).__name__} %{node.out}"
        if node.out in types:
            found.append(f"{where}: the name is taken")
        missing = [f"%{name}" for name in ir.operands(node) if name not in types]
        missing += [f"@{name}" for name in ir.table_names(node) if name not in program.tables]
        if missing:
            found.append(f"{where}: {', '.join(missing)} not defined")
            continue
        try:
            at = At(node, program.tables, types)
            if (own := node.stands_on(at)) not in (level, Level.BOTH):
                found.append(f"{where}: a {own.value} node in a {level.value} program")
            types[node.out] = _widened(node, types, _whole_result(at, node.result(at)))
        except (ValueError, IndexError) as error:
            found.append(f"{where}: {error}")
    return types


def input_type(program: Program) -> Type:
    """The type of the row as it comes."""
    number = program.input.number
    limit = INPUT_LIMITS.get(number, (0, 0))
    return Type(Kind.FEATURES, program.input.width, whole=number, limit=max(-limit[0], limit[1]))


def _widened(node: Node, types: Types, found: Type) -> Type:
    """The type, marked as wide if a value that every row needs is: what is lazy does not widen a node."""
    wide = node.widens or (in_double(node, types) and not node.narrows)
    return replace(found, wide=wide and found.kind in (Kind.FEATURES, Kind.SCORES, Kind.PROBABILITIES))


def in_double(node: Node, types: Types) -> bool:
    """Whether a node computes in double whatever the program's number type."""
    return any(types[name].wide for name in ir.operands(node) if name not in ir.lazy_operands(node))


def wide_tables(program: Program, types: Types) -> set[str]:
    """The tables of nodes that compute in double."""
    return {name for node in program.body if in_double(node, types) for name in ir.table_names(node)}


def _check_input(program: Program, problems: list[str]) -> None:
    width, names = program.input.width, program.input.feature_names
    if program.input.number and program.number not in FIXED:
        problems.append("rows of whole numbers are for programs in whole numbers")
    if width < 1:
        problems.append(f"the input has {width} features")
    if names and len(names) != width:
        problems.append(f"{len(names)} feature names for {width} features")
    if program.input.text:
        if program.input.text.width != width:
            problems.append(f"text of {program.input.text.width} features for {width}")
        problems += program.input.text.problems()
    problems += program.input.categories.problems(width)
    if program.probes.size and program.probes.shape[1:] != (width,):
        problems.append(f"probes have shape {program.probes.shape}")


def _check_outputs(program: Program, types: Types, problems: list[str]) -> None:
    wanted = dict.fromkeys(get_args(OutputName), Kind.SCORES)
    targets = program.labels.targets if program.labels else ()
    wanted |= {"label": Kind.LABELS if targets else Kind.LABEL, "probabilities": Kind.PROBABILITIES}
    widths = {len(targets), sum(map(len, targets))} if targets else {program.n_classes}
    for output in program.outputs:
        if output.name not in wanted:
            problems.append(f"unknown output {output.name!r}")
        elif output.value not in types:
            problems.append(f"output {output.name}: %{output.value} is not defined")
        elif types[output.value].kind is not wanted[output.name]:
            problems.append(f"output {output.name}: %{output.value} is {types[output.value].kind.value}")
        elif output.name in BY_CLASS and types[output.value].width not in widths:
            width = types[output.value].width
            problems.append(f"output {output.name}: {program.n_classes} labels for {width}")
        elif output.name == "label" and targets and not _fits(types[output.value], program):
            problems.append("output label: indices go beyond the labels")
        elif output.name != "label" and output.value in _signs(program, types):
            problems.append(f"output {output.name}: %{output.value} is known by its sign alone")
        elif output.name in ALONE and types[output.value].width != 1:
            problems.append(f"output {output.name}: must have width 1")
    names = [output.name for output in program.outputs]
    if not names:
        problems.append("no outputs")
    if len(set(names)) != len(names):
        problems.append("an output is given twice")
    main, other = ("label", "value") if program.labels else ("value", "label")
    if main not in names or other in names:
        kind = "a classifier" if program.labels else "a program without labels"
        problems.append(f"{kind} gives {main!r} and never {other!r}")


def _fits(labels: Type, program: Program) -> bool:
    """Whether there is a label at every index, and an index for every target."""
    assert program.labels
    return labels.limit < program.n_classes and labels.width == program.labels.per_row


def _signs(program: Program, types: Types) -> set[str]:
    """Sums that are computed no further than their sign needs."""
    return {node.out for node in program.body if node.gives_sign(types)}


def _check_unused(program: Program, problems: list[str]) -> None:
    """Every value and every table has a reader."""
    read = {output.value for output in program.outputs}
    read.update(name for node in program.body for name in ir.operands(node))
    problems += [f"%{node.out} is not used" for node in program.body if node.out not in read]
    tables = {name for node in program.body for name in ir.table_names(node)}
    problems += [f"table @{name} is not used" for name in program.tables if name not in tables]


def _check_tables(program: Program, types: Types, problems: list[str]) -> None:
    narrow = np.float64 if program.number in (None, "f64") else np.float32
    wide = set() if problems else wide_tables(program, types)
    indices = {name for node in program.body for name in ir.index_tables(node)}
    # Tables that may hold fewer digits than the program's numbers, and the types they may have.
    fields = [(node, *item) for node in program.body for item in node.small_tables.items()]
    small = {getattr(node, field): tuple(map(np.dtype, kinds)) for node, field, kinds in fields}
    indices |= {name for node in program.body for name in whole_tables(node, program)}
    for name, table in program.tables.items():
        dtype = np.float64 if name in wide else narrow
        if name in indices:
            if table.dtype.kind not in "iu":
                problems.append(f"table @{name} is {table.dtype}, expected whole numbers")
        elif table.dtype != dtype and table.dtype not in small.get(name, ()):
            problems.append(f"table @{name} is {table.dtype}, expected {np.dtype(dtype)}")
        elif not np.isfinite(table).all():
            problems.append(f"table @{name} holds a NaN or an infinity")


def whole_tables(node: Node, program: Program) -> tuple[str, ...]:
    """Tables of a node that computes in whole numbers, as some nodes of floats can do as well."""
    if node.may_be_whole and program.number in FIXED:
        return tuple(name for name in ir.table_names(node) if program.tables[name].dtype.kind in "iu")
    return ir.table_names(node) if node.is_whole else ()


def _whole_result(at: At, result: Type) -> Type:
    """The type of a node that gives whole numbers because it reads some."""
    read = [at.read[name] for name in ir.operands(at.node)]
    if not any(one.whole for one in read):
        return result
    if not at.takes_whole:
        need(at.is_whole or at.may_be_whole, "is for floats, and reads whole numbers")
        return result
    need(all(one.whole for one in read), "whole numbers and floats do not mix")
    return replace(result, whole="i32", limit=fits(at.node.whole_limit(at), INT32, "a score"))

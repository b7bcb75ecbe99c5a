"""interpret: what a program means. trace: how the interval around a sum narrows, stage by stage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows
from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import INPUT_LIMITS, Array
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import leading_to
from svmcompile.ir.kernel import chunks
from svmcompile.ir.kinds import Kind
from svmcompile.ir.node import At
from svmcompile.ir.nodes import operands
from svmcompile.ir.pairs import pair_indices as pair_indices
from svmcompile.ir.program import Program

MOST_FILLED, SOME_FEATURES = 10_000, 256  # features that are looked at one by one, and at once


def interpret(program: Program, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Every output of the program for a matrix of rows, by public name."""
    values = interpret_values(program, rows, {output.value for output in program.outputs})
    return {output.name: values[output.value] for output in program.outputs}


def interpret_values(
    program: Program, rows: NDArray[Any], names: Collection[str]
) -> dict[str, NDArray[Any]]:
    """The named values of the program for a matrix of rows."""
    flat = flat_tables(program)
    sizes = [table.shape[0] for name, table in program.tables.items() if name not in flat]
    parts = chunks(len(rows), max([*sizes, program.input.width]))
    values = [_interpret_chunk(program, rows[part], names) for part in parts]
    return {name: np.concatenate([value[name] for value in values]) for name in names}


def features_filled_in(program: Program) -> NDArray[np.bool_] | None:
    """Features that may be NaN: preprocessing fills them in, or leaves them out; None where none may."""
    width = program.n_features
    if width > MOST_FILLED or not any(node.fills or node.leaves_out for node in program.body):
        return None
    types = infer_types(program)
    read = {
        name
        for node in program.body
        if types[node.out].kind is not Kind.FEATURES
        for name in operands(node)
        if types[name].kind is Kind.FEATURES
    }
    if program.input.name in read:
        return None
    front = program.replace(body=leading_to(program.body, read))
    usual, known = [*program.probes[:1], np.zeros(width)][0], np.zeros(width, dtype=bool)
    for at in range(0, width, SOME_FEATURES):
        some = np.arange(at, min(at + SOME_FEATURES, width))
        rows = np.tile(usual, (len(some), 1))
        rows[np.arange(len(some)), some] = np.nan
        found = interpret_values(front, rows, read).values()
        known[some] = np.logical_and.reduce([~np.isnan(value).any(axis=1) for value in found])
    return known if known.any() else None


def flat_tables(program: Program) -> set[str]:
    """Names of tables that rows are not multiplied with as a whole."""
    return {getattr(node, field) for node in program.body for field in node.flat_tables}


def _interpret_chunk(
    program: Program, rows: NDArray[Any], names: Collection[str]
) -> dict[str, NDArray[Any]]:
    dtype = np.float64 if program.number in (None, "f64") else np.float32
    with np.errstate(all="ignore"):  # infinities and NaN are part of the meaning
        env: dict[str, NDArray[Any]] = {program.input.name: entering(program, rows, dtype)}
        for node in program.body:
            env[node.out] = node.run(At(node, program.tables, env))
    return {name: env[name] for name in names}


def entering(program: Program, rows: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The rows in the number type of the input; whole numbers saturate."""
    if program.input.number:
        low, high = INPUT_LIMITS[program.input.number]
        return np.asarray(np.clip(np.nan_to_num(np.rint(rows), nan=low), low, high), dtype=np.int64)
    return np.asarray(rows.astype(dtype))


@dataclass(frozen=True, slots=True)
class Trace:
    """Lower end, estimate and upper end of each row's sum, and where it would stop."""

    ends: NDArray[np.int64]  # [stages], kernel values met
    low: Array  # [rows, stages]
    estimate: Array  # [rows, stages]
    high: Array  # [rows, stages]
    stop: NDArray[np.intp]  # [rows], the first stage that is sure; -1 for none


def trace(program: Program, data: Any, pair: int = 0) -> Trace:
    """The stages of the program's bounded sum, or of one pair of its vote."""
    node: Any = next((node for node in program.body if node.has_stages), None)
    if node is None:
        lack = "this program has no bounds to trace; the method 'anytime' makes such programs"
        raise UnsupportedError(lack)
    rows = as_rows(data, program.n_features, program.feature_names, program.categories)
    x = interpret_values(program, rows, {node.x})[node.x]
    found = node.stages(At(node, program.tables), x, pair)
    tolerance = getattr(node, "tolerance", -1.0)
    low, high = found.scores - found.errors, found.scores + found.errors
    return Trace(found.ends, low, found.scores, high, found.first_sure(tolerance))

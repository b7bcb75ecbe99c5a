"""Texts among what is compared: they have no rounding of their own, and are counted some at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import Bounds
from svmcompile.ir.program import Input, Program

Rows = NDArray[Any]
OF_PRODUCTS = ("linear", "poly", "sigmoid")  # kernels to which a feature that is zero is nothing
AT_ONCE = 64  # texts, whose features that occur stand in one table


def are_texts(rows: Rows) -> bool:
    """Whether rows are texts, not numbers."""
    return rows.dtype == object


def in_type(rows: Rows, kind: Any) -> Rows:
    """Rows in a number type; texts as they are."""
    with np.errstate(over="ignore"):
        return rows if are_texts(rows) else rows.astype(kind)


def finite_rows(rows: Rows) -> NDArray[np.bool_]:
    """Which rows have finite numbers alone; texts have none that are not."""
    if are_texts(rows):
        return np.full(len(rows), True)
    compressed = getattr(rows, "finite_rows", None)
    return np.asarray(compressed() if compressed else np.isfinite(rows).all(axis=1))


def bounded(rows: Rows, bound: Callable[..., Bounds], program: Program, *told: Any) -> Bounds:
    """Bounds for rows; of texts, for what is counted in them."""
    if not are_texts(rows):
        return bound(rows, program, *told)
    text, parts = program.input.text, list[Bounds]()
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        counts = text.counts(some)
        columns = np.unique(np.append(counts.indices, 0))
        try:
            given = [_narrowed(one, columns) for one in (program, *told)]
        except _Needed:
            parts += [bound(text.rows(some[part]), program, *told) for part in text.chunks(some)]
        else:
            parts.append(bound(counts[:, columns].toarray(), *given))
    return Bounds(*(np.concatenate(one) for one in zip(*parts, strict=True)))


class _Needed(Exception):
    """Features that are zero matter."""


def _narrowed(told: Any, columns: NDArray[np.int64]) -> Any:
    """Programs for rows whose other features are zero, and stay so up to where they are multiplied."""
    if isinstance(told, (list, tuple)):
        return [_narrowed(one, columns) for one in told]
    if not isinstance(told, Program):
        return told
    features, tables = {told.input.name}, dict(told.tables)
    rest = np.delete(np.arange(told.n_features), columns)
    for node in told.body:
        if features.isdisjoint(ir.operands(node)):
            continue
        moved, own = _by_feature(node)
        if any(told.tables[name][rest].any() for name in moved):
            raise _Needed
        tables |= {name: told.tables[name][..., columns] for name in (*moved, *own)}
        if not isinstance(node, (ir.Affine, ir.KernelSum)):
            features.add(node.out)
    return told.replace(input=Input(len(columns), told.input.name), tables=tables)


def _by_feature(node: ir.Node) -> tuple[list[str], list[str]]:
    """The tables of a node that add to features, and others with numbers for each of them."""
    if isinstance(node, ir.Scale):
        return [node.shift, node.offset], [node.factor]
    if isinstance(node, ir.Affine):
        return [node.centre], [node.weights]
    if isinstance(node, ir.KernelSum) and node.kernel.kind in OF_PRODUCTS:
        return [], [node.vectors]
    if isinstance(node, (ir.LogCounts, ir.Normalize)):
        return [], []
    raise _Needed

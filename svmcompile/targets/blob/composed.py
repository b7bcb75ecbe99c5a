"""Nodes made of operations of others: flags, curves of features, answers of ensembles, densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At, run
from svmcompile.targets.blob.blob import Blob, Register
from svmcompile.targets.blob.nodes import build, joined, picked, poisoned, scaled

IS_MARKER = 2  # flag of FILL: what is not the marker becomes zero


@build.register
def _(node: ir.Matches, at: At, blob: Blob) -> Register:
    x, n = picked(blob, at.x, at.columns), len(at.columns)
    out, places, count = blob.room(n), np.zeros(n, dtype=np.int64), 0
    for value in np.unique(at.values):
        own = np.flatnonzero(at.values == value)
        part = Register(out.at + count, len(own))
        if node.test == "equal":
            ones = np.ones(len(own))
            blob.op("FILL", picked(blob, x, own), ones, [value], out=part, flag=IS_MARKER, n=len(own))
        else:
            for index, flag in enumerate(own):
                _leaf(blob, _one(x, int(flag)), np.array([value]), Register(part.at + index, 1), False)
        places[own] = np.arange(count, count + len(own))
        count += len(own)
    return blob.op("ADD", picked(blob, out, places), b=scaled(blob, x, factor=0.0), n=n)


@build.register
def _(node: ir.Pieces, at: At, blob: Blob) -> Register:
    curves, parts = at.levels.shape[1], list[Register]()
    for column in range(at.x.width):
        start, stop = (int(one) for one in at.starts[column : column + 2])
        kept = _apart(at.knots[start:stop], blob)
        knots, levels = at.knots[start:stop][kept], at.levels[start:stop][kept]
        pieces = at.pieces[start + column : stop + column + 1][np.append(0, kept + 1)]
        parts.append(_curves(blob, _one(at.x, column), knots, levels, pieces, curves))
    return _beside(blob, parts)


@build.register
def _(node: ir.Density, at: At, blob: Blob) -> Register:
    """Each leaf has the answer of a score within it."""
    marks = at.marks[_apart(at.marks, blob)]
    between = [marks[0] - 1, *(marks[:-1] + np.diff(marks) / 2), marks[-1] + 1]
    scores = np.insert(marks, np.arange(len(marks) + 1), between)
    answers = run(node, {node.score: scores[:, None]}, {node.marks: at.marks})
    return _constants(blob, at.score, _leaf(blob, at.score, marks), answers)


@build.register
def _(node: ir.OneHot, at: At, blob: Blob) -> Register:
    n = node.n_classes
    away = scaled(blob, picked(blob, at.label, np.zeros(n, dtype=int)), np.arange(n))
    return blob.op("FILL", away, np.ones(n), [0.0], flag=IS_MARKER, n=n)


@build.register
def _(node: ir.Blend, at: At, blob: Blob) -> Register:
    """Added up in order, as ties ask for."""
    n, columns = at.weights.shape
    repeated = [picked(blob, at.values, np.full(n, column)) for column in range(columns)]
    total = scaled(blob, repeated[0], factor=0.0, offset=at.bias)
    for value, weights in zip(repeated, at.weights.T, strict=True):
        total = blob.op("ADD", total, b=scaled(blob, value, factor=weights), n=n)
    return total


def _one(x: Register, column: int) -> Register:
    return Register(x.at + column, 1)


def _beside(blob: Blob, parts: list[Register]) -> Register:
    out = blob.room(sum(part.width for part in parts))
    start = out.at
    for part in parts:
        blob.op("COPY", part, out=Register(start, part.width), n=part.width)
        start += part.width
    return out


def _apart(knots: NDArray[Any], blob: Blob) -> NDArray[np.int64]:
    """The places of numbers that differ in the number type, of equal ones the last."""
    held = knots.astype(blob.real)
    return np.flatnonzero(np.append(held[1:] > held[:-1], True))


def _leaf(
    blob: Blob, x: Register, knots: NDArray[Any], out: Register | None = None, exactly: bool = True
) -> Register:
    """How many knots are not above a number, twice, less one if it is the last of them (or not, once)."""
    both = joined(blob, x, scaled(blob, x, factor=-1.0))  # x < knot is -x > -knot
    features: list[int] = []
    thresholds, children = list[float](), list[int]()

    def grow(low: int, high: int) -> int:
        if low == high:
            return -1 - low
        middle, at = (low + high) // 2, len(features)
        knot, beyond = divmod(middle, 2) if exactly else (middle, 0)
        features.append(1 - beyond)
        thresholds.append(float(knots[knot]) * (1 if beyond else -1))
        children.extend((0, 0))
        ways = [grow(low, middle), grow(middle + 1, high)]
        children[2 * at : 2 * at + 2] = ways if beyond else ways[::-1]
        return at

    grow(0, len(knots) * (2 if exactly else 1))
    n = len(features)
    return blob.op("AXIS", both, features, thresholds, children, out=out, n=n, m=2, l=n + 1)


def _curves(
    blob: Blob, x: Register, knots: NDArray[Any], levels: NDArray[Any], pieces: NDArray[Any], curves: int
) -> Register:
    """The leaf of a piece has its polynomials of the distance from a knot, that of a knot its levels."""
    leaf, degree = _leaf(blob, x, knots), pieces.shape[1] // curves - 1
    leaves = 2 * len(knots) + 1
    bias = np.zeros((leaves, curves))
    bias[::2], bias[1::2] = pieces[:, :curves], levels
    if degree == 0:
        return _constants(blob, x, leaf, bias)
    before = knots[np.maximum(np.arange(leaves) // 2 + np.arange(leaves) % 2 - 1, 0)]
    every = np.arange(leaves + 1)
    tables = (every, np.zeros(leaves), np.ones(leaves), -before)
    h = blob.op("LEAF", x, *tables, b=leaf, n=1, m=1, k=leaves, l=leaves)
    factors = np.where(np.arange(degree) <= np.arange(degree)[:, None], 0, 1)  # 1: the number one
    rising = blob.op("POWERS", h, factors, n=degree, m=1, k=degree)
    starts = curves * ((every + 1) // 2)
    weights = pieces[:, curves:].reshape(len(pieces), degree, curves).transpose(0, 2, 1)
    tables = (starts, np.tile(np.arange(curves), len(pieces)), weights, bias)
    k = curves * len(pieces)
    return poisoned(blob, blob.op("LEAF", rising, *tables, b=leaf, n=curves, m=degree, k=k, l=leaves), x)


def _constants(blob: Blob, x: Register, leaf: Register, values: NDArray[Any]) -> Register:
    """What the leaf of a number has."""
    leaves, n = values.shape
    starts = np.minimum(np.arange(leaves + 1), 1)  # one function that adds nothing: tables are not empty
    found = blob.op("LEAF", x, starts, [0], [0.0], values, b=leaf, n=n, m=1, k=1, l=leaves)
    return poisoned(blob, found, x)

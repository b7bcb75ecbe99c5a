"""What rows may have been before a node of preprocessing: probes come from support vectors this way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At


def as_wide(rows: Array, widths: list[int]) -> list[Array]:
    """The rows where they fit, else any of that width."""
    return [rows if rows.shape[1] == width else np.zeros((len(rows), width)) for width in widths]


def added(parts: list[Array]) -> Array:
    """The sum of rows, as many as all parts have."""
    count = min(map(len, parts))
    return parts[0] if len(parts) == 1 else np.asarray(sum(part[:count] for part in parts))


def _spread(columns: NDArray[np.int64], z: Array, width: int, rest: float) -> list[Array]:
    row = np.full((len(z), width), rest)
    row[:, columns] = z
    return [row]


def _marked(at: At, z: Array, width: int) -> list[Array]:
    """The number whose flag is largest, among those of each column."""
    row = np.zeros((len(z), width))
    for column in np.unique(at.columns):
        own = np.flatnonzero(at.columns == column)
        row[:, column] = at.values[own][np.argmax(z[:, own], axis=1)]
    return [row]


def _nearest_knots(at: At, z: Array, width: int) -> list[Array]:
    """The knots whose levels are nearest."""
    row, curves = np.zeros((len(z), width)), at.levels.shape[1]
    for column, (start, stop) in enumerate(pairwise(at.starts)):
        own = z[:, None, column * curves : (column + 1) * curves]
        row[:, column] = at.knots[start:stop][
            np.abs(own - at.levels[start:stop]).sum(axis=2).argmin(axis=1)
        ]
    return [row]


def _scaled(at: At, z: Array, widths: list[int]) -> list[Array]:
    """A factor of zero switches a feature off: any value will do for it."""
    return [z / np.where(at.factor != 0, at.factor, 1.0) + at.shift]


def _multiplied(at: At, z: Array, widths: list[int]) -> list[Array]:
    """Features that stand alone in a product are known."""
    alone = (at.factors < widths[0]).sum(axis=1) == 1
    return _spread(at.factors[alone].min(axis=1), z[:, alone], widths[0], 1.0)


# What each node may have been given, one value for each that it reads; the others keep rows as they are.
SOURCES: dict[type[ir.Node], Callable[[At, Array, list[int]], list[Array]]] = {
    ir.Scale: _scaled,
    ir.Pick: lambda at, z, widths: _spread(at.columns, z, widths[0], 0.0),
    ir.Affine: lambda at, z, widths: [(z - at.bias) @ np.linalg.pinv(at.weights).T + at.centre],
    ir.KernelSum: lambda at, z, widths: [at.vectors],
    ir.DifferenceSum: lambda at, z, widths: [at.vectors],
    ir.Powers: _multiplied,
    ir.Cosine: lambda at, z, widths: [np.arccos(np.clip(z / (at.factor or 1.0), -1, 1)) / (2 * np.pi)],
    ir.Matches: lambda at, z, widths: _marked(at, z, widths[0]),
    ir.BoxCox: lambda at, z, widths: [at.node.inverse(z, at.powers)],
    ir.NormalQuantile: lambda at, z, widths: [at.node.inverse(z)],
    ir.Pieces: lambda at, z, widths: _nearest_knots(at, z, widths[0]),
    ir.PeriodicPieces: lambda at, z, widths: [_nearest_knots(at, z, widths[0])[0] + at.origins],
    ir.Missing: lambda at, z, widths: [np.zeros_like(z)],
    ir.Join: lambda at, z, widths: np.split(z, widths[:1], axis=1),
}

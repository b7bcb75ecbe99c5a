"""Machine nodes of bounded sums: layouts of `BoundedSum` and `BoundedVote` for C code.

Vectors lie in blocks of lanes, [blocks, d, lanes], and every stage ends with a
block; lanes of one make plain code. `coordinates` holds a lower triangle in
rows of blocks: of block b the columns up to its own last, each over the lanes
of the block. Residuals are squared, so that no root is needed. What fills up a
block has no weight and no coordinates. x comes from `Prepare`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Lazy, Level, Table, Value


@dataclass(frozen=True, slots=True)
class StagedSum:
    """`BoundedSum` in blocks; see above. One that gives values has the program's input for `exact`."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    exact: Lazy
    vectors: Table  # [blocks, d, lanes]
    weights: Table  # [blocks * lanes]
    bias: Table  # [1]
    ends: IndexTable  # [stages], whole blocks
    coordinates: Table  # [lanes^2 b (b + 1) / 2] for b blocks of coordinates; a zero for none
    projection: Table  # [b * lanes]; a zero for none
    estimates: Table
    residuals: Table  # [stages], squared
    slacks: Table
    margins: Table
    rounding: Table  # [2]
    reach: float
    tolerance: float
    rank: int  # coordinates, without what fills up the last block
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class StagedVote:
    """`BoundedVote` in blocks; see above. Each class and the basis of each pair fill whole blocks.

    `basis` holds the vectors of each pair's basis once more, side by side; in plain code it is
    `vectors` itself, and picks name its rows.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    guess: Value  # [k]
    exact: Lazy  # a label
    vectors: Table  # [blocks, d, lanes]
    basis: Table  # [blocks of all pairs, d, lanes]
    weights: Table  # [k - 1, blocks * lanes]
    bias: Table  # [pairs]
    starts: IndexTable  # [pairs + 1]
    picks: IndexTable
    coordinates: Table  # pair by pair
    projections: Table
    residuals: Table  # squared
    slacks: Table
    margins: Table
    rounding: Table  # [pairs, 2]
    reach: float
    block: int  # values between two stages, whole lanes
    counts: tuple[int, ...]  # vectors per class, with what fills up
    kernel: Kernel

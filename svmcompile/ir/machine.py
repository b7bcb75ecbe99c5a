"""Nodes of kernel sums on the machine level: one per C routine, layout and number type fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import IndexTable, Level, Shape, Table, Value


@dataclass(frozen=True, slots=True)
class Prepare:
    """out = (x - shift) * factor, held within +-limit; NaN where x is not finite."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    shift: Table  # [d]
    factor: Table  # [d]
    limit: float


@dataclass(frozen=True, slots=True)
class PackedSum:
    """Kernel sums from folded tables: t_i = x . vectors[i] + offsets[i], k_i = shape(t_i).

    For "exp2" half the squared norm of x is taken from t_i as well, and x comes
    from `Prepare`. For "given" k_i is x[vectors[i]], which the caller computes.
    With `counts` the sums are one per pair of classes, as in `PairSum`; without,
    one per column of `weights`.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    vectors: Table  # [n, d]; [n, 1] int32 for "given"
    offsets: Table  # [n] for "exp2", else [1]: the kernel's constant
    weights: Table  # [n, m] or [n, k - 1]
    bias: Table  # [sums]
    counts: tuple[int, ...]
    shape: Shape
    degree: int  # of "power"


@dataclass(frozen=True, slots=True)
class TiledSum:
    """`PackedSum` with its vectors in blocks of lanes, for processors with vector instructions.

    Few weights per vector: weights are [blocks, m, lanes] and each class fills
    whole blocks. More: weights are [vectors, m filled up to lanes]. Vectors that
    fill up a block have weight zero. x comes from `Prepare`.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    vectors: Table  # [blocks, d, lanes]
    offsets: Table  # [blocks * lanes] for "exp2", else [1]
    weights: Table
    bias: Table  # [sums]
    counts: tuple[int, ...]  # vectors per class, or one number; without what fills up
    shape: Shape
    degree: int


@dataclass(frozen=True, slots=True)
class SparseSum:
    """`TiledSum` over vectors that are mostly zeros, stored by feature: who has it, and how much.

    t_i = z . vectors[i] + offsets[i] with z = x * factor, held within +-limit; x is the row as it comes.
    Vectors go in segments, so that their dot products fit a scratch of fixed size. Bit j % 32 of
    `marks[j / 32]` tells whether any vector has feature j, `ranks[j / 32]` counts the bits before that
    word; together they number the features that occur. Feature c of segment s has the entries
    `starts[s, c]` to `starts[s, c + 1]` - 1 of `indices` (vectors within the segment, ascending) and
    `values`. Weights and offsets are as in `TiledSum`; lanes of one make plain code.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    factor: Table  # [d], or [1] for all features
    marks: IndexTable  # [d / 32]
    ranks: IndexTable  # [d / 32]
    starts: IndexTable  # [segments, features that occur + 1]
    indices: IndexTable  # [entries]
    values: Table  # [entries]
    offsets: Table  # [vectors] for "exp2", else [1]
    weights: Table  # [blocks, m, lanes] or [vectors, m filled up to lanes]
    bias: Table  # [sums]
    counts: tuple[int, ...]  # vectors per class, or one number; without what fills up
    shape: Shape
    degree: int
    segment: int  # vectors of a segment; the last may have fewer
    limit: float


@dataclass(frozen=True, slots=True)
class PackedPath:
    """`PathSum` with its kernel folded into the tables, as in `PackedSum`."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    vectors: Table
    offsets: Table
    picks: IndexTable
    thresholds: Table
    children: IndexTable
    starts: IndexTable
    weights: Table
    bias: Table
    shape: Shape
    degree: int

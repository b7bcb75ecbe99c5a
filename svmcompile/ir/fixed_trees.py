"""Nodes of trees in whole numbers: functions of leaves, tests by kernel values, sums of leaves.

Routes by planes and axes and lists of half-spaces are the nodes of floats, with tables of whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import IndexTable, LeafRule, Level, Shape, Table, Value


@dataclass(frozen=True, slots=True)
class FixedLeaves:
    """`LeafAffine` in whole numbers.

    out = bias[leaf]; for r from starts[leaf] to starts[leaf + 1] - 1:
    out[sums[r]] += (weights[r] . x) / 2^shifts[r] to the nearest
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    leaf: Value
    starts: IndexTable  # [leaves + 1]
    sums: IndexTable  # [functions]
    weights: Table  # [functions, d]
    shifts: IndexTable  # [functions]
    bias: Table  # [leaves, m]


@dataclass(frozen=True, slots=True)
class FixedPath:
    """`PathSum` in whole numbers: kernel values as in `FixedSum`, thresholds and weights to match.

    At the leaf out = bias[leaf] + (sum_l weights[starts[leaf] + l] * value[l]) / 2^shift to the nearest.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    vectors: Table
    offsets: Table
    curve: Table
    picks: IndexTable
    thresholds: Table
    children: IndexTable
    starts: IndexTable
    weights: Table  # [coefficients, m]
    bias: Table  # [leaves, m]
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int


@dataclass(frozen=True, slots=True)
class FixedLeafSums:
    """`LeafSums` in whole numbers: kernel values as in `FixedSum`; for absent classes the lowest int32.

    `places` and `bias_firsts` tell where the weights and biases of each leaf begin.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    leaf: Value
    vectors: Table
    offsets: Table
    curve: Table
    starts: IndexTable  # [leaves + 1]
    members: IndexTable  # [classes of all leaves]
    firsts: IndexTable  # [leaves + 1]
    counts: IndexTable  # [classes of all leaves]
    weights: Table  # [coefficients]
    places: IndexTable  # [leaves + 1]
    bias: Table  # [sums of all leaves]
    bias_firsts: IndexTable  # [leaves + 1]
    rule: LeafRule
    classes: int
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int

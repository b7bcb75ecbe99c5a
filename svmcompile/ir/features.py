"""Nodes of preprocessing: features in, features out. All stand on both levels.

A projection (PCA) is an `Affine` and a kernel map (Nystroem) a `KernelSum`,
whose scores `AsFeatures` hands on as features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import IndexTable, Level, Norm, Table, Value


@dataclass(frozen=True, slots=True)
class AsFeatures:
    """The scores, read as features from here on."""

    level: ClassVar = Level.BOTH
    out: Value
    scores: Value


@dataclass(frozen=True, slots=True)
class Pick:
    """out[k] = x[columns[k]]; what is not picked does not matter, NaN or not."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    columns: IndexTable  # [m]


@dataclass(frozen=True, slots=True)
class Normalize:
    """out = x / norm, or x itself where the norm is below `least`; NaN if a feature is not finite."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    norm: Norm
    least: float


@dataclass(frozen=True, slots=True)
class Powers:
    """out[k] = the product over l of x[factors[k, l]], where x[d], behind the last, is the number one."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    factors: IndexTable  # [m, degree]


@dataclass(frozen=True, slots=True)
class Cosine:
    """out = factor * cos(2 pi x), feature by feature: x counts turns."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    factor: float


@dataclass(frozen=True, slots=True)
class Fill:
    """values[j] where x[j] is missing, else x[j]; missing is NaN (`nan`), or what equals the marker."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    values: Table  # [d]
    nan: bool
    marker: float  # a float32 number


@dataclass(frozen=True, slots=True)
class Missing:
    """1 where x[j] is missing, else 0; missing as in `Fill`."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    nan: bool
    marker: float


@dataclass(frozen=True, slots=True)
class Join:
    """The features of the left, then those of the right."""

    level: ClassVar = Level.BOTH
    out: Value
    left: Value
    right: Value

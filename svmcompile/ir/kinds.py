"""What nodes are made of: names of values and tables, levels, and the types of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = str  # name of a computed value
Lazy: TypeAlias = str  # name of a value that only some rows need
Table: TypeAlias = str  # name of an array in the program's tables
IndexTable: TypeAlias = str  # the same, of whole numbers

# Of a kernel, from its argument; "cosine" counts turns.
Shape = Literal["exp2", "distance", "power", "tanh", "cosine", "identity", "given"]
OWN_OFFSETS = ("exp2", "cosine")  # shapes whose vectors have an offset each
Rule = Literal["sign", "vote", "argmax"]  # how scores decide
Decision = Literal["sign", "vote", "ties", "argmax"]  # the same, ties of votes broken by their values
Norm = Literal["l1", "l2", "max"]  # of a row: sum of sizes, root of the sum of squares, largest size
Test = Literal["equal", "least"]  # of a feature: it is a number, or that number at least
Order = Literal["all", "dag"]  # in which lists are looked at
Whole = Literal["", "u8", "i8", "i16", "i32"]  # C type of values in whole numbers; none of others
LeafRule = Literal["sum", "vote", "ovr"]  # what the sums of a leaf say of its classes


class Level(str, Enum):
    """Where a node may stand."""

    MATH = "math"
    MACHINE = "machine"
    BOTH = "both"


class Kind(str, Enum):
    """What a value holds, per row."""

    FEATURES = "features"
    SCORES = "scores"
    INDEX = "index"  # a leaf; width is the number of leaves
    PROBABILITIES = "probabilities"  # numbers from 0 to 1
    LABEL = "label"  # an index into the program's labels; width is the number of classes
    LABELS = "labels"  # such an index for each target; width is their number, `limit` the largest index


@dataclass(frozen=True, slots=True)
class Type:
    """Kind and width of a value, and whether it is a double whatever the program's number type.

    Values in whole numbers have the type that holds them, and the largest size they can have.
    """

    kind: Kind
    width: int
    wide: bool = field(default=False, compare=False)
    whole: Whole = field(default="", compare=False)
    limit: int = field(default=0, compare=False)


Tables = Mapping[str, NDArray[Any]]
Types = dict[str, Type]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Wholes = NDArray[np.int64]
Flags = NDArray[np.bool_]

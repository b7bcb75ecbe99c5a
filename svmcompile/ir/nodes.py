"""The whole node set of the intermediate representation, on one page.

A program is a list of nodes; each computes one named value from earlier ones.
Nodes hold names and scalars, arrays live in the program's tables, so nodes
hash, compare and print. `interpret.py` says what each node means.

Levels. *Math* nodes say what is computed, in real numbers. *Machine* nodes say
how, one per C routine, with table layout and number type fixed. Nodes whose
layout is already fixed stand on both levels. Machine nodes of kernel sums are in
`machine.py`, sums that stop as soon as they are sure in `bounded.py` and
`staged.py`, lists of half-spaces in `lists.py`, sums that belong to the leaves of a
tree in `leaf_sums.py`, preprocessing in `features.py`, heads that give
probabilities in `chances.py`, nodes in whole numbers in `fixed.py` and
`fixed_trees.py`. The ONNX backend
emits from math nodes, the C backend from machine nodes.

Shifts. Every `shift` and `centre` table holds float32 numbers, whatever the
program's precision: all targets subtract the same number from the input, so
features with a large mean lose nothing in float32.

Non-finite input. A kernel sum, affine or quadratic function of a row that
holds a NaN or an infinity is NaN, and every comparison with NaN is false.
`Fill` makes numbers of NaN, and features that are not picked do not matter.

Trees. A route walks a tree and gives the leaf a row falls into. A child that is
not negative is a node, always later than its parent; a negative one is the leaf
~child. "Above the threshold" goes right, all else left, NaN too.

Lazy values. A program is a pure function, so it does not matter to its meaning
when a value is computed. Operands marked `Lazy` are those a backend computes
only for the rows that need them; `cost` counts them by the share of such rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Union, get_args

from svmcompile.ir.bounded import BoundedSum as BoundedSum
from svmcompile.ir.bounded import BoundedVote as BoundedVote
from svmcompile.ir.bounded import Widen as Widen
from svmcompile.ir.chances import Beside as Beside
from svmcompile.ir.chances import Columns as Columns
from svmcompile.ir.chances import Complement as Complement
from svmcompile.ir.chances import Couple as Couple
from svmcompile.ir.chances import Density as Density
from svmcompile.ir.chances import Isotonic as Isotonic
from svmcompile.ir.chances import Mean as Mean
from svmcompile.ir.chances import Shares as Shares
from svmcompile.ir.chances import Shifted as Shifted
from svmcompile.ir.chances import Sigmoid as Sigmoid
from svmcompile.ir.features import AsFeatures as AsFeatures
from svmcompile.ir.features import Cosine as Cosine
from svmcompile.ir.features import Fill as Fill
from svmcompile.ir.features import Join as Join
from svmcompile.ir.features import Missing as Missing
from svmcompile.ir.features import Normalize as Normalize
from svmcompile.ir.features import Pick as Pick
from svmcompile.ir.features import Powers as Powers
from svmcompile.ir.fixed import Dequantise as Dequantise
from svmcompile.ir.fixed import FixedAffine as FixedAffine
from svmcompile.ir.fixed import FixedQuadratic as FixedQuadratic
from svmcompile.ir.fixed import FixedSum as FixedSum
from svmcompile.ir.fixed import Quantise as Quantise
from svmcompile.ir.fixed import Requantise as Requantise
from svmcompile.ir.fixed_trees import FixedLeafSums as FixedLeafSums
from svmcompile.ir.fixed_trees import FixedLeaves as FixedLeaves
from svmcompile.ir.fixed_trees import FixedPath as FixedPath
from svmcompile.ir.jets import JetSum as JetSum
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Lazy, Table
from svmcompile.ir.kinds import Kind as Kind
from svmcompile.ir.kinds import LeafRule as LeafRule
from svmcompile.ir.kinds import Level as Level
from svmcompile.ir.kinds import Norm as Norm
from svmcompile.ir.kinds import Order as Order
from svmcompile.ir.kinds import Rule as Rule
from svmcompile.ir.kinds import Shape as Shape
from svmcompile.ir.kinds import Type as Type
from svmcompile.ir.kinds import Value as Value
from svmcompile.ir.leaf_sums import LeafSums as LeafSums
from svmcompile.ir.leaf_sums import PackedLeaves as PackedLeaves
from svmcompile.ir.lists import PlaneLists as PlaneLists
from svmcompile.ir.lists import TiledLists as TiledLists
from svmcompile.ir.machine import PackedPath as PackedPath
from svmcompile.ir.machine import PackedSum as PackedSum
from svmcompile.ir.machine import Prepare as Prepare
from svmcompile.ir.machine import SparseSum as SparseSum
from svmcompile.ir.machine import TiledSum as TiledSum
from svmcompile.ir.staged import StagedSum as StagedSum
from svmcompile.ir.staged import StagedVote as StagedVote
from svmcompile.ir.taylor import OneLeaf as OneLeaf
from svmcompile.ir.taylor import PickedTaylor as PickedTaylor
from svmcompile.ir.taylor import TaylorSum as TaylorSum
from svmcompile.ir.taylor import TiledTaylor as TiledTaylor
from svmcompile.ir.taylor_vote import TaylorVote as TaylorVote


@dataclass(frozen=True, slots=True)
class Scale:
    """out = (x - shift) * factor + offset, feature by feature."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    shift: Table  # [d]
    factor: Table  # [d]
    offset: Table  # [d]


@dataclass(frozen=True, slots=True)
class Clip:
    """out = min(max(x, low), high); NaN stays NaN."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class KernelSum:
    """out[j] = bias[j] + sum_i weights[j, i] * kernel(x, vectors[i])."""

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    vectors: Table  # [n, d]
    weights: Table  # [m, n]
    bias: Table  # [m]
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class PairSum:
    """One sum per pair of classes (i < j) over the vectors of the two, kernel values shared.

    out[i, j] = bias[i, j] + sum_{v in i} weights[j - 1, v] k(x, v) + sum_{v in j} weights[i, v] k(x, v)
    """

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    vectors: Table  # [n, d], grouped by class
    weights: Table  # [k - 1, n]
    bias: Table  # [k (k - 1) / 2]
    counts: tuple[int, ...]  # vectors per class
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Affine:
    """out = weights (x - centre) + bias."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    weights: Table  # [m, d]
    bias: Table  # [m]
    centre: Table  # [d]


@dataclass(frozen=True, slots=True)
class Quadratic:
    """out[j] = sum_{a <= b} squares[j, ab] h_a h_b + weights[j] h + bias[j], with h = x - centre."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    squares: Table  # [m, d (d + 1) / 2], upper triangle row by row
    weights: Table  # [m, d]
    bias: Table  # [m]
    centre: Table  # [d]


@dataclass(frozen=True, slots=True)
class AxisRoute:
    """The leaf of a tree whose node k tests x[features[k]] > thresholds[k]."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    features: IndexTable  # [m]
    thresholds: Table  # [m], float32 numbers
    children: IndexTable  # [m, 2]: left, right


@dataclass(frozen=True, slots=True)
class PlaneRoute:
    """The leaf of a tree whose node k tests planes[k] . (x - centre) > thresholds[k]."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    planes: Table  # [m, d]; may be float16 or int8
    thresholds: Table  # [m], in units of the stored planes
    children: IndexTable  # [m, 2]: left, right
    centre: Table  # [d]


@dataclass(frozen=True, slots=True)
class LeafAffine:
    """Scores of the row's leaf: constants, and affine functions that are added to some of them.

    out = bias[leaf]; for r from starts[leaf] to starts[leaf + 1] - 1:
    out[sums[r]] += units[r] * (weights[r] . (x - centre))
    """

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    leaf: Value
    starts: IndexTable  # [leaves + 1]
    sums: IndexTable  # [functions]
    weights: Table  # [functions, d]; may be float16 or int8
    units: Table  # [functions]; ones, unless weights are int8
    bias: Table  # [leaves, m]
    centre: Table  # [d]


@dataclass(frozen=True, slots=True)
class PathSum:
    """A tree whose tests are kernel values, and sums of the values met on the way to the leaf.

    From node 0 and level 0: value[level] = kernel(x, vectors[picks[node]]), or value[~pick] where
    the pick is negative (met before); value > thresholds[node] goes right. At the leaf
    out = bias[leaf] + sum_l weights[starts[leaf] + l] * value[l]. A node without a test has one leaf twice.
    """

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    vectors: Table  # [v, d]
    picks: IndexTable  # [nodes]
    thresholds: Table  # [nodes]
    children: IndexTable  # [nodes, 2]: left, right
    starts: IndexTable  # [leaves + 1]
    weights: Table  # [coefficients, m]
    bias: Table  # [leaves, m]
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Products:
    """h = x - centre, then the products h_a h_b, a <= b, upper triangle row by row."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    centre: Table  # [d]


@dataclass(frozen=True, slots=True)
class Add:
    """out = left + right."""

    level: ClassVar = Level.BOTH
    out: Value
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Reach:
    """`far` for rows farther than `radius` from the centre, else the score."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    score: Value
    centre: Table  # [d]
    far: Table  # [m]
    radius: float


@dataclass(frozen=True, slots=True)
class Guard:
    """The score where its margin is at least `width`, else (NaN too) the exact one.

    Margin, by rule: "sign" |score|; "vote" the least value, signed in favour of the
    vote's winner, among the winner's pairs; "argmax" the largest minus the next.
    """

    level: ClassVar = Level.BOTH
    out: Value
    score: Value
    exact: Lazy
    width: float
    rule: Rule


@dataclass(frozen=True, slots=True)
class OvrScores:
    """scikit-learn's one-vs-rest form of pair sums: votes plus a squashed sum of confidences."""

    level: ClassVar = Level.BOTH
    out: Value
    pairs: Value
    n_classes: int


@dataclass(frozen=True, slots=True)
class Vote:
    """LIBSVM's vote: pair (i, j) above zero counts for i, else for j; most votes, first index wins."""

    level: ClassVar = Level.BOTH
    out: Value
    pairs: Value
    n_classes: int


@dataclass(frozen=True, slots=True)
class ArgMax:
    """Index of the largest score (or probability), first index wins; NaN counts as minus infinity."""

    level: ClassVar = Level.BOTH
    out: Value
    scores: Value


@dataclass(frozen=True, slots=True)
class Threshold:
    """`hit` where the score is above zero (`positive`) or below it (not `positive`), else `miss`."""

    level: ClassVar = Level.BOTH
    out: Value
    score: Value
    positive: bool
    hit: int
    miss: int


Node = Union[
    Scale, Clip, AsFeatures, Pick, Normalize, Powers, Cosine, Fill, Missing, Join,
    KernelSum, PairSum, Affine, Quadratic, Prepare, PackedSum, TiledSum, SparseSum,
    AxisRoute, PlaneRoute, LeafAffine, PathSum, PackedPath, Products, Add, Reach, Guard,
    LeafSums, PackedLeaves, Widen, BoundedSum, BoundedVote, StagedSum, StagedVote, OneLeaf, TaylorSum,
    TaylorVote, TiledTaylor, PickedTaylor, JetSum, PlaneLists, TiledLists,
    OvrScores, Vote, ArgMax, Threshold,
    Beside, Columns, Shifted, Sigmoid, Isotonic, Density, Complement, Shares, Mean, Couple,
    Quantise, Requantise, FixedSum, FixedAffine, FixedQuadratic, FixedLeaves, FixedPath, FixedLeafSums,
    Dequantise,
]  # fmt: skip
NODES: tuple[type[Node], ...] = get_args(Node)
FIXED_NODES = (  # whose tables are whole numbers
    Requantise, FixedSum, FixedAffine, FixedQuadratic, FixedLeaves, FixedPath, FixedLeafSums,
)  # fmt: skip


def operands(node: Node) -> tuple[Value, ...]:
    """Names of the values a node reads."""
    return _fields_of(node, "Value", "Lazy")


def lazy_operands(node: Node) -> tuple[Value, ...]:
    """Those that only some rows need."""
    return _fields_of(node, "Lazy")


def table_names(node: Node) -> tuple[Table, ...]:
    """Names of the tables a node reads."""
    return _fields_of(node, "Table", "IndexTable")


def index_tables(node: Node) -> tuple[IndexTable, ...]:
    """Those of whole numbers."""
    return _fields_of(node, "IndexTable")


def _fields_of(node: Node, *annotations: str) -> tuple[str, ...]:
    return tuple(
        getattr(node, field.name)
        for field in fields(node)
        if field.type in annotations and field.name != "out"
    )

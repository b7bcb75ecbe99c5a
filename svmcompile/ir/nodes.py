"""The whole node set of the intermediate representation, on one page.

A program is a list of nodes; each computes one named value from earlier ones.
Nodes hold names and scalars, arrays live in the program's tables, so nodes
hash, compare and print. `interpret.py` says what each node means.

Levels. *Math* nodes say what is computed, in real numbers. *Machine* nodes say
how, one per C routine, with table layout and number type fixed. Nodes whose
layout is already fixed stand on both levels. The ONNX backend emits from math
nodes, the C backend from machine nodes.

Shifts. Every `shift` and `centre` table holds float32 numbers, whatever the
program's precision: all targets subtract the same number from the input, so
features with a large mean lose nothing in float32.

Non-finite input. A kernel sum, affine or quadratic function of a row that
holds a NaN or an infinity is NaN, and every comparison with NaN is false.

How the coming methods map to this set:

* metric-tree: `Route(out, x, test, children)` walks a tree whose tests are an
  axis, a hyperplane or a kernel value and gives an index (new value kind
  INDEX); `LeafAffine(out, x, leaf, weights, bias, centres)` is `Affine` with
  its row picked by that index. Guard band: `Guarded` below.
* sv-tree: the same `Route` with kernel tests, and `PathSum(out, x, tree,
  weights)` that adds weights * kernel along the path taken.
* dtsvm: `Route` with axis tests, then `Select(out, index, programs)`: each
  leaf is a whole sub-program (constant, affine or `PairSum`) with a label
  subset; its label is mapped into the parent's by a table.
* h1-tree: `Chain(out, x, weights, thresholds, answers, otherwise)`: the first
  half-space that claims the row answers, else the sub-program `otherwise`.
* anytime, certified: `Bound(out, x, stages, margins, otherwise)`: stages
  narrow an interval around the score until it excludes zero; the sub-program
  `otherwise` takes undecided rows. Its claim is on the label alone.
* guard band (any method): `Guarded(out, score, width, otherwise)`: scores
  within `width` of zero are recomputed by the exact sub-program.
* reduced-set: `KernelSum` or `PairSum` with fewer vectors; no new node.
* probabilities: `Platt(out, scores, a, b)` and `Couple(out, pairs)`, heads
  with the value kind PROBABILITIES, beside the heads for vote, argmax, sign.
* fixed point: machine nodes `FixedKernelSum`, `FixedAffine` beside the float
  ones, in a program whose `number` is "q15" or "q7".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar, Literal, TypeAlias, Union

from svmcompile.kernel import Kernel

Value: TypeAlias = str  # name of a computed value
Table: TypeAlias = str  # name of an array in the program's tables


class Level(str, Enum):
    """Where a node may stand."""

    MATH = "math"
    MACHINE = "machine"
    BOTH = "both"


class Kind(str, Enum):
    """What a value holds, per row."""

    FEATURES = "features"
    SCORES = "scores"
    LABEL = "label"  # an index into the program's labels; width is the number of classes


@dataclass(frozen=True, slots=True)
class Type:
    """Kind and width of a value."""

    kind: Kind
    width: int


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
class Prepare:
    """out = (x - shift) * factor, held within +-limit; NaN where x is not finite."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    shift: Table  # [d]
    factor: Table  # [d]
    limit: float


Shape = Literal["exp2", "power", "tanh", "identity"]


@dataclass(frozen=True, slots=True)
class PackedSum:
    """Kernel sums from folded tables: t_i = x . vectors[i] + offsets[i], k_i = shape(t_i).

    For "exp2" half the squared norm of x is taken from t_i as well, and x comes
    from `Prepare`. With `counts` the sums are one per pair of classes, as in `PairSum`; without,
    one per column of `weights`.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    vectors: Table  # [n, d]
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
    marks: Table  # [d / 32]
    ranks: Table  # [d / 32]
    starts: Table  # [segments, features that occur + 1]
    indices: Table  # [entries]
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
    """Index of the largest score, first index wins; NaN counts as minus infinity."""

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
    Scale, Clip, KernelSum, PairSum, Affine, Quadratic, Prepare, PackedSum, TiledSum, SparseSum,
    OvrScores, Vote, ArgMax, Threshold,
]  # fmt: skip
NODES: tuple[type[Node], ...] = (
    Scale, Clip, KernelSum, PairSum, Affine, Quadratic, Prepare, PackedSum, TiledSum, SparseSum,
    OvrScores, Vote, ArgMax, Threshold,
)  # fmt: skip


def operands(node: Node) -> tuple[Value, ...]:
    """Names of the values a node reads."""
    return _fields_of(node, "Value")


def table_names(node: Node) -> tuple[Table, ...]:
    """Names of the tables a node reads."""
    return _fields_of(node, "Table")


def integer_tables(node: Node) -> tuple[Table, ...]:
    """Names of the tables that hold whole numbers."""
    if isinstance(node, SparseSum):
        return (node.marks, node.ranks, node.starts, node.indices)
    return ()


def _fields_of(node: Node, annotation: str) -> tuple[str, ...]:
    return tuple(
        getattr(node, field.name)
        for field in fields(node)
        if field.type == annotation and field.name != "out"
    )

"""The instructions of each machine node: one function per node, registered by its type.

Many nodes are made of operations that others use: a runner has to know few.
"""

from __future__ import annotations

from functools import singledispatch
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.leaf_layout import ABSENT, LOWEST, packed_layout
from svmcompile.ir.node import At, Node
from svmcompile.ir.pairs import classes_of
from svmcompile.ir.walks import leaf_depths
from svmcompile.ir.whole_numbers import whole
from svmcompile.targets.blob.blob import Blob, Register

SHAPES = {"exp2": 0, "distance": 1, "power": 2, "tanh": 3, "identity": 4}
NORMS = {"l1": 0, "l2": 1, "max": 2}
RULES = {"sign": 0, "vote": 1, "argmax": 2}


class Values(dict[str, Register]):
    """Registers of values; a value is computed where it is first read."""

    def __init__(self, nodes: dict[str, Node], tables: Any, blob: Blob, known: dict[str, Register]) -> None:
        super().__init__(known)
        self.nodes, self.tables, self.blob = nodes, tables, blob

    def __missing__(self, name: str) -> Register:
        node = self.nodes[name]
        self[name] = build(node, At(node, self.tables, self), self.blob)
        return self[name]


@singledispatch
def build(node: Node, at: At, blob: Blob) -> Register:
    """The register of a node's value, after the instructions that fill it."""
    raise EmitError(
        f"target blob has no operation for {type(node).__name__} (%{node.out}): use target c or, if the "
        "method made it, method exact, reduced-set, linear, sv-tree, metric-tree, h1-tree or dtsvm"
    )


def scaled(blob: Blob, x: Register, shift: Any = 0.0, factor: Any = 1.0, offset: Any = 0.0) -> Register:
    n = x.width
    return blob.op("SCALE", x, *(np.broadcast_to(one, n) for one in (shift, factor, offset)), n=n)


def centred(blob: Blob, x: Register, centre: Any) -> Register:
    return scaled(blob, x, centre) if np.any(centre) else x


def picked(blob: Blob, x: Register, columns: Any) -> Register:
    return blob.op("PICK", x, columns, n=len(columns), m=x.width)


def poisoned(blob: Blob, value: Register, x: Register) -> Register:
    """In place: NaN where the row x is not finite."""
    return blob.op("POISON", value, b=x, out=value, n=value.width, m=x.width)


@build.register
def _(node: ir.Scale, at: At, blob: Blob) -> Register:
    return scaled(blob, at.x, at.shift, at.factor, at.offset)


@build.register
def _(node: ir.Shifted, at: At, blob: Blob) -> Register:
    return scaled(blob, at.scores, offset=at.by)


@build.register
def _(node: ir.Prepare, at: At, blob: Blob) -> Register:
    z = scaled(blob, at.x, at.shift, at.factor)
    blob.op("CLIP", z, [-node.limit, node.limit], out=z, n=z.width)
    return poisoned(blob, z, at.x)


@build.register
def _(node: ir.Clip, at: At, blob: Blob) -> Register:
    return blob.op("CLIP", at.x, [node.low, node.high], n=at.x.width)


@build.register
def _(node: ir.AsFeatures, at: At, blob: Blob) -> Register:
    found: Register = at.scores
    return found


@build.register
def _(node: ir.Pick, at: At, blob: Blob) -> Register:
    return picked(blob, at.x, at.columns)


@build.register
def _(node: ir.Join, at: At, blob: Blob) -> Register:
    return joined(blob, at.left, at.right)


def joined(blob: Blob, left: Register, right: Register) -> Register:
    out = blob.room(left.width + right.width)
    for part, start in ((left, 0), (right, left.width)):
        blob.op("COPY", part, out=Register(out.at + start, part.width), n=part.width)
    return out


@build.register
def _(node: ir.Fill, at: At, blob: Blob) -> Register:
    return blob.op("FILL", at.x, at.values, [node.marker], flag=int(node.nan), n=at.x.width)


@build.register
def _(node: ir.Missing, at: At, blob: Blob) -> Register:
    n = at.x.width
    return blob.op("FILL", at.x, np.ones(n), [node.marker], flag=int(node.nan) + 2, n=n)


@build.register
def _(node: ir.Normalize, at: At, blob: Blob) -> Register:
    return blob.op("NORM", at.x, [node.least], flag=NORMS[node.norm], n=at.x.width)


@build.register
def _(node: ir.Powers, at: At, blob: Blob) -> Register:
    n, k = at.factors.shape
    return blob.op("POWERS", at.x, at.factors, n=n, m=at.x.width, k=k)


@build.register
def _(node: ir.Products, at: At, blob: Blob) -> Register:
    return products(blob, centred(blob, at.x, at.centre))


def products(blob: Blob, h: Register) -> Register:
    """The features, and all their products."""
    d = h.width
    alone, pairs = [(a, d) for a in range(d)], list(combinations_with_replacement(range(d), 2))
    return blob.op("POWERS", h, [*alone, *pairs], n=d + len(pairs), m=d, k=2)


@build.register
def _(node: ir.Cosine, at: At, blob: Blob) -> Register:
    return blob.op("COSINE", at.x, [node.factor], n=at.x.width)


@build.register
def _(node: ir.Affine, at: At, blob: Blob) -> Register:
    n, m = at.weights.shape
    found = blob.op("AFFINE", centred(blob, at.x, at.centre), at.weights, at.bias, n=n, m=m)
    return poisoned(blob, found, at.x)


@build.register
def _(node: ir.Quadratic, at: At, blob: Blob) -> Register:
    h = products(blob, centred(blob, at.x, at.centre))
    weights = np.hstack([at.weights, at.squares])
    return poisoned(blob, blob.op("AFFINE", h, weights, at.bias, n=len(weights), m=h.width), at.x)


@build.register
def _(node: ir.PackedSum, at: At, blob: Blob) -> Register:
    return kernel_sum(node, at, blob, at.vectors, at.offsets, at.weights, at.bias, node.counts)


def kernel_sum(
    node: Any, at: At, blob: Blob, vectors: Any, offsets: Any, weights: Any, bias: Any, counts: Any
) -> Register:
    """One sum per column of weights, or with counts one per pair of classes."""
    k, m = vectors.shape
    starts = np.concatenate([[0], np.cumsum(counts or (k,))])
    tables = (vectors, np.broadcast_to(offsets, k), weights, bias, starts)
    sizes = {"n": len(bias), "m": m, "k": k, "l": weights.shape[1], "p": len(starts) - 1}
    return poisoned(blob, blob.op("SUM", at.x, *tables, flag=_flag(node), **sizes), at.x)


def _flag(node: Any) -> int:
    """Shape and degree of a kernel."""
    if node.shape not in SHAPES:
        raise EmitError(f"target blob has no precomputed kernels (%{node.out}); use target c")
    return SHAPES[node.shape] + len(SHAPES) * int(node.degree)


@build.register
def _(node: ir.PackedPath, at: At, blob: Blob) -> Register:
    (k, m), (u, n), levels = at.vectors.shape, at.weights.shape, int(leaf_depths(at.children).max())
    tree = (at.picks, at.thresholds, at.children, at.starts, at.weights, at.bias)
    sizes = {"n": n, "m": m, "k": k, "l": levels, "p": len(at.picks), "q": len(at.bias), "u": u}
    offsets = np.broadcast_to(at.offsets, k)
    return poisoned(
        blob, blob.op("PATH", at.x, at.vectors, offsets, *tree, flag=_flag(node), **sizes), at.x
    )


@build.register
def _(node: ir.PackedLeaves, at: At, blob: Blob) -> Register:
    """The instructions of one leaf after the other, each jumped over unless it is the row's."""
    x, fallen, width = at.x, at.leaf, 1 if node.rule == "sum" else node.classes
    out, layout, firsts, start = blob.room(width), packed_layout(at, 1), whole(at.firsts), blob.next
    for leaf, (first, end) in enumerate(pairwise(firsts)):
        blob.next = start
        jump = len(blob.instructions)
        blob.op("UNLESS", fallen, k=leaf)
        own, bias = whole(at.members)[first:end], at.bias[slice(*layout.bias_firsts[leaf : leaf + 2])]
        if len(own) == 1:
            found = constant(blob, x, bias[0] if node.rule == "sum" else 0.0)
        else:
            vectors, columns = int(layout.vectors[leaf]), int(layout.columns[leaf])
            place, at_weight = int(at.starts[leaf]), int(layout.places[leaf])
            weights = at.weights[at_weight : at_weight + vectors * columns].reshape(vectors, columns)
            offsets = at.offsets[place : place + vectors] if node.shape == "exp2" else at.offsets
            counts = np.diff(whole(at.ends)[first:end], prepend=0) if node.rule == "vote" else ()
            own_vectors = at.vectors[place : place + vectors, :, 0]
            found = kernel_sum(node, at, blob, own_vectors, offsets, weights, bias, tuple(counts))
            if node.rule == "vote":
                found = blob.op("COUNT", found, n=len(own))
        if node.rule != "sum":
            found = _spread(blob, x, found, own, node.classes, ABSENT if node.rule == "vote" else LOWEST)
        blob.op("COPY", found, out=out, n=width)
        blob.jump(jump)
    return poisoned(blob, out, x)


def constant(blob: Blob, x: Register, value: float) -> Register:
    """One number, whatever the row."""
    return scaled(blob, Register(x.at, 1), factor=0.0, offset=value)


def _spread(blob: Blob, x: Register, found: Register, own: Any, classes: int, absent: float) -> Register:
    """The scores of all classes from those of some."""
    both = joined(blob, found, constant(blob, x, absent))
    places = np.full(classes, len(own))
    places[own] = np.arange(len(own))
    return picked(blob, both, places)


@build.register
def _(node: ir.OneLeaf, at: At, blob: Blob) -> Register:
    return constant(blob, at.x, 0.0)


@build.register
def _(node: ir.AxisRoute, at: At, blob: Blob) -> Register:
    n = len(at.children)
    return blob.op("AXIS", at.x, at.features, at.thresholds, at.children, n=n, m=at.x.width, l=n + 1)


@build.register
def _(node: ir.PlaneRoute, at: At, blob: Blob) -> Register:
    h, n = centred(blob, at.x, at.centre), len(at.children)
    return blob.op("PLANE", h, at.planes, at.thresholds, at.children, n=n, m=h.width, l=n + 1)


@build.register
def _(node: ir.LeafAffine, at: At, blob: Blob) -> Register:
    h, (leaves, n) = centred(blob, at.x, at.centre), at.bias.shape
    weights = at.weights.astype(np.float64) * at.units.astype(np.float64)[:, None]
    tables, k = (at.starts, at.sums, weights, at.bias), len(at.sums)
    found = blob.op("LEAF", h, *tables, b=at.leaf, n=n, m=h.width, k=k, l=leaves)
    return poisoned(blob, found, at.x)


@build.register
def _(node: ir.PlaneLists, at: At, blob: Blob) -> Register:
    h, n, k = centred(blob, at.x, at.centre), len(at.rest), len(at.answers)
    tables = (at.starts, at.planes, at.thresholds, at.answers, at.rest)
    classes = 0 if node.order == "all" else classes_of(n)
    return blob.op("LISTS", h, *tables, n=n, m=h.width, k=k, l=classes)


@build.register
def _(node: ir.Add, at: At, blob: Blob) -> Register:
    return blob.op("ADD", at.left, b=at.right, n=at.left.width)


@build.register
def _(node: ir.Reach, at: At, blob: Blob) -> Register:
    h, n = centred(blob, at.x, at.centre), at.score.width
    return blob.op("REACH", h, at.far, [node.radius**2], b=at.score, n=n, m=h.width)


@build.register
def _(node: ir.Guard, at: At, blob: Blob) -> Register:
    """Where the score is sure, what leads to the exact one is jumped over."""
    score, n, jump = at.score, at.score.width, len(blob.instructions)
    width = min(node.width, float(np.finfo(blob.real).max))
    classes = classes_of(n) if node.rule == "vote" else 0
    out = blob.op("GUARD", score, [width], flag=RULES[node.rule], n=n, l=classes)
    values: Any = at.read
    inner = Values(values.nodes, values.tables, blob, values)  # not computed for rows that jump
    blob.op("COPY", inner[node.exact], out=out, n=n)
    blob.jump(jump)
    return out


@build.register
def _(node: ir.OvrScores, at: At, blob: Blob) -> Register:
    return blob.op("OVR", at.pairs, n=node.n_classes)


@build.register
def _(node: ir.Vote, at: At, blob: Blob) -> Register:
    votes = blob.op("COUNT", at.pairs, n=node.n_classes)
    return blob.op("ARGMAX", votes, n=node.n_classes)


@build.register
def _(node: ir.ArgMax, at: At, blob: Blob) -> Register:
    return blob.op("ARGMAX", at.scores, n=at.scores.width)


@build.register
def _(node: ir.Threshold, at: At, blob: Blob) -> Register:
    return blob.op("SIGN", at.score, flag=int(node.positive), k=node.hit, l=node.miss)


@build.register
def _(node: ir.Sigmoid, at: At, blob: Blob) -> Register:
    return blob.op("SIGMOID", at.scores, at.slopes, at.offsets, [node.floor], n=at.scores.width)


@build.register
def _(node: ir.Isotonic, at: At, blob: Blob) -> Register:
    tables = (at.starts, at.knots, at.levels)
    return blob.op("ISOTONIC", at.scores, *tables, n=at.scores.width, k=len(at.knots))


@build.register
def _(node: ir.Complement, at: At, blob: Blob) -> Register:
    n = at.chances.width
    twice = picked(blob, at.chances, np.repeat(np.arange(n), 2))
    return scaled(blob, twice, 0.0, np.tile([-1.0, 1.0], n), np.tile([1.0, 0.0], n))


@build.register
def _(node: ir.Shares, at: At, blob: Blob) -> Register:
    n = at.chances.width
    return blob.op("SHARES", at.chances, [node.empty], n=n, k=n // node.groups)


@build.register
def _(node: ir.Mean, at: At, blob: Blob) -> Register:
    n = at.chances.width // node.groups
    total, *others = (Register(at.chances.at + n * group, n) for group in range(node.groups))
    for part in others:
        total = blob.op("ADD", total, b=part, n=n)
    return scaled(blob, total, factor=1.0 / node.groups)


@build.register
def _(node: ir.Couple, at: At, blob: Blob) -> Register:
    return blob.op("COUPLE", at.pairs, n=node.n_classes)

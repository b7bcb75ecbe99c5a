"""A Taylor front end in a program: expansions and centres go in, the value that is sure comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import RowError
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.taylor.expansion import CELLS, AnySum, Expansion
from svmcompile.accelerate.taylor.rounding import slack
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS
from svmcompile.accelerate.taylor.sums import RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.graph import maker
from svmcompile.ir.node import At, operands
from svmcompile.ir.program import Program
from svmcompile.model.front import Front
from svmcompile.model.head import renamed
from svmcompile.model.svm import SVM
from svmcompile.progress import steps

Gates = tuple[float, ...]  # how small a score may be for the next order to be worth a try
ROUNDS = 8  # of moving two means
# Orders whose spectra are computed, each at the cost of the cube of the number of vectors.
BLOCKS = {800: 8, 1500: 6}  # up to so many vectors
FEW_BLOCKS = 4
# What an expansion calls the tables of a `TaylorSum`; some have an order for each line.
TABLES = {
    "centres": "centre", "constants": "constant", "slopes": "slope", "axes": "axes", "squares": "squares",
    "cubes": "cubes", "middles": "middle", "loose": "loose", "steps": "step", "gaps": "gaps",
    "margins": "margins",
}  # fmt: skip
BY_ORDER = ("loose", "gaps", "margins")


@dataclass(slots=True)
class Centres:
    """A tree as `PlaneRoute` holds it, and which rows fell into each leaf."""

    parts: list[NDArray[np.intp]]
    planes: list[Array] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    parents: list[tuple[int, int]] = field(default_factory=lambda: [(-1, 0)])  # where each leaf hangs

    def split(self, leaf: int, plane: Array, threshold: float, right: NDArray[np.bool_]) -> None:
        """A new node in the place of a leaf, which stays on its left; the new leaf is on its right."""
        node, new = len(self.children), len(self.parts)
        above, side = self.parents[leaf]
        if above >= 0:
            self.children[above][side] = node
        self.children.append([~leaf, ~new])
        self.planes.append(plane)
        self.thresholds.append(threshold)
        self.parents[leaf] = (node, 0)
        self.parents.append((node, 1))
        self.parts.append(self.parts[leaf][right])
        self.parts[leaf] = self.parts[leaf][~right]


def grow_centres(rows: Array, leaves: int, seed: int = 0) -> Centres:
    """Split the leaf whose rows are farthest apart, until there are so many leaves or nothing to split."""
    generator = np.random.default_rng(seed)
    tree = Centres([np.arange(len(rows))])
    parts = tree.parts
    while len(parts) < leaves:
        spread = [_spread(rows[part]) for part in parts]
        at = int(np.argmax(spread))
        if spread[at] <= 0:
            break
        plane, threshold = two_means(rows[parts[at]], generator)
        right = rows[parts[at]] @ plane > threshold
        tree.split(at, plane, threshold, right)
    return tree


def _spread(rows: Array) -> float:
    return float(np.square(rows - rows.mean(axis=0)).sum()) if len(rows) > 1 else 0.0


def two_means(rows: Array, generator: np.random.Generator) -> tuple[Array, float]:
    """The hyperplane between two means; rows fall on both of its sides."""
    first = rows[generator.integers(len(rows))]
    second = rows[np.square(rows - first).sum(axis=1).argmax()]
    for _ in range(ROUNDS):
        plane = second - first
        right = rows @ plane > 0.5 * plane @ (first + second)
        if right.all() or not right.any():
            break
        first, second = rows[~right].mean(axis=0), rows[right].mean(axis=0)
    plane = second - first
    values = rows @ plane
    threshold = 0.5 * float(plane @ (first + second))
    if not (values > threshold).any() or (values > threshold).all():
        threshold = 0.5 * float(values.min() + values.max())
    return plane, threshold


def blocks_of(whole: AnySum) -> int:
    return next((count for most, count in BLOCKS.items() if len(whole.vectors) <= most), FEW_BLOCKS)


def expansions(
    whole: AnySum, rows: Array, tree: Centres, order: int, rank: int = 0, cells: int = CELLS
) -> list[Expansion]:
    """An expansion for each leaf of a tree, about the mean of the rows in it."""
    found = []
    with steps("Taylor expansions", len(tree.parts)) as advance:
        for part in tree.parts:
            local = whole.seen_from(rows[part], blocks_of(whole), FEW_PRODUCTS)
            found.append(local.expansion(order, rank, cells))
            advance(1)
    return found


def add_front(
    builder: Builder, whole: AnySum, x: str, exact: str, tree: Centres, found: Sequence[Expansion],
    gates: Gates = (), name: str = "taylor",
) -> str:  # fmt: skip
    """The nodes of expansions, one for each leaf of the tree."""
    leaf = "leaf" if name == "taylor" else f"{name}_leaf"
    node, tables = taylor_node(whole, found, x, _route(builder, tree, x, leaf), exact, gates, name)
    builder.hold(tables)
    builder.body.append(node)
    return node.out


def taylor_node(
    whole: AnySum, found: Sequence[Expansion],
    x: str = "x", leaf: str = "leaf", exact: str = "exact", gates: Gates = (), name: str = "taylor",
) -> tuple[ir.TaylorSum, dict[str, Array]]:  # fmt: skip
    """The node of expansions and its tables."""
    first, orders = found[0], len(found[0].margins)
    rank, d = 0 if first.axes is None else len(first.axes), 0 if first.sparse else len(first.centre)
    needed = {"axes": rank, "middles": rank, "loose": rank, "squares": orders > 1, "cubes": orders > 2}
    tables = {"bias": np.array([whole.bias])}
    for table, own in TABLES.items():
        values = [getattr(one, own) for one in found]
        tables[table] = np.stack(values, axis=table in BY_ORDER) if needed.get(table, True) else np.zeros(1)
    names: Any = {table: f"{name}_{table}" for table in tables}
    node = ir.TaylorSum(
        name, x, leaf, exact, **names,
        gates=gates or (0.0,) * (orders - 1),
        gamma=whole.gamma,
        slack=slack(d, rank),
        sparse=first.sparse and len(found) == 1,
        fades=whole.fades,
    )  # fmt: skip
    return node, {names[table]: values for table, values in tables.items()}


def _route(builder: Builder, tree: Centres, x: str, leaf: str) -> str:
    """Any centre gives a valid bound, so a row on the wrong side of a plane by rounding does no harm."""
    if not tree.planes:
        builder.body.append(ir.OneLeaf(leaf, x))
        return leaf
    node = ir.PlaneRoute(
        leaf,
        x,
        builder.table(f"{leaf}_planes", np.stack(tree.planes)),
        builder.table(f"{leaf}_thresholds", np.array(tree.thresholds)),
        builder.indices(f"{leaf}_children", np.array(tree.children)),
        builder.table(f"{leaf}_centre", np.zeros(len(tree.planes[0]))),
    )
    builder.body.append(node)
    return node.out


def rbf_sum(at: At, row: RowError) -> RbfSum:
    """The sum that a bounded sum is about."""
    vectors, weights = at.vectors[at.weights != 0], at.weights[at.weights != 0]
    norm = float(weights @ at.kernel.values(vectors, vectors) @ weights)
    return RbfSum(vectors, weights, float(at.bias[0]), at.kernel.gamma, norm, (row.constant, row.relative))


def with_front(svm: SVM, program: Program, row: RowError, rows: Array, leaves: int, order: int) -> Program:
    """A program of one bounded sum with a Taylor front end; `rows` are rows as the sum sees them."""
    _, out = undecided_sum(program)
    whole, tree = rbf_sum(At(maker(program, out), program.tables), row), grow_centres(rows, leaves)
    return insert_front(svm, program, whole, tree, expansions(whole, rows, tree, order))


def insert_front(
    svm: SVM, program: Program, whole: AnySum, tree: Centres, found: Sequence[Expansion],
    gates: Gates = (), name: str = "taylor",
) -> Program:  # fmt: skip
    """The program with these expansions before the sum that stops when its sign is certain."""
    x, out = undecided_sum(program)
    at = next(place for place, node in enumerate(program.body) if node.out == out) + 1
    builder = Builder(svm)
    builder.body, builder.tables = list(program.body[:at]), dict(program.tables)
    front = add_front(builder, whole, x, out, tree, found, gates, name)
    builder.body += [renamed(node, {out: front}) for node in program.body[at:]]
    return program.replace(body=tuple(builder.body), tables=builder.tables)


def front_alone(
    svm: SVM, before: Front, whole: AnySum, tree: Centres, found: Sequence[Expansion], gates: Gates = ()
) -> Program:
    """These expansions before the original's own sum in double; `before` leads to rows as they see them."""
    builder = Builder(svm)
    x, exact = builder.row_and_exact(before)
    return builder.label_program(add_front(builder, whole, x, exact, tree, found, gates), "taylor")


def undecided_sum(program: Program) -> tuple[str, str]:
    """The row as the sum before the head sees it, and that sum: bounded, with jets, or guarded, or
    polynomials before it."""
    out = operands(program.body[-1])[0]
    node = maker(program, out)
    if node is not None and node.guards:
        node = maker(program, operands(node)[0])
    assert node is not None, "the head reads no sum"
    return operands(node)[0], out


def shares(program: Program, rows: Array) -> list[float]:
    """Shares of rows that each order settles, and what is left."""
    from svmcompile.ir.interpret import interpret_values
    from svmcompile.ir.polynomials import taylor_orders

    nodes: list[Any] = [node for node in program.body if node.has_orders]
    most = max(len(program.tables[node.margins]) for node in nodes)
    settled = np.full(len(rows), most)
    for node in nodes:  # those that rows come to first stand last
        found = interpret_values(program, rows, {node.x, node.leaf})
        orders = taylor_orders(At(node, program.tables), found[node.x], found[node.leaf])
        settled = np.where(orders.sure.any(axis=1), orders.settled, settled)
    return [float((settled == order).mean()) for order in range(most + 1)]

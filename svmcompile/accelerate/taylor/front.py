"""A Taylor front end in a program: expansions and a tree go in, the value that is sure comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.taylor.about import CELLS, AnySum, Expansion
from svmcompile.accelerate.taylor.centres import Centres
from svmcompile.accelerate.taylor.rounding import slack
from svmcompile.accelerate.taylor.squares import FEW_PRODUCTS
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.progress import steps

# Orders whose spectra are computed, each at the cost of the cube of the number of vectors.
BLOCKS = {800: 8, 1500: 6}  # up to so many vectors
FEW_BLOCKS = 4


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
    builder: Builder,
    whole: AnySum,
    x: str,
    exact: str,
    tree: Centres,
    found: Sequence[Expansion],
    gates: tuple[float, ...] = (),
    name: str = "taylor",
) -> str:
    """The nodes of expansions, one for each leaf of the tree."""
    leaf = "leaf" if name == "taylor" else f"{name}_leaf"
    node, tables = taylor_node(whole, found, x, _route(builder, tree, x, leaf), exact, gates, name)
    for own, table in tables.items():
        builder.table(own, table)
    builder.body.append(node)
    return node.out


def taylor_node(
    whole: AnySum,
    found: Sequence[Expansion],
    x: str = "x",
    leaf: str = "leaf",
    exact: str = "exact",
    gates: tuple[float, ...] = (),
    name: str = "taylor",
) -> tuple[ir.TaylorSum, dict[str, Array]]:
    """The node of expansions and its tables."""
    orders, (rank, d) = len(found[0].margins), _rank(found[0])
    tables: dict[str, Array] = {}

    def table(field: str, values: Sequence[Any], present: bool = True, axis: int = 0) -> str:
        own = f"{name}_{field}"
        tables[own] = np.stack(values, axis=axis) if present else np.zeros(1)
        return own

    node = ir.TaylorSum(
        name,
        x,
        leaf,
        exact,
        table("centres", [one.centre for one in found]),
        table("constants", [np.array(one.constant) for one in found]),
        table("slopes", [one.slope for one in found]),
        table("axes", [one.axes for one in found], rank > 0),
        table("squares", [one.squares for one in found], orders > 1),
        table("cubes", [one.cubes for one in found], orders > 2),
        table("middles", [np.array(one.middle) for one in found], rank > 0),
        table("loose", [one.loose for one in found], rank > 0, axis=1),
        table("steps", [np.array(one.step) for one in found]),
        table("gaps", [one.gaps for one in found], axis=1),
        table("margins", [one.margins for one in found], axis=1),
        table("bias", [np.array(whole.bias)]),
        gates or (0.0,) * (orders - 1),
        whole.gamma,
        slack(0 if found[0].sparse else d, rank) if rank else 0.0,
        found[0].sparse and len(found) == 1,
        whole.fades,
    )
    return node, tables


def _rank(one: Expansion) -> tuple[int, int]:
    """How many axes an expansion has (0: none), and how many features."""
    return (0 if one.axes is None else len(one.axes)), len(one.centre)


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

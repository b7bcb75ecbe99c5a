"""A Taylor front end in a program: rows go in, the value that is sure of its sign comes out."""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.exact import Builder
from svmcompile.accelerate.taylor.centres import Centres, grow
from svmcompile.accelerate.taylor.expansion import Expansion, RbfSum, expand
from svmcompile.ir import nodes as ir
from svmcompile.kernel import Array
from svmcompile.progress import steps

# Orders whose spectra are computed, each at the cost of the cube of the number of vectors.
MOST_BLOCKS, FEW_BLOCKS, FEW_VECTORS = 8, 4, 800


def taylor_front(
    builder: Builder, whole: RbfSum, x: str, exact: str, rows: Array, leaves: int = 1, order: int = 2
) -> str:
    """Nodes for a route to one of several centres and the polynomial there; the name of their value.

    `rows` are rows as the kernel sees them (the value `x`), `exact` is the value for rows not sure.
    """
    tree = grow(rows, leaves)
    found = _expansions(whole, tree, order)
    squares = np.stack([one.squares for one in found]) if order > 1 else np.zeros(1)
    cubes = np.stack([one.cubes for one in found]) if order > 2 else np.zeros(1)
    node = ir.TaylorSum(
        "taylor",
        x,
        _route(builder, tree, x),
        exact,
        builder.table("taylor_centres", np.stack([one.centre for one in found])),
        builder.table("taylor_constants", np.array([one.constant for one in found])),
        builder.table("taylor_slopes", np.stack([one.slope for one in found])),
        builder.table("taylor_squares", squares),
        builder.table("taylor_cubes", cubes),
        builder.table("taylor_steps", np.array([one.step for one in found])),
        builder.table("taylor_lows", np.stack([one.lows for one in found], axis=1)),
        builder.table("taylor_highs", np.stack([one.highs for one in found], axis=1)),
        builder.table("taylor_bias", np.array([whole.bias])),
        whole.gamma,
    )
    builder.body.append(node)
    return node.out


def _expansions(whole: RbfSum, tree: Centres, order: int) -> list[Expansion]:
    found = []
    blocks = MOST_BLOCKS if len(whole.vectors) <= FEW_VECTORS else FEW_BLOCKS
    with steps("Taylor expansions", len(tree.centres)) as advance:
        for centre, reach in zip(tree.centres, tree.reaches, strict=True):
            found.append(expand(whole, centre, float(reach), order, blocks=blocks))
            advance(1)
    return found


def _route(builder: Builder, tree: Centres, x: str) -> str:
    """Any centre gives a valid bound, so a row on the wrong side of a plane by rounding does no harm."""
    if not tree.planes:
        builder.body.append(ir.OneLeaf("leaf", x))
        return "leaf"
    node = ir.PlaneRoute(
        "leaf",
        x,
        builder.table("leaf_planes", np.stack(tree.planes)),
        builder.table("leaf_thresholds", np.array(tree.thresholds)),
        builder.indices("leaf_children", np.array(tree.children)),
        builder.table("leaf_centre", np.zeros(tree.centres.shape[1])),
    )
    builder.body.append(node)
    return node.out

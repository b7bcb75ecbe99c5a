"""Programs of trees whose tests are kernel values, made at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.ir.walks import path_nodes
from svmcompile.optimise import optimise

FEATURES = 6
VECTORS = 25
ROWS = 20_000
KERNELS = {
    "rbf": Kernel("rbf", 0.2),
    "poly": Kernel("poly", 0.3, 0.5, 3),
    "sigmoid": Kernel("sigmoid", 0.2, 0.1),
    "linear": Kernel("linear"),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a random program is made of."""

    kernel: str = "rbf"
    nodes: int = 40
    deep: bool = False  # a chain rather than a bush
    again: bool = False  # some nodes test a value met before
    ends: bool = False  # some nodes test nothing: both sides lead to one leaf
    sums: int = 1  # 1: two classes, 3: three by votes
    leaf_only: bool = False  # the sum is the number of the leaf


RECIPES = {
    "rbf": Recipe(),
    "one node": Recipe(nodes=1, ends=True),
    "deep": Recipe(nodes=30, deep=True),
    "large": Recipe(nodes=150, again=True, ends=True),
    "three classes": Recipe(nodes=90, again=True, sums=3),
    "poly": Recipe("poly", again=True),
    "sigmoid": Recipe("sigmoid", nodes=80),
    "linear": Recipe("linear", ends=True),
}


def path_program(recipe: Recipe, seed: int = 0) -> Program:
    """A random program; thresholds lie where random rows are split."""
    rng = np.random.default_rng(seed)
    children = _children(rng, recipe)
    routes = path_nodes(children)
    vectors = rng.normal(size=(VECTORS, FEATURES))
    tables = {
        "shift": np.full(FEATURES, 0.5), "factor": np.full(FEATURES, 2.0), "offset": np.zeros(FEATURES),
        "v": vectors, "picks": _picks(rng, recipe, children, routes), "children": children,
        "t": _thresholds(rng, recipe, vectors, len(children)),
        "starts": np.cumsum([0, *map(len, routes)]).astype(np.int32),
        "w": rng.normal(size=(sum(map(len, routes)), recipe.sums)),
        "b": rng.normal(size=(len(routes), recipe.sums)),
    }  # fmt: skip
    if recipe.leaf_only:
        tables["w"] = np.zeros_like(tables["w"])
        tables["b"] = 1.0 + np.arange(len(routes))[:, None]  # no label hangs on rounding
    names = ("v", "picks", "t", "children", "starts", "w", "b")
    body = [
        ir.Scale("z", "x", "shift", "factor", "offset"),
        ir.PathSum("sums", "z", *names, KERNELS[recipe.kernel]),
        ir.Vote("label", "sums", 3) if recipe.sums == 3 else ir.Threshold("label", "sums", True, 1, 0),
    ]
    outputs = (Output("scores", "sums"), Output("label", "label"))
    labels = Labels(tuple(range(3 if recipe.sums == 3 else 2)), "<i8")
    origin = Origin("test", "0" * 64, VECTORS, 0, "sv-tree", Claim.APPROXIMATE)
    program = Program(Input(FEATURES), tuple(body), outputs, tables, labels, origin)
    return optimise(check(program))


def path_rows(count: int, seed: int = 1) -> NDArray[np.float64]:
    """Rows that are float32 numbers."""
    rows = 0.5 + 0.5 * np.random.default_rng(seed).normal(size=(count, FEATURES))
    return rows.astype(np.float32).astype(np.float64)


def _children(rng: np.random.Generator, recipe: Recipe) -> NDArray[np.int32]:
    links: list[list[int]] = [[-1, -1]]
    free = [(0, 0), (0, 1)]
    while len(links) < recipe.nodes:
        node, side = free.pop(len(free) - 1 if recipe.deep else int(rng.integers(len(free))))
        links[node][side] = len(links)
        free += [(len(links), 0), (len(links), 1)]
        links.append([-1, -1])
    leaf = 0
    for pair in links:
        both = recipe.ends and pair == [-1, -1]
        for side in (0, 1):
            if pair[side] < 0:
                pair[side] = ~leaf
                leaf += not (both and side == 0)
    return np.array(links, dtype=np.int32)


def _picks(rng: Any, recipe: Recipe, children: Any, routes: list[list[int]]) -> NDArray[np.int32]:
    picks = rng.integers(VECTORS, size=len(children)).astype(np.int32)
    for route in routes:
        for level, node in enumerate(route):
            if recipe.again and level and node % 3 == 0 and picks[node] >= 0:
                picks[node] = ~int(rng.integers(level))
    return picks


def _thresholds(rng: Any, recipe: Recipe, vectors: Any, nodes: int) -> NDArray[np.float64]:
    values = KERNELS[recipe.kernel].values(rng.normal(size=(200, FEATURES)), vectors)
    return np.quantile(values, rng.uniform(0.2, 0.8, nodes))

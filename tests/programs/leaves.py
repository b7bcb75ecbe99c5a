"""Programs of kernel sums in the leaves of trees, made at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from programs.paths import KERNELS
from programs.trees import random_children

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.check import check
from svmcompile.ir.leaf_layout import columns_of, sums_of
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.optimise import optimise

FEATURES = 7


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a random program is made of."""

    rule: Any = "sum"
    kernel: str = "rbf"
    leaves: int = 9
    classes: int = 2
    most: int = 40  # vectors of a class in a leaf
    pure: float = 0.3  # share of leaves with one class
    shift: float = 0.5  # of the scaling in front


RECIPES = {
    "two classes": Recipe(),
    "two classes, large": Recipe(leaves=5, most=400, pure=0.0, shift=100.0),
    "two classes, large poly": Recipe(kernel="poly", leaves=5, most=400),
    "two classes, large sigmoid": Recipe(kernel="sigmoid", leaves=20, most=400),
    "two classes, many leaves": Recipe(leaves=300, most=9),
    "two classes, poly": Recipe(kernel="poly"),
    "two classes, sigmoid": Recipe(kernel="sigmoid"),
    "two classes, linear": Recipe(kernel="linear"),
    "all pure": Recipe(pure=1.0),
    "votes": Recipe("vote", classes=5),
    "votes of two": Recipe("vote", most=80),
    "votes, many classes": Recipe("vote", classes=26, leaves=12, most=20, pure=0.1),
    "votes, poly": Recipe("vote", "poly", classes=4),
    "votes, sigmoid": Recipe("vote", "sigmoid", classes=4),
    "votes, linear": Recipe("vote", "linear", classes=4),
    "votes, all pure": Recipe("vote", classes=3, pure=1.0),
    "one against others": Recipe("ovr", classes=5, most=70),
    "one against others, poly": Recipe("ovr", "poly", classes=3),
    "one against others, sigmoid": Recipe("ovr", "sigmoid", classes=3),
    "one against others, linear": Recipe("ovr", "linear", classes=3),
}


def leaf_program(recipe: Recipe, seed: int = 0) -> Program:
    """A random tree, and in its leaves random vectors of random classes."""
    rng = np.random.default_rng(seed)
    tables = _route(recipe, rng) | _leaves(recipe, rng)
    zeros = np.zeros(FEATURES)
    tables |= {"shift": zeros + recipe.shift, "factor": zeros + 2.0, "offset": zeros}
    names = ("v", "starts", "members", "firsts", "counts", "w", "b")
    head: Any = ir.ArgMax("label", "sums")
    if recipe.rule == "sum":
        head = ir.Threshold("label", "sums", True, 1, 0)
    body = (
        ir.AxisRoute("leaf", "x", "features", "thresholds", "children"),
        ir.Scale("z", "x", "shift", "factor", "offset"),
        ir.LeafSums("sums", "z", "leaf", *names, KERNELS[recipe.kernel], recipe.rule, recipe.classes),
        head,
    )
    outputs = (Output("scores", "sums"), Output("label", "label"))
    labels = Labels(tuple(range(recipe.classes)), "<i8")
    origin = Origin("test", "0" * 64, len(tables["v"]), 0, "dtsvm", Claim.APPROXIMATE)
    return optimise(check(Program(Input(FEATURES), body, outputs, tables, labels, origin)))


def _route(recipe: Recipe, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    nodes = recipe.leaves - 1
    return {
        "children": random_children(rng, nodes).astype(np.int32),
        "features": rng.integers(FEATURES, size=nodes).astype(np.int32),
        "thresholds": nearest_float32(recipe.shift + rng.normal(size=nodes) / 2),
    }


def _leaves(recipe: Recipe, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    several = rng.integers(2, recipe.classes + 1, recipe.leaves)
    classes = np.where(rng.random(recipe.leaves) < recipe.pure, 1, several)
    members = [np.sort(rng.permutation(recipe.classes)[:k]) for k in classes]
    counts = [rng.integers(0, recipe.most + 1, k) if k > 1 else np.zeros(1, int) for k in classes]
    vectors = np.array([count.sum() for count in counts])
    coefficients = int((vectors * columns_of(recipe.rule, classes)).sum())
    return {
        "v": rng.normal(size=(vectors.sum(), FEATURES)),
        "starts": np.concatenate([[0], np.cumsum(vectors)]).astype(np.int32),
        "members": np.concatenate(members).astype(np.int32),
        "firsts": np.concatenate([[0], np.cumsum(classes)]).astype(np.int32),
        "counts": np.concatenate(counts).astype(np.int32),
        "w": rng.normal(size=coefficients),
        "b": rng.normal(size=int(sums_of(recipe.rule, classes).sum())) / 4,
    }


def leaf_rows(recipe: Recipe, program: Program, count: int, number: str = "f64") -> NDArray[Any]:
    """Rows that are float32 numbers; one feature in three stands exactly on a threshold, or next to it."""
    rng = np.random.default_rng(5)
    rows = nearest_float32(recipe.shift + 0.6 * rng.normal(size=(count, FEATURES)))
    at = np.arange(0, count, 3)
    picks = rng.integers(len(program.tables["thresholds"]), size=len(at))
    exact = program.tables["thresholds"][picks].astype(np.float32)
    sides = np.array([-np.inf, 0.0, np.inf], dtype=np.float32)[rng.integers(3, size=len(at))]
    rows[at, program.tables["features"][picks]] = np.where(
        sides == 0, exact, np.nextafter(exact, sides, dtype=np.float32)
    )
    return rows.astype(np.float32 if number == "f32" else np.float64)

"""Programs of trees, made at random: what the backends of trees are tested with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from programs.trees import random_children

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program

FEATURES = 7
VECTORS = 40


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a random program of a tree is made of."""

    axis: bool = True
    leaves: int = 12
    classes: int = 2
    table: str = "float64"  # of planes and leaf functions
    shifted: bool = False  # a centre that is not zero
    partial: bool = False  # some scores of a leaf are constants
    products: bool = False
    reach: float = 0.0
    guard: float | None = None  # width of the guard band
    rule: str = ""  # of the guard; by the number of classes where empty
    deep: bool = False  # a chain rather than a bush


def stored(table: NDArray[Any], kind: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """A table in the type a recipe asks for, and the unit of each row."""
    units = np.ones(len(table))
    if kind == "int8":
        units = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
        table = np.rint(table / units[:, None])
    return table.astype(kind), units


def tree_program(recipe: Recipe, seed: int = 0) -> Program:
    """A program that walks a tree, evaluates its leaf and, if asked, guards it by an RBF sum."""
    rng = np.random.default_rng(seed)
    tables: dict[str, NDArray[Any]] = {}
    body: list[Any] = []
    centre = nearest_float32(rng.normal(size=FEATURES) * (100 if recipe.shifted else 0))
    body.append(_route(recipe, rng, tables, centre))
    x = "x"
    if recipe.products:
        tables["middle"] = centre
        body.append(ir.Products("products", "x", "middle"))
        x, centre = "products", np.zeros(FEATURES + FEATURES * (FEATURES + 1) // 2)
    pairs = recipe.classes * (recipe.classes - 1) // 2
    body.append(_leaves(recipe, rng, tables, x, centre, pairs))
    scores = "leaf_scores"
    if recipe.reach:
        tables["middle2"] = nearest_float32(centre[:FEATURES])
        tables["far"] = rng.normal(size=pairs)
        body.append(ir.Reach("reached", "x", scores, "middle2", "far", recipe.reach))
        scores = "reached"
    if recipe.guard is not None:
        body += _guard(recipe, rng, tables, scores, pairs)
        scores = "guarded"
    head = ir.Vote("label", scores, recipe.classes)
    if recipe.classes == 2:
        head = ir.Threshold("label", scores, True, 1, 0)  # type: ignore[assignment]
    elif recipe.rule == "argmax":
        head = ir.ArgMax("label", scores)  # type: ignore[assignment]
    n_labels = pairs if recipe.rule == "argmax" else recipe.classes
    return check(
        Program(
            input=Input(FEATURES),
            body=(*body, head),
            outputs=(Output("scores", scores), Output("label", "label")),
            tables=tables,
            labels=Labels.of(np.arange(n_labels), "labels"),
            origin=Origin("made up", "0" * 64, VECTORS, 1, "metric-tree", Claim.APPROXIMATE),
        )
    )


def _route(recipe: Recipe, rng: np.random.Generator, tables: dict[str, Any], centre: Any) -> Any:
    nodes = recipe.leaves - 1
    tables["children"] = random_children(rng, nodes, chain=nodes if recipe.deep else 0).astype(np.int32)
    if recipe.axis:
        tables["features"] = rng.integers(FEATURES, size=nodes).astype(np.int32)
        thresholds = centre[tables["features"]] + rng.normal(size=nodes) / (4 if recipe.deep else 1)
        tables["thresholds"] = nearest_float32(thresholds)
        return ir.AxisRoute("leaf", "x", "features", "thresholds", "children")
    planes = rng.normal(size=(nodes, FEATURES))
    tables["planes"], units = stored(planes, recipe.table)
    tables["thresholds"] = rng.normal(size=nodes) / units
    tables["centre"] = centre
    return ir.PlaneRoute("leaf", "x", "planes", "thresholds", "children", "centre")


def _leaves(
    recipe: Recipe, rng: np.random.Generator, tables: dict[str, Any], x: str, centre: Any, pairs: int
) -> Any:
    listed = rng.random((recipe.leaves, pairs)) < (0.5 if recipe.partial else 2)
    listed[0, 0] = True
    leaf, sums = np.nonzero(listed)
    tables["starts"] = np.concatenate([[0], np.cumsum(listed.sum(axis=1))]).astype(np.int32)
    tables["sums"] = sums.astype(np.int32)
    tables["weights"], tables["units"] = stored(rng.normal(size=(len(leaf), len(centre))), recipe.table)
    tables["bias"] = rng.normal(size=(recipe.leaves, pairs))
    tables["leaf_centre"] = centre
    fields = ("starts", "sums", "weights", "units", "bias", "leaf_centre")
    return ir.LeafAffine("leaf_scores", x, "leaf", *fields)


def _guard(
    recipe: Recipe, rng: np.random.Generator, tables: dict[str, Any], scores: str, pairs: int
) -> list[Any]:
    """The exact sums as an optimised program holds them: behind a scaling without offset."""
    zeros = np.zeros(FEATURES)
    tables |= {"shift": zeros, "factor": zeros + 1, "offset": zeros.copy()}
    tables |= {
        "vectors": rng.normal(size=(VECTORS, FEATURES)),
        "alphas": rng.normal(size=(pairs, VECTORS)),
        "exact_bias": rng.normal(size=pairs),
    }
    kernel = Kernel("rbf", 0.2, 0.0, 3)
    rule: Any = recipe.rule or ("sign" if recipe.classes == 2 else "vote")
    assert recipe.guard is not None
    return [
        ir.Scale("z", "x", "shift", "factor", "offset"),
        ir.KernelSum("exact", "z", "vectors", "alphas", "exact_bias", kernel),
        ir.Guard("guarded", scores, "exact", recipe.guard, rule),
    ]


RECIPES = {
    "axis": Recipe(),
    "axis deep": Recipe(deep=True, leaves=61),
    "axis many": Recipe(leaves=400, shifted=True),
    "axis int8": Recipe(table="int8"),
    "axis f16 shifted": Recipe(table="float16", shifted=True),
    "axis quadratic": Recipe(products=True, shifted=True),
    "axis guarded": Recipe(guard=0.5),
    "axis sure": Recipe(guard=0.0),
    "axis never sure": Recipe(guard=np.inf),
    "axis reach": Recipe(reach=2.5),
    "axis pairs": Recipe(classes=4),
    "axis some pairs": Recipe(classes=4, partial=True),
    "axis pairs guarded": Recipe(classes=4, partial=True, guard=0.8),
    "axis largest guarded": Recipe(classes=3, guard=0.8, rule="argmax"),
    "plane": Recipe(axis=False),
    "plane deep": Recipe(axis=False, deep=True, leaves=61),
    "plane many": Recipe(axis=False, leaves=400, shifted=True),
    "plane int8": Recipe(axis=False, table="int8", shifted=True),
    "plane f16": Recipe(axis=False, table="float16"),
    "plane some pairs int8": Recipe(axis=False, table="int8", classes=5, partial=True),
    "plane constants": Recipe(axis=False, partial=True),
}


def tree_rows(recipe: Recipe, program: Program, count: int, number: str) -> NDArray[Any]:
    """Rows about the tree's centre, some with features exactly on thresholds."""
    rng = np.random.default_rng(5)
    middle = program.tables["middle" if recipe.products else "leaf_centre"]
    rows = middle + rng.normal(size=(count, FEATURES)) * 1.5
    if recipe.axis:
        picks = rng.integers(len(program.tables["thresholds"]), size=count // 10)
        at = np.arange(count // 10)
        rows[at, program.tables["features"][picks]] = program.tables["thresholds"][picks]
    return rows.astype(np.float32 if number == "f32" else np.float64)

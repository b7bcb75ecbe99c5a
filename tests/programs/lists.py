"""Programs of lists of half-spaces, made at random: what their backends are tested with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from programs.routes import stored

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program

VECTORS = 30


@dataclass(frozen=True, slots=True)
class ListRecipe:
    """What a random program of lists is made of."""

    classes: int = 2
    longest: int = 9  # half-spaces of a list
    order: str = "all"
    table: str = "float64"
    features: int = 7
    shifted: bool = False
    guarded: bool = False  # lists that do not answer are left to an RBF sum


def list_program(recipe: ListRecipe, seed: int = 0) -> Program:
    """A program whose lists answer about half of the rows."""
    rng = np.random.default_rng(seed)
    pairs = recipe.classes * (recipe.classes - 1) // 2
    lengths = rng.integers(1, recipe.longest + 1, size=pairs)
    if pairs > 2:
        lengths[1] = 0  # a list may be empty
    count, d = int(lengths.sum()), recipe.features
    planes, units = stored(rng.normal(size=(count, d)), recipe.table)
    tables: dict[str, NDArray[Any]] = {
        "planes": planes,
        "thresholds": rng.uniform(1, 5, size=count) / units,
        "starts": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        "answers": rng.choice([-1.0, 1.0], size=count),
        "rest": np.zeros(pairs) if recipe.guarded else rng.choice([-1.0, 1.0], size=pairs),
        "centre": nearest_float32(rng.normal(size=d) * (50 if recipe.shifted else 0)),
    }
    order: Any = recipe.order
    body: list[Any] = [
        ir.PlaneLists("lists", "x", "planes", "thresholds", "starts", "answers", "rest", "centre", order)
    ]
    scores = "lists"
    if recipe.guarded:
        body += _guard(tables, rng, pairs, d)
        scores = "guarded"
    body.append(
        ir.Threshold("label", scores, True, 1, 0)
        if pairs == 1
        else ir.Vote("label", scores, recipe.classes)
    )
    return check(
        Program(
            input=Input(d),
            body=tuple(body),
            outputs=(Output("scores", scores), Output("label", "label")),
            tables=tables,
            labels=Labels.of(np.arange(recipe.classes), "labels"),
            origin=Origin("made up", "0" * 64, VECTORS, 1, "h1-tree", Claim.APPROXIMATE),
        )
    )


def _guard(tables: dict[str, Any], rng: np.random.Generator, pairs: int, d: int) -> list[Any]:
    tables |= {"shift": tables["centre"].copy(), "factor": np.ones(d), "offset": np.zeros(d)}
    tables |= {
        "vectors": rng.normal(size=(VECTORS, d)),
        "alphas": rng.normal(size=(pairs, VECTORS)),
        "bias": rng.normal(size=pairs),
    }
    return [
        ir.Scale("z", "x", "shift", "factor", "offset"),
        ir.KernelSum("exact", "z", "vectors", "alphas", "bias", Kernel("rbf", 0.2)),
        ir.Guard("guarded", "lists", "exact", 0.5, "sign" if pairs == 1 else "vote"),
    ]


RECIPES = {
    "one": ListRecipe(),
    "one plane": ListRecipe(longest=1),
    "many planes": ListRecipe(longest=200, features=3),
    "wide": ListRecipe(features=70),
    "shifted": ListRecipe(shifted=True),
    "int8": ListRecipe(table="int8", shifted=True, features=6),
    "wide int8": ListRecipe(table="int8", features=70),
    "f16": ListRecipe(table="float16"),
    "guarded": ListRecipe(guarded=True),
    "guarded shifted": ListRecipe(guarded=True, shifted=True),
    "pairs": ListRecipe(classes=5),
    "pairs of one": ListRecipe(classes=6, longest=1),
    "pairs guarded": ListRecipe(classes=3, guarded=True),
    "dag": ListRecipe(classes=5, order="dag"),
    "dag of one": ListRecipe(classes=6, order="dag", longest=1),
    "dag of two": ListRecipe(order="dag"),
    "dag int8": ListRecipe(classes=4, order="dag", table="int8"),
    "dag guarded": ListRecipe(classes=4, order="dag", guarded=True, longest=25),
    "dag wide": ListRecipe(classes=4, order="dag", features=70),
}


def list_rows(recipe: ListRecipe, program: Program, count: int, number: str) -> NDArray[Any]:
    """Rows about the centre of the lists."""
    rng = np.random.default_rng(5)
    rows = program.tables["centre"] + rng.normal(size=(count, recipe.features)) * 1.5
    return rows.astype(np.float32 if number == "f32" else np.float64)

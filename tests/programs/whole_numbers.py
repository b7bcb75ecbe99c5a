"""Programs in whole numbers: every kernel, head and tree, made of the random programs of other tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from programs import leaves as leaf_programs
from programs import lists as list_programs
from programs import paths as path_programs
from programs import routes as tree_programs
from targets.c_cases import program_of

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Output, Program
from svmcompile.optimise import optimise

EXACT = (
    "rbf_ovr", "rbf_ties", "rbf_two", "rbf_argmax", "rbf_value", "rbf_scaled", "rbf_clipped", "poly_ovo",
    "poly_value", "quadratic", "sigmoid_ovr", "sigmoid_two", "affine", "affine_two", "linear_ovo",
)  # fmt: skip
LEAVES = ("two classes", "votes", "one against others", "two classes, poly", "votes, sigmoid", "all pure")
PATHS = ("rbf", "large", "three classes", "poly", "sigmoid", "linear")
TREES = {
    "tree_axis": tree_programs.Recipe(),
    "tree_planes": tree_programs.Recipe(axis=False, shifted=True, classes=3),
    "tree_bytes": tree_programs.Recipe(axis=False, table="int8", partial=True, classes=3),
    "tree_guard": tree_programs.Recipe(axis=False, guard=0.5),
    "tree_votes": tree_programs.Recipe(axis=False, classes=3, guard=0.5),
    "tree_reach": tree_programs.Recipe(reach=3.0),
    "tree_products": tree_programs.Recipe(products=True),
}
LISTS = {
    "list_two": list_programs.ListRecipe(),
    "list_guard": list_programs.ListRecipe(classes=3, guarded=True, shifted=True),
    "list_dag": list_programs.ListRecipe(classes=4, order="dag"),
}
PROJECTED = {  # features read, dimensions, whether weights take four bits, how far features are apart
    "bytes": (6, 3, False, 1), "even": (8, 2, True, 1), "odd": (19, 3, True, 1), "one": (1, 1, True, 1),
    "far": (9, 2, True, 40), "too_far": (3, 2, True, 256),
}  # fmt: skip


@cache
def math_programs() -> dict[str, Program]:
    """By the name its C code gets."""
    found = {name: program_of(name) for name in EXACT}
    for name in LEAVES:
        found["leaf_" + _word(name)] = leaf_programs.leaf_program(leaf_programs.RECIPES[name])
    for name in PATHS:
        found["path_" + _word(name)] = path_programs.path_program(path_programs.RECIPES[name])
    found |= {name: tree_programs.tree_program(recipe) for name, recipe in TREES.items()}
    found |= {name: list_programs.list_program(recipe) for name, recipe in LISTS.items()}
    found |= {f"projected_{name}": projected(*sizes) for name, sizes in PROJECTED.items()}
    return {name: optimise(program) for name, program in found.items()}


def projected(read: int, rank: int, nibbles: bool, apart: int) -> Program:
    """Kernel values in a projection of some features, with weights of four bits or of any size."""
    columns = 1 + apart * np.arange(read)
    random = np.random.default_rng(read)
    weights = random.normal(size=(rank, read))
    if nibbles:
        weights = random.integers(-8, 8, (rank, read)) * 0.07
        weights[0, :2] = (-8 * 0.07, 7 * 0.07)[:read]
    tables = {
        "columns": columns, "projection": weights, "start": np.zeros(rank),
        "centre": np.float32(random.normal(size=read)).astype(np.float64),
        "vectors": random.normal(size=(9, rank)), "weights": random.normal(size=(1, 9)),
        "bias": random.normal(size=1),
    }  # fmt: skip
    body = (
        ir.Pick("read", "x", "columns"),
        ir.Affine("sides", "read", "projection", "start", "centre"),
        ir.AsFeatures("place", "sides"),
        ir.KernelSum("sums", "place", "vectors", "weights", "bias", Kernel("rbf", 0.4)),
        ir.Threshold("label", "sums", positive=True, hit=1, miss=0),
    )
    two = program_of("rbf_two")
    details = {"whole_projection": True, "byte_weights": True, "four_bits": nibbles}
    outputs = Output("scores", "sums"), Output("label", "label")
    return two.replace(
        input=replace(two.input, width=int(columns[-1]) + 2), body=body, tables=tables, outputs=outputs,
        probes=random.normal(size=(8, columns[-1] + 2)), origin=replace(two.origin, details=details),
    )  # fmt: skip


def _word(name: str) -> str:
    return name.replace(", ", "_").replace(" ", "_")


@cache
def fixed_programs(precision: str) -> dict[str, Program]:
    """All of them in whole numbers."""
    return {
        name: sc.quantise(program, precision, rows_of(program, 300))
        for name, program in math_programs().items()
    }


def rows_of(program: Program, count: int, seed: int = 0) -> NDArray[Any]:
    """Rows as a float holds them, some far out."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, program.n_features)) * rng.choice([0.3, 1.0, 2.0], size=(count, 1))
    return rows.astype(np.float32).astype(np.float64)

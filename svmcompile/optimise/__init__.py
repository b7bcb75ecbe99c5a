"""optimise: passes over math programs that keep the meaning.

A pass is a function from program to program that returns the same object if
nothing changed. The runner checks the program after each and writes down what
it saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from svmcompile.ir.check import check
from svmcompile.ir.cost import flops, table_bytes
from svmcompile.ir.graph import own_tables
from svmcompile.ir.program import Program, Saving
from svmcompile.optimise.balance import balance_powers
from svmcompile.optimise.centre import centre_kernels
from svmcompile.optimise.columns import fold_columns, place_columns
from svmcompile.optimise.compressed import collapse_compressed
from svmcompile.optimise.fold import collapse_linear, collapse_quadratic, fold_maps, fold_scales
from svmcompile.optimise.merge import merge_vectors

Pass = Callable[[Program], Program]
Watcher = Callable[[str, Program], None]

# What one of these folds, another may be able to fold further.
FOLDS: tuple[Pass, ...] = (collapse_linear, fold_columns, fold_scales, fold_maps)
# All but the first rely on it: they replace tables in place.
PASSES: tuple[Pass, ...] = (
    own_tables, *FOLDS, *FOLDS, collapse_compressed, merge_vectors, collapse_quadratic, balance_powers,
    centre_kernels, place_columns,
)  # fmt: skip


def optimise(program: Program, watch: Watcher | None = None) -> Program:
    """The program after all passes; `watch` is called with each pass's name and result."""
    for a_pass in PASSES:
        before, program = program, a_pass(program)
        if program is not before:
            costs = ((cost(before), cost(program)) for cost in (flops, table_bytes))
            saving = Saving(a_pass.__name__, *costs)
            origin = replace(program.origin, savings=(*program.origin.savings, saving))
            program = check(program.replace(origin=origin))
        if watch:
            watch(a_pass.__name__, program)
    return program

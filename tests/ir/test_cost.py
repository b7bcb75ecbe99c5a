"""Costs, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.strategies import machine_programs, origin, programs

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.cost import cost, flops, table_bytes
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import kernel_sum_flops
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.lower import lower
from svmcompile.optimise import optimise


def pair_program(n: int = 6, d: int = 5) -> Program:
    tables = {"v": np.arange(1.0, n * d + 1).reshape(n, d), "w": np.ones((2, n)), "b": np.zeros(3)}
    body = (
        ir.PairSum("k", "x", "v", "w", "b", (n - 3, 2, 1), Kernel("sigmoid")),
        ir.OvrScores("scores", "k", 3),
        ir.Vote("label", "k", 3),
    )
    outputs = (Output("scores", "scores"), Output("label", "label"))
    return check(Program(Input(d), body, outputs, tables, Labels((0, 1, 2), "<i8"), origin()))


def test_by_hand() -> None:
    """6 vectors of 5 features: 6 (10 + 18 + 4) for the kernel, 6 + 12 for either head."""
    got = cost(pair_program())
    assert got.max_kernel_evaluations == got.mean_kernel_evaluations == 6
    assert got.mean_flops == 6 * 32 + 2 * 18
    assert got.table_bytes == 8 * (30 + 12 + 3)
    assert got.scratch_bytes == 8 * (3 + 3 + 3)


def test_float32_halves_the_memory() -> None:
    single, double = (lower(optimise(pair_program()), number) for number in ("f32", "f64"))
    assert table_bytes(double) == 2 * table_bytes(single)
    assert cost(double).scratch_bytes == 2 * cost(single).scratch_bytes
    assert flops(double) == flops(single) == flops(pair_program())


@pytest.mark.parametrize(
    ("kernel", "per_value"),
    [
        (Kernel("linear"), 1),
        (Kernel("rbf"), 14),
        (Kernel("sigmoid"), 18),
        (Kernel("poly", degree=0), 1),
        (Kernel("poly", degree=3), 5),
    ],
)
def test_kernels(kernel: Kernel, per_value: int) -> None:
    assert kernel_sum_flops(kernel, 7, 3, 2) == 7 * (6 + per_value + 4)


@settings(max_examples=60, deadline=None)
@given(st.one_of(programs(), machine_programs()))
def test_costs_add_up(program: Program) -> None:
    got = program.cost(program.probes)
    sums = [node for node in program.body if isinstance(node, (ir.KernelSum, ir.PairSum, ir.PackedSum))]
    assert got.max_kernel_evaluations == sum(len(program.tables[node.vectors]) for node in sums)
    assert got.mean_flops == flops(program)
    assert got.table_bytes == sum(table.nbytes for table in program.tables.values())
    assert set(got.as_dict()) == {
        "mean_kernel_evaluations", "max_kernel_evaluations", "mean_flops", "exact_flops",
        "table_bytes", "scratch_bytes",
    }  # fmt: skip

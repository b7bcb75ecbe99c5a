"""cost: work per row and memory, counted from the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any

from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import Types, infer_types
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program
from svmcompile.kernel import Kernel

Tables = Mapping[str, NDArray[Any]]

# Flops of one kernel value beside its dot product: a polynomial of degree 5 and
# the scaling for exp2, the same and a division for tanh.
SHAPE_FLOPS = {"exp2": 14, "tanh": 18, "identity": 1}


@dataclass(frozen=True, slots=True)
class Work:
    """What one row costs in one node."""

    kernel_evaluations: int
    flops: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program costs, as the report shows it."""

    mean_kernel_evaluations: float
    max_kernel_evaluations: int
    mean_flops: float
    exact_flops: int
    table_bytes: int
    scratch_bytes: int

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def cost(program: Program, rows: Any = None) -> Cost:
    """The cost per row. No node so far depends on the row, so `rows` changes nothing yet."""
    types = infer_types(program)
    works = [work(node, types, program.tables) for node in program.body]
    evaluations = sum(w.kernel_evaluations for w in works)
    size = 4 if program.number == "f32" else 8
    return Cost(
        mean_kernel_evaluations=float(evaluations),
        max_kernel_evaluations=evaluations,
        mean_flops=float(sum(w.flops for w in works)),
        exact_flops=program.origin.exact_flops,
        table_bytes=table_bytes(program),
        scratch_bytes=size * sum(types[node.out].width for node in program.body),
    )


def flops(program: Program) -> int:
    """Flops per row."""
    types = infer_types(program)
    return sum(work(node, types, program.tables).flops for node in program.body)


def table_bytes(program: Program) -> int:
    """Bytes of all tables."""
    return sum(int(table.nbytes) for table in program.tables.values())


def kernel_sum_flops(kernel: Kernel, n: int, d: int, weights_per_vector: int) -> int:
    """Flops of n kernel values in d dimensions, each entering some sums."""
    shape = {"rbf": "exp2", "sigmoid": "tanh", "linear": "identity", "poly": "power"}[kernel.kind]
    return n * (2 * d + _shape_flops(shape, kernel.degree) + 2 * weights_per_vector)


def _shape_flops(shape: str, degree: int) -> int:
    return 1 + 2 * degree.bit_length() if shape == "power" else SHAPE_FLOPS[shape]


@singledispatch
def work(node: Node, types: Types, tables: Tables) -> Work:
    """Kernel evaluations and flops of one node for one row."""
    raise TypeError(f"no cost for {type(node).__name__}")


@work.register(ir.Scale)
@work.register(ir.Clip)
@work.register(ir.Prepare)
def _(node: ir.Scale | ir.Clip | ir.Prepare, types: Types, tables: Tables) -> Work:
    return Work(0, 2 * types[node.out].width)


@work.register(ir.KernelSum)
@work.register(ir.PairSum)
def _(node: ir.KernelSum | ir.PairSum, types: Types, tables: Tables) -> Work:
    n, d = tables[node.vectors].shape
    return Work(n, kernel_sum_flops(node.kernel, n, d, tables[node.weights].shape[0]))


@work.register
def _(node: ir.PackedSum, types: Types, tables: Tables) -> Work:
    n, d = tables[node.vectors].shape
    per_vector = _shape_flops(node.shape, node.degree) + 2 * tables[node.weights].shape[1]
    return Work(n, n * (2 * d + per_vector))


@work.register
def _(node: ir.TiledSum, types: Types, tables: Tables) -> Work:
    n, columns = sum(node.counts), len(node.counts) - 1 or types[node.out].width
    per_vector = _shape_flops(node.shape, node.degree) + 2 * columns
    return Work(n, n * (2 * types[node.x].width + per_vector))


@work.register
def _(node: ir.SparseSum, types: Types, tables: Tables) -> Work:
    """For a row that has every feature; one with fewer skips the entries of the others."""
    n, columns = sum(node.counts), len(node.counts) - 1 or types[node.out].width
    per_vector = _shape_flops(node.shape, node.degree) + 2 * columns
    return Work(n, 2 * int(tables[node.values].size) + n * per_vector)


@work.register
def _(node: ir.Affine, types: Types, tables: Tables) -> Work:
    m, d = tables[node.weights].shape
    return Work(0, d + 2 * m * d)


@work.register
def _(node: ir.Quadratic, types: Types, tables: Tables) -> Work:
    m, d = tables[node.weights].shape
    return Work(0, d + m * (d * (d + 1) + 3 * d))


@work.register(ir.OvrScores)
@work.register(ir.Vote)
def _(node: ir.OvrScores | ir.Vote, types: Types, tables: Tables) -> Work:
    return Work(0, 2 * types[node.pairs].width + 4 * node.n_classes)


@work.register(ir.ArgMax)
@work.register(ir.Threshold)
def _(node: ir.ArgMax | ir.Threshold, types: Types, tables: Tables) -> Work:
    return Work(0, types[node.out].width)

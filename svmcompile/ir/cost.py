"""cost: work per row and memory, counted from the nodes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows
from svmcompile.ir import chances_cost  # noqa: F401  register their nodes
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounded_cost import Spent, most_spent, spent
from svmcompile.ir.check import infer_types
from svmcompile.ir.interpret import CHUNK_VALUES, interpret_values, margins, path_of
from svmcompile.ir.jets_cost import needs_exact
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.leaf_layout import unique_vectors
from svmcompile.ir.list_walk import most_tests, walk_lists
from svmcompile.ir.nodes import Kind, Node, Type, lazy_operands, operands
from svmcompile.ir.paths import path_evaluations
from svmcompile.ir.picked_taylor import seen_by, unpicked
from svmcompile.ir.program import Program
from svmcompile.ir.rules import Types, result_type
from svmcompile.ir.taylor_meaning import taylor_orders
from svmcompile.ir.taylor_rules import taylor_flops
from svmcompile.ir.taylor_vote_rules import most_vote_work, vote_work
from svmcompile.ir.tiled_taylor import around, untiled
from svmcompile.ir.trees import leaf_depths
from svmcompile.ir.unstaged import unstaged
from svmcompile.ir.work import KERNEL_SHAPES, SHAPE_FLOPS, Tables, Values, Work, work

ADAPTIVE = (
    ir.AxisRoute, ir.PlaneRoute, ir.LeafAffine, ir.PathSum, ir.PackedPath, ir.LeafSums, ir.PackedLeaves,
    ir.PlaneLists, ir.TiledLists, ir.Guard, ir.BoundedSum, ir.BoundedVote, ir.StagedSum, ir.StagedVote,
    ir.TaylorSum, ir.TaylorVote, ir.TiledTaylor, ir.PickedTaylor, ir.JetSum,
    ir.FixedLeaves, ir.FixedPath, ir.FixedLeafSums,
)  # fmt: skip
WHOLE_BYTES = {"u8": 1, "i8": 1, "i16": 2, "i32": 4}


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
    """The cost per row: on average over `rows`, at most where none are given."""
    types = infer_types(program)
    most = _total(program, types, None)
    mean = most if rows is None else _total(program, types, _values(program, rows))
    held = [types[node.out] for node in program.body if types[node.out].kind is not Kind.INDEX]
    narrow = 8 if program.number in (None, "f64") else 4
    return Cost(
        mean_kernel_evaluations=float(mean.kernel_evaluations),
        max_kernel_evaluations=int(most.kernel_evaluations),
        mean_flops=float(mean.flops),
        exact_flops=program.origin.exact_flops,
        table_bytes=table_bytes(program),
        scratch_bytes=sum(
            (WHOLE_BYTES.get(kind.whole) or (8 if kind.wide else narrow)) * kind.width for kind in held
        ),
    )


def flops(program: Program) -> int:
    """Flops per row, at most."""
    return int(_total(program, infer_types(program), None).flops)


def _values(program: Program, rows: Any) -> Values:
    """The values the cost of a row can depend on, for all rows."""
    wanted = {name for node in program.body if is_adaptive(node) for name in (node.out, *operands(node))}
    if not wanted:
        return {}
    return interpret_values(program, as_rows(rows, program.n_features, program.input.feature_names), wanted)


def is_adaptive(node: Node) -> bool:
    """Does the cost of a node, or of what it reads, depend on the row?"""
    return isinstance(node, ADAPTIVE)


def _total(program: Program, types: Types, values: Values | None) -> Work:
    """The work of all nodes, each counted for the rows that need it."""
    every = np.ones(len(next(iter(values.values()))) if values else 1, dtype=bool)
    rows = dict.fromkeys((output.value for output in program.outputs), every)
    total = Work(0, 0)
    for node in reversed(program.body):
        own = rows.get(node.out, ~every)
        if not own.any():
            continue
        seen = {name: value[own] for name, value in values.items()} if values else values
        total = total + float(own.mean()) * work(node, types, program.tables, seen)
        for name in operands(node):
            needed = own.copy()
            if seen and name in lazy_operands(node):
                needed[own] = _needs_lazy(node, seen, program.tables)
            rows[name] = rows.get(name, ~every) | needed
    return total


def _needs_lazy(node: Node, values: Values, tables: Tables) -> NDArray[np.bool_]:
    """The rows for which a node needs its lazy operand."""
    if isinstance(node, (ir.StagedSum, ir.StagedVote)):
        math, made = unstaged(node, tables)
        return _needs_lazy(math, values, made)
    if isinstance(node, (ir.BoundedSum, ir.BoundedVote)):
        return _spent(node, values, tables).unsure
    if isinstance(node, ir.TiledTaylor):
        found, seen = around(node, values, tables)
        return _needs_lazy(found.taylor, seen, found.tables)
    if isinstance(node, ir.PickedTaylor):
        one, given = seen_by(node, values, tables)
        return _needs_lazy(one.taylor, given, one.tables)
    if isinstance(node, ir.TaylorSum):
        return np.asarray(_settled_last(node, values, tables)[0] == len(tables[node.margins]))
    if isinstance(node, ir.JetSum):
        return needs_exact(node, values, tables)
    if isinstance(node, ir.TaylorVote):
        return vote_work(node, values[node.x], tables).unsure
    assert isinstance(node, ir.Guard), "no other node has a lazy operand"
    return np.asarray(~(margins(values[node.score], node.rule) >= node.width))


def table_bytes(program: Program) -> int:
    """Bytes of all tables."""
    return sum(int(table.nbytes) for table in program.tables.values())


def kernel_sum_flops(kernel: Kernel, n: int, d: int, weights_per_vector: int) -> int:
    """Flops of n kernel values in d dimensions, each entering some sums."""
    if kernel.kind == "precomputed":  # what the caller's own kernel costs is not known
        return n * 2 * weights_per_vector
    return n * (2 * d + _shape_flops(KERNEL_SHAPES[kernel.kind], kernel.degree) + 2 * weights_per_vector)


def _shape_flops(shape: str, degree: int) -> int:
    return 1 + 2 * degree.bit_length() if shape == "power" else SHAPE_FLOPS[shape]


@work.register(ir.Scale)
@work.register(ir.Clip)
@work.register(ir.Prepare)
def _(node: ir.Scale | ir.Clip | ir.Prepare, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 2 * types[node.out].width)


@work.register(ir.AsFeatures)
@work.register(ir.Pick)
@work.register(ir.Join)
@work.register(ir.Fill)
@work.register(ir.Missing)
@work.register(ir.Cosine)
@work.register(ir.Normalize)
@work.register(ir.Powers)
def _(node: Node, types: Types, tables: Tables, values: Values | None) -> Work:
    """Moving numbers is no work."""
    width = types[node.out].width
    if isinstance(node, ir.Powers):
        return Work(0, width * (tables[node.factors].shape[1] - 1))
    per_feature = {ir.Fill: 1, ir.Missing: 1, ir.Normalize: 3, ir.Cosine: SHAPE_FLOPS["exp2"]}
    return Work(0, width * per_feature.get(type(node), 0))


@work.register(ir.KernelSum)
@work.register(ir.PairSum)
def _(node: ir.KernelSum | ir.PairSum, types: Types, tables: Tables, values: Values | None) -> Work:
    n, d = tables[node.vectors].shape
    return Work(n, kernel_sum_flops(node.kernel, n, d, tables[node.weights].shape[0]))


@work.register
def _(node: ir.PackedSum, types: Types, tables: Tables, values: Values | None) -> Work:
    n, d = tables[node.vectors].shape
    per_vector = _shape_flops(node.shape, node.degree) + 2 * tables[node.weights].shape[1]
    return Work(n, n * (2 * d + per_vector))


@work.register
def _(node: ir.TiledSum, types: Types, tables: Tables, values: Values | None) -> Work:
    n, columns = sum(node.counts), len(node.counts) - 1 or types[node.out].width
    per_vector = _shape_flops(node.shape, node.degree) + 2 * columns
    return Work(n, n * (2 * types[node.x].width + per_vector))


@work.register
def _(node: ir.SparseSum, types: Types, tables: Tables, values: Values | None) -> Work:
    """For a row that has every feature; one with fewer skips the entries of the others."""
    n, columns = sum(node.counts), len(node.counts) - 1 or types[node.out].width
    per_vector = _shape_flops(node.shape, node.degree) + 2 * columns
    return Work(n, 2 * int(tables[node.values].size) + n * per_vector)


@work.register
def _(node: ir.Affine, types: Types, tables: Tables, values: Values | None) -> Work:
    m, d = tables[node.weights].shape
    return Work(0, d + 2 * m * d)


@work.register
def _(node: ir.Quadratic, types: Types, tables: Tables, values: Values | None) -> Work:
    m, d = tables[node.weights].shape
    return Work(0, d + m * (d * (d + 1) + 3 * d))


def _mean_or_most(per_leaf: NDArray[Any], leaf: str, values: Values | None) -> float:
    return float(per_leaf.max() if values is None else per_leaf[values[leaf]].mean())


@work.register(ir.AxisRoute)
@work.register(ir.PlaneRoute)
def _(node: ir.AxisRoute | ir.PlaneRoute, types: Types, tables: Tables, values: Values | None) -> Work:
    tests = _mean_or_most(leaf_depths(tables[node.children]), node.out, values)
    d = types[node.x].width
    return Work(0, tests if isinstance(node, ir.AxisRoute) else d + tests * (2 * d + 1))


@work.register(ir.PlaneLists)
@work.register(ir.TiledLists)
def _(node: ir.PlaneLists | ir.TiledLists, types: Types, tables: Tables, values: Values | None) -> Work:
    d = types[node.x].width
    tests = float(most_tests(node, tables) if values is None else _mean_tests(node, values[node.x], tables))
    return Work(0, d + tests * (2 * d + 1))


def _mean_tests(node: ir.PlaneLists | ir.TiledLists, x: NDArray[Any], tables: Tables) -> float:
    step = max(1, CHUNK_VALUES // len(tables[node.answers]))
    blocks = [x[at : at + step] - tables[node.centre] for at in range(0, len(x), step)]
    return float(np.concatenate([walk_lists(node, block, tables).tests for block in blocks]).mean())


@work.register
def _(node: ir.LeafAffine, types: Types, tables: Tables, values: Values | None) -> Work:
    functions = _mean_or_most(np.diff(tables[node.starts]), node.leaf, values)
    d = types[node.x].width
    return Work(0, d + functions * (2 * d + 2))


@work.register(ir.LeafSums)
@work.register(ir.PackedLeaves)
def _(node: ir.LeafSums | ir.PackedLeaves, types: Types, tables: Tables, values: Values | None) -> Work:
    vectors, columns = unique_vectors(node, tables)
    shape, degree = _shape_of(node)
    per_vector = 2 * types[node.x].width + _shape_flops(shape, degree) + 2 * columns
    met, flops_met = (_mean_or_most(n, node.leaf, values) for n in (vectors, vectors * per_vector))
    return Work(met, flops_met + types[node.out].width)


@work.register(ir.PathSum)
@work.register(ir.PackedPath)
def _(node: ir.PathSum | ir.PackedPath, types: Types, tables: Tables, values: Values | None) -> Work:
    evaluations = path_evaluations(tables[node.picks], tables[node.children])
    tests = leaf_depths(tables[node.children])
    if values is None:
        met, levels = float(evaluations.max()), float(tests.max())
    else:
        leaf = _path_leaves(node, values[node.x], tables)
        met, levels = float(evaluations[leaf].mean()), float(tests[leaf].mean())
    shape, degree = _shape_of(node)
    per_value = 2 * types[node.x].width + _shape_flops(shape, degree)
    return Work(met, met * per_value + levels * (1 + 2 * types[node.out].width))


def _shape_of(node: ir.PathSum | ir.PackedPath | ir.LeafSums | ir.PackedLeaves) -> tuple[str, int]:
    if isinstance(node, (ir.PathSum, ir.LeafSums)):
        return KERNEL_SHAPES[node.kernel.kind], node.kernel.degree
    return node.shape, node.degree


def _path_leaves(node: ir.PathSum | ir.PackedPath, x: NDArray[Any], tables: Tables) -> NDArray[np.intp]:
    step = max(1, CHUNK_VALUES // len(tables[node.vectors]))
    starts = range(0, len(x), step) or range(1)
    return np.concatenate([path_of(node, x[at : at + step], tables).leaf for at in starts])


@work.register(ir.BoundedSum)
@work.register(ir.BoundedVote)
def _(node: ir.BoundedSum | ir.BoundedVote, types: Types, tables: Tables, values: Values | None) -> Work:
    if values is None:
        met, others = map(float, most_spent(node, tables))
    else:
        found = _spent(node, values, tables)
        met, others = float(found.values.mean()), float(found.flops.mean())
    kernel = node.kernel
    per_value = 2 * types[node.x].width + _shape_flops(KERNEL_SHAPES[kernel.kind], kernel.degree)
    return Work(met, met * per_value + others)


@work.register(ir.StagedSum)
@work.register(ir.StagedVote)
def _(node: ir.StagedSum | ir.StagedVote, types: Types, tables: Tables, values: Values | None) -> Work:
    math, made = unstaged(node, tables)
    return work(math, types, made, values)


def _spent(node: ir.BoundedSum | ir.BoundedVote, values: Values, tables: Tables) -> Spent:
    return spent(node, {name: values[name] for name in operands(node) if name in values}, tables)


@work.register
def _(node: ir.TaylorSum, types: Types, tables: Tables, values: Values | None) -> Work:
    upto = taylor_flops(node, types, tables)
    if values is None:
        return Work(0, float(upto[-1]))
    return Work(0, float(upto[_settled_last(node, values, tables)[1]].mean()))


@work.register
def _(node: ir.TiledTaylor, types: Types, tables: Tables, values: Values | None) -> Work:
    d = types[node.x].width
    if values is None:
        found, seen, known = untiled(node, tables, d), None, types
    else:
        found, seen = around(node, values, tables)
    known = {**types, found.scale.out: types[node.x]}
    known[found.route.out] = result_type(found.route, known, found.tables)
    parts = (found.scale, found.route, found.taylor)
    return sum((work(part, known, found.tables, seen) for part in parts), Work(0, 0))


@work.register
def _(node: ir.PickedTaylor, types: Types, tables: Tables, values: Values | None) -> Work:
    found, seen = (unpicked(node, tables), None) if values is None else seen_by(node, values, tables)
    return work(found.taylor, {**types, found.leaf.out: Type(Kind.INDEX, 1)}, found.tables, seen)


def _settled_last(node: ir.TaylorSum, values: Values, tables: Tables) -> NDArray[np.intp]:
    """The order that settles each row and the last that it comes to, [2, rows]."""
    x, leaf = values[node.x], values[node.leaf]
    step = max(1, CHUNK_VALUES // (x.shape[1] * (x.shape[1] + 1)))
    starts = range(0, len(x), step) or range(1)
    parts = [taylor_orders(node, x[at : at + step], leaf[at : at + step], tables) for at in starts]
    return np.stack(
        [np.concatenate([getattr(part, name) for part in parts]) for name in ("settled", "last")]
    )


@work.register
def _(node: ir.TaylorVote, types: Types, tables: Tables, values: Values | None) -> Work:
    per_value = 2 * types[node.x].width + _shape_flops(KERNEL_SHAPES[node.kernel.kind], node.kernel.degree)
    if values is None:
        met, others = most_vote_work(node, tables)
    else:
        found = vote_work(node, values[node.x], tables)
        met, others = float(found.values.mean()), float(found.flops.mean())
    return Work(met, met * per_value + others)


@work.register(ir.OneLeaf)
@work.register(ir.Widen)
def _(node: ir.OneLeaf | ir.Widen, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 0)


@work.register
def _(node: ir.Products, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, types[node.out].width)


@work.register
def _(node: ir.Add, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, types[node.out].width)


@work.register
def _(node: ir.Reach, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 3 * types[node.x].width + 1)


@work.register
def _(node: ir.Guard, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 2 * types[node.score].width)


@work.register(ir.OvrScores)
@work.register(ir.Vote)
def _(node: ir.OvrScores | ir.Vote, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 2 * types[node.pairs].width + 4 * node.n_classes)


@work.register(ir.ArgMax)
@work.register(ir.Threshold)
def _(node: ir.ArgMax | ir.Threshold, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, types[node.out].width)

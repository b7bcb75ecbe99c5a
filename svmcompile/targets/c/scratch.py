"""How much stack the generated C needs for its arrays: the largest of its public functions."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import node_number, value_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.layout import filled_up, vectors_and_lanes
from svmcompile.ir.leaf_layout import sums_of
from svmcompile.ir.node import At
from svmcompile.ir.nodes import Kind, Node, lazy_operands
from svmcompile.ir.pairs import classes_of
from svmcompile.ir.program import Program
from svmcompile.ir.walks import leaf_depths
from svmcompile.ir.whole_numbers import needs_int64, whole
from svmcompile.targets.c.api import needed
from svmcompile.targets.c.instruction_sets import INSTRUCTION_SETS
from svmcompile.targets.c.nodes.bounded import MOST_VECTORS, is_staged_host
from svmcompile.targets.c.nodes.leaves import batch_scratch
from svmcompile.targets.c.nodes.leaves import scratch as scratch_of_leaves
from svmcompile.targets.c.nodes.sparse import PICKS, is_host
from svmcompile.targets.c.nodes.sums import chunk_rows, skips_zeros, takes_sparse
from svmcompile.targets.c.nodes.taylor_host import taylor_chunk, taylor_rows, taylor_tile
from svmcompile.targets.c.nodes.votes import vote_scratch

DOUBLE, INT, SIZE = 8, 4, 8
BLOCK_BYTES = 64
BYTES: dict[Number, int] = {"f32": 4, "f64": 8, "u8": 1, "i8": 1, "i16": 2, "i32": 4}
ARRAYS = (Kind.FEATURES, Kind.SCORES, Kind.PROBABILITIES)


def scratch_bytes(program: Program) -> int:
    """Bytes of the arrays on the stack at the deepest point; registers and addresses come on top."""
    types = infer_types(program)
    found = max(_deepest(program, types, output.value) for output in program.outputs)
    tiled = [node for node in program.body if isinstance(node, ir.TiledSum)]
    if len(tiled) == 1 and chunk_rows(tiled[0], program, program.number or "f64"):
        found = max(found, _batch(tiled[0], program, types))
    for node in program.body:
        if isinstance(node, ir.PackedLeaves):
            found = max(found, batch_scratch(node, program, types))
        if isinstance(node, ir.TiledTaylor) and taylor_chunk(node, program):
            d = types[node.x].width
            tile, exact = taylor_tile(node, program, d), _deepest(program, types, node.exact)
            below = max(own_arrays(node, program, types), tile, exact)
            found = max(found, taylor_rows(node, program, d) + below)
    return found


def _deepest(program: Program, types: Types, goal: str) -> int:
    """Bytes at the deepest point of the function that computes a value from a row."""
    nodes = needed(program, goal, {program.input.name})
    held = [
        types[node.out].width * BYTES[value_number(node.out, program, types)]
        for node in nodes
        if types[node.out].kind in ARRAYS
    ]
    below = [own_arrays(node, program, types) for node in nodes]
    below += [
        own_arrays(node, program, types) + _deepest(program, types, value)
        for node in nodes
        for value in lazy_operands(node)
    ]
    return sum(held) + max(below, default=0)


def _size(node: Node, program: Program, types: Types) -> int:
    """Bytes of a number in a node's own function."""
    return BYTES[node_number(node, program, types)]


@singledispatch
def own_arrays(node: Node, program: Program, types: Types) -> int:
    """Bytes of the arrays inside a node's own function."""
    return 0


@own_arrays.register
def _(node: ir.PackedSum, program: Program, types: Types) -> int:
    columns = int(program.tables[node.weights].shape[1])
    return DOUBLE * types[node.out].width + _size(node, program, types) * columns


@own_arrays.register
def _(node: ir.FixedSum, program: Program, types: Types) -> int:
    return (8 if needs_int64(At(node, program.tables, types)) else 4) * types[node.out].width


@own_arrays.register
def _(node: ir.FixedPath, program: Program, types: Types) -> int:
    return INT * int(leaf_depths(program.tables[node.children]).max())


@own_arrays.register
def _(node: ir.FixedLeafSums, program: Program, types: Types) -> int:
    classes = np.diff(whole(program.tables[node.firsts]))
    return 8 * max(1, int(sums_of(node.rule, classes).max()))


@own_arrays.register
def _(node: ir.PackedPath, program: Program, types: Types) -> int:
    levels = int(leaf_depths(program.tables[node.children]).max())
    return DOUBLE * types[node.out].width + _size(node, program, types) * levels


@own_arrays.register
def _(node: ir.PackedLeaves, program: Program, types: Types) -> int:
    return scratch_of_leaves(node, program)


@own_arrays.register(ir.PlaneRoute)
@own_arrays.register(ir.LeafAffine)
@own_arrays.register(ir.PlaneLists)
@own_arrays.register(ir.TiledLists)
def _(
    node: ir.PlaneRoute | ir.LeafAffine | ir.PlaneLists | ir.TiledLists, program: Program, types: Types
) -> int:
    lanes = int(program.tables[node.planes].shape[2]) if isinstance(node, ir.TiledLists) else 0
    centred = program.tables[node.centre].any()
    return _size(node, program, types) * (lanes + (types[node.x].width if centred else 0))


@own_arrays.register
def _(node: ir.TaylorSum, program: Program, types: Types) -> int:
    return _size(node, program, types) * types[node.x].width + (
        DOUBLE if types[node.exact].wide else _size(node, program, types)
    )


@own_arrays.register
def _(node: ir.JetSum, program: Program, types: Types) -> int:
    return _size(node, program, types) * types[node.x].width + 2 * DOUBLE


@own_arrays.register
def _(node: ir.TaylorVote, program: Program, types: Types) -> int:
    return vote_scratch(node, program, _size(node, program, types))


@own_arrays.register
def _(node: ir.TiledTaylor, program: Program, types: Types) -> int:
    size, full = _size(node, program, types), len(program.tables[node.shift])
    rows = 2 * full + (filled_up(node.rank, max(node.lanes, 4)) if node.rank else 0)
    return size * rows + (DOUBLE if types[node.exact].wide else size)


@own_arrays.register
def _(node: ir.PickedTaylor, program: Program, types: Types) -> int:
    size, room = _size(node, program, types), 16 if node.lanes > 1 else 0
    picks = (INT + size) * (types[node.x].width + room)
    held = int(program.tables[node.columns].shape[1]) + filled_up(node.rank, node.lanes)
    return picks + size * held + (DOUBLE if types[node.exact].wide else size)


@own_arrays.register
def _(node: ir.Guard, program: Program, types: Types) -> int:
    return INT * classes_of(types[node.score].width) if node.rule == "vote" else 0


@own_arrays.register(ir.Affine)
@own_arrays.register(ir.Quadratic)
def _(node: ir.Affine | ir.Quadratic, program: Program, types: Types) -> int:
    return _size(node, program, types) * types[node.x].width


@own_arrays.register
def _(node: ir.OvrScores, program: Program, types: Types) -> int:
    return _size(node, program, types) * node.n_classes


@own_arrays.register
def _(node: ir.Couple, program: Program, types: Types) -> int:
    return DOUBLE * node.n_classes * (node.n_classes + 2)


@own_arrays.register
def _(node: ir.Vote, program: Program, types: Types) -> int:
    return INT * node.n_classes


@own_arrays.register
def _(node: ir.TiledSum, program: Program, types: Types) -> int:
    dots = max(isa.row_blocks for isa in INSTRUCTION_SETS) * BLOCK_BYTES
    return (
        DOUBLE * types[node.out].width
        + dots
        + _gathered(node, program, types)
        + _picks(node, program, types)
    )


@own_arrays.register
def _(node: ir.SparseSum, program: Program, types: Types) -> int:
    vectors, _ = vectors_and_lanes(program.tables[node.weights])
    size, columns = _size(node, program, types), int(program.tables[node.weights].shape[1])
    gathered = _gathered(node, program, types) if is_host(node, program) else size * columns
    found = DOUBLE * types[node.out].width + PICKS * (INT + size) + gathered
    return found + size * min(node.segment, vectors)


@own_arrays.register
def _(node: ir.StagedSum, program: Program, types: Types) -> int:
    size, kept = _size(node, program, types), int(program.tables[node.ends][-1])
    if not is_staged_host(node, program):
        return size * kept
    found = 2 * size + 2 * DOUBLE  # score, whether it is sure, and sums of all vectors
    return size * kept + found + MOST_VECTORS * max(isa.bytes for isa in INSTRUCTION_SETS)


@own_arrays.register
def _(node: ir.StagedVote, program: Program, types: Types) -> int:
    size, tables, classes = _size(node, program, types), program.tables, len(node.counts)
    most = int(np.diff(tables[node.starts].astype(np.int64)).max())
    vectors = int(tables[node.weights].shape[1])
    state = (INT + 1) * classes + len(tables[node.bias]) + size * (vectors + most)
    return state + (classes + INT if is_staged_host(node, program) else vectors)


def _gathered(node: ir.TiledSum | ir.SparseSum, program: Program, types: Types) -> int:
    """Bytes of one row's sums, and of those in double that they go to."""
    weights = program.tables[node.weights]
    lanes = BLOCK_BYTES // _size(node, program, types) if weights.ndim == 3 else 1
    return int(weights.shape[1]) * lanes * (_size(node, program, types) + DOUBLE)


def _picks(node: ir.TiledSum, program: Program, types: Types) -> int:
    """Bytes of one row's non-zero features, where they are looked for."""
    width = program.tables[node.vectors].shape[1]
    return int(width) * (INT + _size(node, program, types)) if skips_zeros(node, program) else 0


def _batch(node: ir.TiledSum, program: Program, types: Types) -> int:
    """Bytes of a chunk of rows on its way through a tiled sum."""
    size, width, sums = _size(node, program, types), types[node.x].width, types[node.out].width
    rows = chunk_rows(node, program, program.number or "f64")
    tile = max(isa.queries * isa.tile_blocks for isa in INSTRUCTION_SETS) * BLOCK_BYTES
    packed = max(size * width, _picks(node, program, types))
    per_row = packed + size + _gathered(node, program, types) + (DOUBLE + size) * sums
    return rows * per_row + (rows * SIZE if takes_sparse(node, program) else 0) + size * width + tile

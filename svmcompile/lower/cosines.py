"""Random Fourier features for processors with vector instructions: sums of cosines, as of kernel values.

An affine function of cosines of affine functions (`RBFSampler` before a linear machine) needs no features
of its own: cos(2 pi (x . v_i + o_i)) is a kernel value, and vectors go in blocks as those of a machine.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables, fresh, maker
from svmcompile.ir.program import Program
from svmcompile.lower.sums import LANES as IN_BLOCK
from svmcompile.lower.sums import LARGEST, Lowered, block_order, block_weights, in_lanes, picked


def cosine_sum(program: Program, node: ir.Node, number: Number) -> Lowered | None:
    """The nodes of an affine function that reads cosines, None where it reads anything else."""
    cosine = maker(program, node.x) if isinstance(node, ir.Affine) else None
    turns = maker(program, cosine.x) if isinstance(cosine, ir.Cosine) else None
    inner = maker(program, turns.scores) if isinstance(turns, ir.AsFeatures) else None
    if not (isinstance(node, ir.Affine) and isinstance(cosine, ir.Cosine) and isinstance(inner, ir.Affine)):
        return None
    t, values = program.tables, [program.input.name, *(item.out for item in program.body)]
    z = fresh(node.out, "z", values)
    names = ("shift", "factor", "vectors", "offsets", "weights", "bias")
    shift, factor, vectors, offsets, weights, bias = (fresh(node.out, end, t) for end in names)
    inside = np.asarray(t[inner.centre], dtype=np.float64)
    tables: Tables = {
        vectors: t[inner.weights],
        offsets: t[inner.bias],
        weights: (t[node.weights] * cosine.factor).T,
        bias: t[node.bias] - t[node.weights] @ t[node.centre],
    }
    packed = ir.PackedSum(node.out, z, vectors, offsets, weights, bias, (), "cosine", 1)
    order, by_lane = block_order(packed, tables, IN_BLOCK[number])
    made = block_weights(packed, tables, order, IN_BLOCK[number], by_lane)
    made |= {
        shift: inside,
        factor: np.ones_like(inside),
        vectors: in_lanes(picked(tables[vectors], order), IN_BLOCK[number]),
    }
    counts = (len(tables[vectors]),)
    return [
        ir.Prepare(z, inner.x, shift, factor, LARGEST[number]),
        ir.TiledSum(node.out, z, vectors, offsets, weights, bias, counts, "cosine", 1),
    ], made

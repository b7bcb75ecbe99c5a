"""What a sum in blocks with jets costs, and how many rows need the exact one; a case of `work`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.jets_meaning import Blocks, jet_blocks
from svmcompile.ir.kernel import Array
from svmcompile.ir.rules import Types
from svmcompile.ir.work import SHAPE_FLOPS, Tables, Values, Work, work

CHECK_FLOPS = 8  # a jet's test: exponential times polynomial, bound, comparison


def met_and_tried(found: Blocks, ends: Array) -> tuple[Array, Array]:
    """Kernel values that each row meets, and jets it tries."""
    last = len(ends)
    met = np.where(found.finite, np.append(ends, ends[-1:])[np.minimum(found.stop, last)], 0)
    upto = np.arange(last) <= np.minimum(found.stop, last)[:, None]
    return met, (found.tried & upto)[:, : last - 1].sum(axis=1)


def jet_flops(d: int) -> tuple[int, int]:
    """Of what all jets of a row share, and of one."""
    return 3 * d + 22, 2 * d + d * (d + 3) + CHECK_FLOPS


@work.register
def _(node: ir.JetSum, types: Types, tables: Tables, values: Values | None) -> Work:
    d, n = types[node.x].width, len(tables[node.weights])
    met, tried = float(n), float(len(tables[node.ends]))
    if values is not None:
        ends = np.append(tables[node.ends].astype(np.int64), n)
        found = met_and_tried(jet_blocks(node, values[node.x], tables), ends)
        met, tried = (float(part.mean()) for part in found)
    start, jet = jet_flops(d)
    return Work(met, met * (2 * d + SHAPE_FLOPS["exp2"] + 4) + start + tried * jet)


def needs_exact(node: ir.JetSum, values: Values, tables: Tables) -> NDArray[np.bool_]:
    """The rows that neither jets nor all vectors are sure of."""
    return np.asarray(jet_blocks(node, values[node.x], tables).stop > len(tables[node.ends]))

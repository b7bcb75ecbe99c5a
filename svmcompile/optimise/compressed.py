"""Sums over vectors that are held without their zeros: collapsed where they are linear, or made dense."""

from __future__ import annotations

import numpy as np

from svmcompile.data.csr import Csr, stacked
from svmcompile.data.sparse import check_dense
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import infer_types
from svmcompile.ir.cost import flops
from svmcompile.ir.graph import Tables, fresh
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.layout import compressed
from svmcompile.ir.node import standing_for
from svmcompile.ir.pairs import pair_weights
from svmcompile.ir.program import Program
from svmcompile.optimise.accurate import pair, product, sparse_products
from svmcompile.optimise.fold import put


def collapse_compressed(program: Program) -> Program:
    """A linear kernel, or a polynomial one of degree 1, has one vector per sum, where that is less."""
    for index, node in enumerate(program.body):
        kernel = getattr(node, "kernel", None)
        if not isinstance(node, ir.CsrSum) or kernel is None or kernel.degree != 1:
            continue
        if kernel.kind == "linear" or kernel.kind == "poly":
            with np.errstate(all="ignore"):
                candidate = put(program, index, *_collapsed(program, node))
            if flops(candidate) < flops(program):  # unless nothing is left of the vectors
                program = candidate
    return program


def _collapsed(program: Program, node: ir.CsrSum) -> tuple[list[ir.Node], Tables]:
    """sum_i w_i (g x.s_i + r) = (g sum_i w_i s_i).x + r sum_i w_i."""
    t, kernel = program.tables, node.kernel
    gamma, constant = (1.0, 0.0) if kernel.kind == "linear" else (kernel.gamma, kernel.coef0)
    weights = pair_weights(t[node.weights], node.counts) if node.counts else t[node.weights]
    vectors = vectors_of(program, node)
    slopes = stacked([Csr((one * gamma).rounded()) for one in sparse_products(weights, vectors)])
    constants = product(weights, np.full(len(vectors), constant)).plus(pair(t[node.bias]))
    made = {
        "starts": slopes.indptr.astype(np.int32),
        "columns": slopes.indices.astype(np.int32),
        "values": slopes.data,
        "weights": np.eye(len(weights)),
        "bias": constants.rounded(),
    }
    taken = set(t) - set(ir.table_names(node))
    tables = {fresh(node.out, end, taken): table for end, table in made.items()}
    starts, columns, values, sums, bias = tables
    named = (starts, columns, values, sums, bias, (), Kernel("linear"))
    return [ir.CsrSum(node.out, node.x, *named)], tables


def vectors_of(program: Program, node: ir.CsrSum | ir.CsrLeaves) -> Csr:
    """The vectors of a sum, or of all leaves."""
    t, width = program.tables, infer_types(program)[node.x].width
    starts = t[node.vector_starts if isinstance(node, ir.CsrLeaves) else node.starts]
    found: Csr = compressed(starts, t[node.columns], t[node.values], width)
    return found


def dense_sums(program: Program, why: str) -> Program:
    """The program with arrays of vectors, which `why` needs; an error where they would fill the memory."""
    for node in program.body:
        if isinstance(node, (ir.CsrSum, ir.CsrLeaves)):
            program = _dense(program, node, why)
    return program


def _dense(program: Program, node: ir.CsrSum | ir.CsrLeaves, why: str) -> Program:
    vectors, name = vectors_of(program, node), fresh(node.out, "vectors", program.tables)
    check_dense(vectors.shape, f"{why} needs dense vectors, and those of this model", "leave it out")
    plain: ir.Node
    if isinstance(node, ir.CsrLeaves):
        plain = standing_for(ir.LeafSums, node, vectors=name)
    elif node.counts:
        plain = standing_for(ir.PairSum, node, vectors=name)
    else:
        plain = standing_for(ir.KernelSum, node, vectors=name)
    body = tuple(plain if item is node else item for item in program.body)
    tables = {**program.tables, name: vectors.toarray()}
    used = {table for item in body for table in ir.table_names(item)}
    return program.replace(body=body, tables={key: table for key, table in tables.items() if key in used})

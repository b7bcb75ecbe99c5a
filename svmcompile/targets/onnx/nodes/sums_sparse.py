"""Kernel sums over vectors without their zeros in ONNX: only features that occur are read.

Rows go through one at a time: their numbers in the features of all entries, times these, are added up
vector by vector (`ScatterElements`). A linear function of few vectors is one product over the columns that
occur.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.data.csr import canonical
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import squared_norms
from svmcompile.ir.layout import compressed
from svmcompile.targets.onnx.graph import INDEX
from svmcompile.targets.onnx.nodes.sums import UNSAFE_ERROR, Folded, pair_sum_of, rbf_limit
from svmcompile.targets.onnx.values import Values, build

ADDING = 16  # from this opset on, scattered numbers may be added up
PADDED = 4  # a table over columns that occur may have so many times the entries


@build.register
def _(node: ir.CsrSum, values: Values) -> str:
    t, x, width = values.tables, values.names[node.x], values.types[node.x].width
    vectors = canonical(compressed(t[node.starts], t[node.columns], t[node.values], width))
    occur = np.unique(vectors.indices)
    if node.kernel.kind == "linear" and len(vectors) * len(occur) <= PADDED * vectors.nnz:
        some = values.wide(values.same("Gather", x, occur.astype(INDEX), axis=1))
        kernel = values.graph.op("MatMul", some, vectors[:, occur].toarray().T)
    else:
        folded = _folded(values, node, vectors)
        kernel = folded.shaped(values, _arguments(values, node, folded, vectors))
    return values.poisoned(x, width, pair_sum_of(values, node)(kernel))


def _folded(values: Values, node: ir.CsrSum, vectors: Any) -> Folded:
    """The kernel's parameters in the entries (`table`) and offsets of the vectors."""
    kernel, entries = node.kernel, vectors.data
    if kernel.kind != "rbf":
        sign = -1.0 if kernel.kind == "sigmoid" else 1.0  # as `Folded` has it
        constant = np.full(len(vectors), sign * kernel.coef0)
        return Folded(kernel, "", values.rounded(sign * kernel.gamma * entries), values.rounded(constant))
    table = values.rounded(2 * kernel.gamma * entries)
    held = table.astype(np.float64) / (2 * kernel.gamma)
    norms = squared_norms(compressed(vectors.indptr, vectors.indices, held, vectors.shape[1]))
    capped = np.finfo(values.number).eps * kernel.gamma * norms.max() > UNSAFE_ERROR
    return Folded(kernel, "", table, values.rounded(-kernel.gamma * norms), bool(capped))


def _arguments(values: Values, node: ir.CsrSum, folded: Folded, vectors: Any) -> str:
    """What the kernel is a function of, [N, vectors]."""
    if values.graph.opset < ADDING:
        raise OptionError(
            f"opset {values.graph.opset} cannot add up numbers of vectors without their zeros; use opset "
            f"{ADDING} or above, or tables='dense'"
        )
    body = values.graph.nested(values.number)
    inner, rows = values.within(body), values.narrow(values.names[node.x])
    row = values.marked_like(rows, body.row_of(rows))
    place = np.repeat(np.arange(len(vectors)), np.diff(vectors.indptr)).astype(INDEX)
    near = inner.clip(row, *_limits(values, node, vectors))
    some = inner.same("Gather", near, vectors.indices.astype(INDEX), axis=0)
    products = inner.same("Mul", some, folded.table)
    start = inner.graph.constant(folded.offsets)
    added = body.op("ScatterElements", start, place, products, axis=0, reduction="add")
    if node.kernel.kind == "rbf":
        wide = inner.wide(row)
        square = body.op("ReduceSum", body.op("Mul", wide, wide), inner.integers(0), keepdims=1)
        norm = inner.narrow(body.op("Mul", square, inner.scalar(-node.kernel.gamma)))
        added = body.op("Add", inner.marked_like(row, added), norm)
    return values.marked_like(rows, values.graph.each_row(rows, body, added, len(vectors)))


def _limits(values: Values, node: ir.CsrSum, vectors: Any) -> tuple[float, float]:
    """Where to clip features, so that no sum overflows."""
    if node.kernel.kind == "rbf":
        limit = rbf_limit(values, vectors.data[None], node.kernel.gamma)
    else:
        sizes = abs(node.kernel.gamma) * abs(vectors).sum(axis=1).max()
        limit = float(np.finfo(values.number).max) / max(8 * sizes, 1.0)
    return -limit, limit

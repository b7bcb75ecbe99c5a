"""Vectors that are mostly zeros, stored by feature where that pays.

The times below are nanoseconds measured on models of text, web and census
data and of handwritten digits (`examples/peers/sparse_tables.py` prints the
whole comparison). Only their ratios matter: what is compared is the expected
time of a row, given whole, that is filled like the vectors themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.graph import Tables, fresh
from svmcompile.ir.layout import marked
from svmcompile.ir.nodes import Node, PackedSum, Prepare, SparseSum
from svmcompile.ir.program import Program
from svmcompile.lower.sums import LANES, LARGEST, Lowered, block_order, block_weights

Source = tuple[str, NDArray[Any], float]  # the row as it comes, what it is multiplied by, and its limit
Storage = Literal["auto", "dense", "sparse"]
NEAR, BEYOND = 0.6, 3.0  # a vector instruction's operand from a dense table in a near cache, or beyond it
NEAR_BYTES = 2 << 20
TILED = 0.15  # the same for batches, where rows share what is read but zeros are not skipped
FULL = 1.0  # a vector instruction's operand from a column that is stored for all vectors
ENTRY = 0.6  # one entry of a column that is not
FEATURE = 5.0  # finding a feature
PREPARE, SCAN = 1.0, 0.3  # one number of a row on its way to a dense table, and to a sparse one
SCALAR = 0.19  # one multiplication of the portable profile's dense table
# So much smaller a table is worth so much more time, which other data in the cache would take back.
SMALLER, SLOWER = 4.0, 1.5


@dataclass(frozen=True, slots=True)
class Layout:
    """How a profile stores sparse vectors."""

    segment: int  # vectors whose dot products stand on the stack at once
    full: float  # share of a segment's vectors from which a feature is stored for all of them


def sparse_pays(vectors: NDArray[Any], number: Number, profile: str) -> bool:
    """Whether vectors are better stored by feature."""
    n, d = vectors.shape
    counts = np.count_nonzero(vectors, axis=0)
    full = counts >= LAYOUTS[profile].full * n
    size = BYTES[number]
    dense_bytes = n * d * size
    entries = int(counts[~full].sum() + n * full.sum())
    starts = np.count_nonzero(counts) * -(-n // LAYOUTS[profile].segment)
    sparse_bytes = entries * (size + 2) + 4 * starts + d / 4
    sparse = SCAN * d + _sparse_time(counts / max(1, n), counts, full, n / LANES[number])
    dense = n * d * SCALAR
    if profile == "host":
        dense = _dense_time(counts.sum() / max(1, n), d, n / LANES[number], dense_bytes)
    limit = SLOWER * dense if dense_bytes >= SMALLER * sparse_bytes else dense
    return bool(counts.any() and sparse <= limit)


def _sparse_time(
    share: NDArray[np.float64], counts: NDArray[np.intp], full: NDArray[np.bool_], blocks: float
) -> float:
    """`share` of the rows have each feature."""
    listed = ENTRY * (share * counts)[~full].sum()
    return float(FEATURE * share.sum() + listed + FULL * blocks * share[full].sum())


def _dense_time(filled: float, width: int, blocks: float, table_bytes: int) -> float:
    """Rows with `filled` features, looked at alone or in batches, whichever is faster."""
    alone = filled * blocks * (NEAR if table_bytes <= NEAR_BYTES else BEYOND)
    return PREPARE * width + min(alone, width * blocks * TILED)


def invert(
    program: Program, nodes: list[Node], tables: Tables, number: Number, profile: str, storage: Storage
) -> Lowered | None:
    """The nodes of one packed sum as a sparse one; None where the dense table suits better or must do."""
    node = nodes[-1]
    assert isinstance(node, PackedSum)
    source = _source(program, nodes, tables, number)
    if storage == "sparse" and source is None:
        raise EmitError(
            f"rows of the sum %{node.out} are shifted or clipped, so zeros do not stay zeros and vectors "
            "cannot be stored by feature; leave out --tables sparse"
        )
    if storage == "dense" or source is None or not tables[node.vectors].any():
        return None
    if storage == "auto" and not sparse_pays(tables[node.vectors], number, profile):
        return None
    return stored_by_feature(program, node, tables, source, number, profile)


def stored_by_feature(
    program: Program, node: PackedSum, tables: Tables, source: Source, number: Number, profile: str
) -> Lowered:
    """A packed sum as a sparse one; its vectors are an array, or a `Csr` without zeros."""
    x, factor, limit = source
    lanes = LANES[number] if profile == "host" else 1
    order, by_lane = np.arange(len(tables[node.vectors])), True
    if profile == "host":
        order, by_lane = block_order(node, tables, lanes)
    # In the order of the node's fields.
    stored = {"factor": factor, **_columns(tables[node.vectors], order, LAYOUTS[profile])}
    names = {end: fresh(node.out, end, set(program.tables) | set(tables)) for end in stored}
    made = block_weights(node, tables, order, lanes, by_lane)
    made |= {names[end]: table for end, table in stored.items()}
    counts = node.counts or (len(tables[node.vectors]),)
    kept = node.offsets, node.weights, node.bias, counts, node.shape, node.degree
    fields: tuple[Any, ...] = (*names.values(), *kept, LAYOUTS[profile].segment, limit)
    return [SparseSum(node.out, x, *fields)], made


def _source(program: Program, nodes: list[Node], tables: Tables, number: Number) -> Source | None:
    """The row as it comes, what it is multiplied by and its limit; None where zeros do not stay zeros."""
    prepare = nodes[0]
    as_given = {program.input.name, *(node.out for node in program.body if node.widens)}
    if not isinstance(prepare, Prepare):
        node = nodes[-1]
        assert isinstance(node, PackedSum)
        return (node.x, np.ones(1), LARGEST[number]) if node.x in as_given else None
    factor = tables[prepare.factor]
    if prepare.x not in as_given or tables[prepare.shift].any():
        return None
    return prepare.x, factor[:1] if (factor == factor[0]).all() else factor, prepare.limit


def _columns(vectors: Any, order: NDArray[np.intp], layout: Layout) -> Tables:
    """The vectors by feature, segment by segment."""
    from svmcompile.data.csr import Csr, stacked

    width = vectors.shape[1]
    held = stacked([Csr(vectors), Csr((1, width))])  # number -1 is a vector of zeros
    features = np.unique(held.indices).astype(np.intp)
    marks, ranks = marked(features, width)
    starts, indices, values, at = [], [], [], 0
    for first in range(0, len(order), layout.segment):
        part = held[order[first : first + layout.segment]][:, features].tocsc()
        own, places, numbers = _segment(part, layout.full)
        starts.append(at + own)
        indices.append(places)
        values.append(numbers)
        at += len(numbers)
    return {
        "marks": marks,
        "ranks": narrow(ranks),
        "starts": narrow(np.stack(starts)),
        "indices": narrow(np.concatenate(indices)),
        "values": np.concatenate(values),
    }


def _segment(part: Any, full: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Starts, indices and values of the features of some vectors; a feature that many have is whole."""
    part.sort_indices()
    n, counts = part.shape[0], np.diff(part.indptr).astype(np.int64)
    whole = counts / n >= full
    sizes = np.where(whole, n, counts)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    values: NDArray[Any] = np.zeros(len(indices), dtype=part.dtype)
    feature = np.repeat(np.arange(len(counts)), counts)
    behind = np.where(whole[feature], part.indices, np.arange(part.nnz) - part.indptr[feature])
    places = starts[feature] + behind
    indices[places], values[places] = part.indices, part.data
    return starts, indices, values


def narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smaller of two types that holds them."""
    return numbers.astype(np.uint16 if numbers.max() < 1 << 16 else np.uint32)


# Full columns are added with vector instructions, which pays from one vector in eight.
LAYOUTS = {"host": Layout(4096, 0.125), "portable": Layout(1024, 2.0)}

"""What bounded sums cost: rows and tables go in, kernel values and flops come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.bounded_meaning import match_of
from svmcompile.ir.champions import UNSURE, pair_indices
from svmcompile.ir.kernel import Array
from svmcompile.ir.stages import PairTables, Stages, pair_stages, stages

Tables = Mapping[str, NDArray[Any]]
CHECK_FLOPS = 6  # a stage's test: residual norm, root, error, comparison
CHUNK_VALUES = 1 << 20


@dataclass(frozen=True, slots=True)
class Spent:
    """What rows met: kernel values, flops beside those of the values, and who needs the exact sum."""

    values: Array  # [rows]
    flops: Array  # [rows]
    unsure: NDArray[np.bool_]  # [rows]


def spent(node: ir.BoundedSum | ir.BoundedVote, env: Mapping[str, NDArray[Any]], tables: Tables) -> Spent:
    """What each row costs in a bounded node."""
    one: Callable[..., Spent] = _sum_spent if isinstance(node, ir.BoundedSum) else _vote_spent
    step = max(1, CHUNK_VALUES // len(tables[node.vectors]))
    x = env[node.x]
    starts = range(0, len(x), step) or range(1)
    parts = [
        one(node, {name: value[at : at + step] for name, value in env.items()}, tables) for at in starts
    ]
    return Spent(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.flops for part in parts]),
        np.concatenate([part.unsure for part in parts]),
    )


def most_spent(node: ir.BoundedSum | ir.BoundedVote, tables: Tables) -> tuple[int, int]:
    """Kernel values and flops of a row that meets everything."""
    n = len(tables[node.vectors])
    if isinstance(node, ir.BoundedSum):
        return n, int(_sum_flops(node, tables).max())
    total = sum(4 * (node.counts[i] + node.counts[j]) for i, j in pair_indices(len(node.counts)))
    basis = np.asarray(np.diff(tables[node.starts].astype(np.int64)), dtype=np.int64)
    return n, int(total + (basis * (basis + 3) + CHECK_FLOPS * -(-basis // node.block)).sum())


def _sum_spent(node: ir.BoundedSum, env: Mapping[str, NDArray[Any]], tables: Tables) -> Spent:
    found = stages(node, env[node.x], tables)
    first = found.first_sure(node.tolerance)
    unsure = (first < 0) & (node.tolerance < 0)
    return Spent(found.ends[first].astype(np.float64), _sum_flops(node, tables)[first], unsure)


def _sum_flops(node: ir.BoundedSum, tables: Tables) -> Array:
    """Flops beside kernel values up to each stage, and after all vectors."""
    ends, r = tables[node.ends].astype(np.int64), len(tables[node.projection])
    has = np.minimum(ends, r)
    coordinates = has * (has + 1) + 2 * has  # products, and the squares that leave the norm
    estimates = np.where(ends > r, 2 * ends, 2 * np.diff(np.minimum(ends, r), prepend=0))
    upto = coordinates + np.cumsum(estimates + CHECK_FLOPS)
    return np.append(upto, upto[-1] + 4 * len(tables[node.weights])).astype(np.float64)


def _vote_spent(node: ir.BoundedVote, env: Mapping[str, NDArray[Any]], tables: Tables) -> Spent:
    match = match_of(node, env[node.x], env[node.guess], tables)
    known = PairTables(node, env[node.x], tables)
    seen = np.zeros(known.values.shape, dtype=bool)
    flops = np.zeros(len(seen))
    for pair, classes in enumerate(pair_indices(len(node.counts))):
        found = pair_stages(node, pair, classes, known)
        met = match.met[:, pair]
        flops += np.where(met, _mark(known, pair, classes, found, met, seen), 0)
    return Spent(seen.sum(axis=1).astype(np.float64), flops, match.label == UNSURE)


def _mark(
    known: PairTables,
    pair: int,
    classes: tuple[int, int],
    found: Stages,
    met: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> Array:
    """Mark the vectors a pair meets in each row; the flops of the pair."""
    first = found.first_sure(-1.0)
    last = (first < 0) | (first == len(found.ends) - 1)
    basis = np.where(last, found.ends[-2], found.ends[first])
    picks, _ = known.basis(pair)
    order = np.arange(len(picks))
    seen[:, picks] |= met[:, None] & (order < basis[:, None])
    members, _ = known.members(classes)
    seen[np.ix_(met & last, members)] = True
    checks = np.where(first < 0, len(found.ends) - 1, first) + 1
    flops = basis * (basis + 1) + 4 * basis + CHECK_FLOPS * checks
    return np.asarray(flops + np.where(last, 4 * len(members), 0))

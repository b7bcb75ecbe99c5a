"""Type rules of bounded sums; cases of `result_type`."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.needs import (
    Tables,
    Types,
    class_counts,
    features,
    need,
    pair_count,
    shapes,
    sound_kernel,
    within,
)
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import result_type


@result_type.register
def _(node: ir.Widen, types: Types, tables: Tables) -> Type:
    return Type(Kind.FEATURES, features(node, types))


def _bounded_kernel(kernel: Kernel, reach: float) -> None:
    sound_kernel(kernel)
    need(kernel.kind in ("rbf", "poly"), f"a {kernel.kind} kernel has no bounded sum")
    need(kernel.gamma >= 0 and kernel.coef0 >= 0, "the kernel is not positive definite")
    need(math.isfinite(reach) and reach >= 0, "the reach makes no sense")


@result_type.register
def _(node: ir.BoundedSum, types: Types, tables: Tables) -> Type:
    _bounded_kernel(node.kernel, node.reach)
    exact = types[node.exact]
    need((exact.kind, exact.width) == (Kind.SCORES, 1), f"%{node.exact} is not one score")
    n, d = len(tables[node.vectors]), features(node, types)
    ends, r = tables[node.ends].astype(np.int64), len(tables[node.projection])
    need(n > 0 and len(ends) > 0, "vectors or stages are missing")
    rising = ends[0] > 0 and ends[-1] <= n and (np.diff(ends) > 0).all()
    need(bool(rising), "the ends of stages do not rise")
    need(r <= ends[-1], "more coordinates than values")
    beyond = int(ends[ends > r].sum())
    shapes(
        tables,
        vectors=(node.vectors, (n, d)),
        weights=(node.weights, (n,)),
        bias=(node.bias, (1,)),
        coordinates=(node.coordinates, (max(1, r * (r + 1) // 2),)),
        estimates=(node.estimates, (max(1, beyond),)),
        residuals=(node.residuals, ends.shape),
        slacks=(node.slacks, ends.shape),
        margins=(node.margins, ends.shape),
        rounding=(node.rounding, (2,)),
    )
    need(not math.isnan(node.tolerance), "the tolerance makes no sense")
    _not_below_zero(node, tables)
    return Type(Kind.SCORES, 1)


def _not_below_zero(node: ir.BoundedSum | ir.BoundedVote, tables: Tables) -> None:
    for name in (node.residuals, node.slacks, node.margins, node.rounding):
        need(bool((tables[name] >= 0).all()), f"@{name} holds a number below zero")


@result_type.register
def _(node: ir.BoundedVote, types: Types, tables: Tables) -> Type:
    _bounded_kernel(node.kernel, node.reach)
    class_counts(node.counts)
    k, n, pairs = len(node.counts), sum(node.counts), pair_count(len(node.counts))
    exact, guess = types[node.exact], types[node.guess]
    need((exact.kind, exact.width) == (Kind.LABEL, k), f"%{node.exact} is no label of {k} classes")
    need((guess.kind, guess.width) == (Kind.SCORES, k), f"%{node.guess} is not one score per class")
    need(node.block > 0, f"a block of {node.block}")
    starts, picks = tables[node.starts].astype(np.int64), tables[node.picks].astype(np.int64)
    shapes(tables, starts=(node.starts, (pairs + 1,)))
    basis = np.diff(starts)
    need(starts[0] == 0 and starts[-1] == len(picks) and bool((basis > 0).all()), "starts do not rise")
    within(picks, n, "a vector")
    _own_vectors(node, starts, picks)
    stages = int((-(-basis // node.block)).sum())
    shapes(
        tables,
        vectors=(node.vectors, (n, features(node, types))),
        weights=(node.weights, (k - 1, n)),
        bias=(node.bias, (pairs,)),
        coordinates=(node.coordinates, (int((basis * (basis + 1) // 2).sum()),)),
        projections=(node.projections, (len(picks),)),
        residuals=(node.residuals, (stages,)),
        slacks=(node.slacks, (stages,)),
        margins=(node.margins, (stages,)),
        rounding=(node.rounding, (pairs, 2)),
    )
    _not_below_zero(node, tables)
    return Type(Kind.LABEL, k)


def _own_vectors(node: ir.BoundedVote, starts: np.ndarray, picks: np.ndarray) -> None:
    """Each pair picks among the vectors of its two classes."""
    owner = np.repeat(np.arange(len(node.counts)), node.counts)[picks]
    first, second = (np.repeat(part, np.diff(starts)) for part in np.triu_indices(len(node.counts), 1))
    need(bool(((owner == first) | (owner == second)).all()), "a pair picks a vector of another class")

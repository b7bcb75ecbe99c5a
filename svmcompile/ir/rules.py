"""result_type: the type each node gives, or why its operands and tables do not fit."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.inverted import inverted_problems, vectors_and_lanes
from svmcompile.ir.needs import Tables as Tables
from svmcompile.ir.needs import Types as Types
from svmcompile.ir.needs import (
    class_counts,
    features,
    float32_only,
    need,
    pair_count,
    rising,
    shapes,
    sound_degree,
    sound_kernel,
    within,
)
from svmcompile.ir.nodes import Kind, Node, Type
from svmcompile.ir.trees import leaf_depths, node_depths


@singledispatch
def result_type(node: Node, types: Types, tables: Tables) -> Type:
    """The type a node gives; ValueError if its operands or tables do not fit."""
    raise TypeError(f"no type rule for {type(node).__name__}")


def _sums(tables: Tables, bias: str) -> int:
    """How many sums there are: one per bias."""
    sums = int(tables[bias].shape[0])
    need(sums > 0, f"bias @{bias} is empty")
    return sums


def _vector_width(node: ir.KernelSum | ir.PairSum | ir.PathSum, types: Types, tables: Tables) -> int:
    """How wide the vectors must be."""
    width = features(node, types)
    if node.kernel.kind != "precomputed":
        return width
    within(tables[node.vectors], width, "a training point")
    return 1


@result_type.register(ir.Scale)
@result_type.register(ir.Prepare)
def _(node: ir.Scale | ir.Prepare, types: Types, tables: Tables) -> Type:
    width = features(node, types)
    shapes(tables, shift=(node.shift, (width,)), factor=(node.factor, (width,)))
    if isinstance(node, ir.Scale):
        shapes(tables, offset=(node.offset, (width,)))
    float32_only(tables, node.shift)
    need(not isinstance(node, ir.Prepare) or node.limit > 0, "limit must be above zero")
    return Type(Kind.FEATURES, width)


@result_type.register
def _(node: ir.Clip, types: Types, tables: Tables) -> Type:
    need(node.low <= node.high, f"low {node.low} is above high {node.high}")
    return Type(Kind.FEATURES, features(node, types))


@result_type.register
def _(node: ir.KernelSum, types: Types, tables: Tables) -> Type:
    sound_kernel(node.kernel)
    n, m = tables[node.vectors].shape[0], _sums(tables, node.bias)
    shapes(
        tables,
        vectors=(node.vectors, (n, _vector_width(node, types, tables))),
        weights=(node.weights, (m, n)),
        bias=(node.bias, (m,)),
    )
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.PairSum, types: Types, tables: Tables) -> Type:
    sound_kernel(node.kernel)
    class_counts(node.counts)
    k, n = len(node.counts), sum(node.counts)
    shapes(
        tables,
        vectors=(node.vectors, (n, _vector_width(node, types, tables))),
        weights=(node.weights, (k - 1, n)),
        bias=(node.bias, (pair_count(k),)),
    )
    return Type(Kind.SCORES, pair_count(k))


@result_type.register
def _(node: ir.Affine, types: Types, tables: Tables) -> Type:
    d, m = features(node, types), _sums(tables, node.bias)
    shapes(tables, weights=(node.weights, (m, d)), bias=(node.bias, (m,)), centre=(node.centre, (d,)))
    float32_only(tables, node.centre)
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.Quadratic, types: Types, tables: Tables) -> Type:
    d, m = features(node, types), _sums(tables, node.bias)
    shapes(
        tables,
        squares=(node.squares, (m, d * (d + 1) // 2)),
        weights=(node.weights, (m, d)),
        bias=(node.bias, (m,)),
        centre=(node.centre, (d,)),
    )
    float32_only(tables, node.centre)
    return Type(Kind.SCORES, m)


@result_type.register
def _(node: ir.PackedSum, types: Types, tables: Tables) -> Type:
    sound_degree(node.degree)
    n, sums, k = tables[node.vectors].shape[0], _sums(tables, node.bias), len(node.counts)
    if node.counts:
        class_counts(node.counts)
        need(sum(node.counts) == n and sums == pair_count(k), "counts do not fit the tables")
    width = 1 if node.shape == "given" else features(node, types)
    shapes(
        tables,
        vectors=(node.vectors, (n, width)),
        weights=(node.weights, (n, k - 1 if k else sums)),
        bias=(node.bias, (sums,)),
        offsets=(node.offsets, (n if node.shape == "exp2" else 1,)),
    )
    return Type(Kind.SCORES, sums)


@result_type.register
def _(node: ir.TiledSum, types: Types, tables: Tables) -> Type:
    d, sums, k = features(node, types), tables[node.bias].shape[0], len(node.counts)
    need(tables[node.vectors].ndim == 3, "vectors are not in blocks")
    blocks, _, lanes = tables[node.vectors].shape
    columns = k - 1 if k > 1 else sums
    need(k >= 1 and min(node.counts) >= 0 and node.degree >= 0, "counts or degree make no sense")
    need(k == 1 or sums == pair_count(k), "counts do not fit the tables")
    need(sum(node.counts) <= blocks * lanes, "more vectors counted than stored")
    by_lane = tables[node.weights].ndim == 3
    weights = (blocks, columns, lanes) if by_lane else (blocks * lanes, columns + -columns % lanes)
    shapes(
        tables,
        vectors=(node.vectors, (blocks, d, lanes)),
        weights=(node.weights, weights),
        offsets=(node.offsets, (blocks * lanes,) if node.shape == "exp2" else (1,)),
        bias=(node.bias, (sums,)),
    )
    return Type(Kind.SCORES, sums)


@result_type.register
def _(node: ir.SparseSum, types: Types, tables: Tables) -> Type:
    d, sums, k = features(node, types), _sums(tables, node.bias), len(node.counts)
    need(k >= 1 and min(node.counts) >= 0, "counts make no sense")
    sound_degree(node.degree)
    need(k == 1 or sums == pair_count(k), "counts do not fit the tables")
    need(node.limit > 0, "limit must be above zero")
    vectors, lanes = vectors_and_lanes(tables[node.weights])
    columns = k - 1 if k > 1 else sums
    by_lane = tables[node.weights].ndim == 3
    need(sum(node.counts) <= vectors, "more vectors counted than stored")
    need(node.segment > 0 and node.segment % lanes == 0, f"segment {node.segment} has no whole blocks")
    shapes(
        tables,
        factor=(node.factor, (d,) if tables[node.factor].size > 1 else (1,)),
        weights=(
            node.weights,
            (vectors // lanes, columns, lanes) if by_lane else (vectors, columns + -columns % lanes),
        ),
        offsets=(node.offsets, (vectors,) if node.shape == "exp2" else (1,)),
        values=(node.values, tables[node.indices].shape),
    )
    for problem in inverted_problems(node, tables, d, vectors):
        raise ValueError(problem)
    return Type(Kind.SCORES, sums)


def _tree(tables: Tables, children: str) -> Type:
    """The type of a route: every walk ends, and every leaf stands at the end of one."""
    links = links_of(tables, children)
    leaves = len(links) + 1
    need(np.array_equal(np.sort(~links[links < 0]), np.arange(leaves)), "a leaf has not one parent")
    return Type(Kind.INDEX, leaves)


def links_of(tables: Tables, children: str) -> NDArray[Any]:
    """The children of a tree whose every walk ends."""
    links = tables[children]
    nodes = len(links)
    need(nodes > 0, "a tree without a node")
    shapes(tables, children=(children, (nodes, 2)))
    later = (links < 0) | (links > np.arange(nodes)[:, None])
    need(bool(later.all() and (links < nodes).all()), "a child does not come after its parent")
    need(np.array_equal(np.sort(links[links >= 0]), np.arange(1, nodes)), "a node has not one parent")
    return links


@result_type.register
def _(node: ir.AxisRoute, types: Types, tables: Tables) -> Type:
    found, width = _tree(tables, node.children), features(node, types)
    nodes = (found.width - 1,)
    shapes(tables, features=(node.features, nodes), thresholds=(node.thresholds, nodes))
    within(tables[node.features], width, "a feature")
    float32_only(tables, node.thresholds)
    return found


@result_type.register
def _(node: ir.PlaneRoute, types: Types, tables: Tables) -> Type:
    found, width = _tree(tables, node.children), features(node, types)
    nodes = found.width - 1
    shapes(
        tables,
        planes=(node.planes, (nodes, width)),
        thresholds=(node.thresholds, (nodes,)),
        centre=(node.centre, (width,)),
    )
    float32_only(tables, node.centre)
    return found


@result_type.register
def _(node: ir.LeafAffine, types: Types, tables: Tables) -> Type:
    need(types[node.leaf].kind is Kind.INDEX, f"%{node.leaf} is not an index")
    leaves, width, starts = types[node.leaf].width, features(node, types), tables[node.starts]
    functions = len(tables[node.sums])
    need(functions > 0 and tables[node.bias].ndim == 2, "functions or bias are missing")
    m = int(tables[node.bias].shape[1])
    shapes(
        tables,
        starts=(node.starts, (leaves + 1,)),
        sums=(node.sums, (functions,)),
        weights=(node.weights, (functions, width)),
        units=(node.units, (functions,)),
        bias=(node.bias, (leaves, m)),
        centre=(node.centre, (width,)),
    )
    rising(starts, functions)
    within(tables[node.sums], m, "a sum")
    float32_only(tables, node.centre)
    return Type(Kind.SCORES, m)


@result_type.register(ir.PathSum)
@result_type.register(ir.PackedPath)
def _(node: ir.PathSum | ir.PackedPath, types: Types, tables: Tables) -> Type:
    if isinstance(node, ir.PathSum):
        sound_kernel(node.kernel)
        width = _vector_width(node, types, tables)
    else:
        sound_degree(node.degree)
        width = 1 if node.shape == "given" else features(node, types)
        offsets = len(tables[node.vectors]) if node.shape == "exp2" else 1
        shapes(tables, offsets=(node.offsets, (offsets,)))
    nodes, vectors = len(links_of(tables, node.children)), len(tables[node.vectors])
    need(tables[node.bias].ndim == 2 and tables[node.bias].size > 0, "bias is missing")
    leaves, m = tables[node.bias].shape
    coefficients = len(tables[node.weights])
    shapes(
        tables,
        vectors=(node.vectors, (vectors, width)),
        picks=(node.picks, (nodes,)),
        thresholds=(node.thresholds, (nodes,)),
        starts=(node.starts, (leaves + 1,)),
        weights=(node.weights, (coefficients, m)),
    )
    rising(tables[node.starts], coefficients)
    sound_path(tables[node.children], tables[node.picks], tables[node.starts], vectors)
    return Type(Kind.SCORES, int(m))


def sound_path(links: NDArray[Any], picks: NDArray[Any], starts: NDArray[Any], vectors: int) -> None:
    """Every leaf has one parent, and no node or leaf reads a value that has not been met."""
    leaves = len(starts) - 1
    ends = [~link for pair in links for link in dict.fromkeys(pair.tolist()) if link < 0]
    need(sorted(ends) == list(range(leaves)), "a leaf has not one parent")
    levels = node_depths(links)
    before = picks.astype(np.int64)
    need(bool(((before < vectors) & (~before < levels)).all()), "a node picks what is not there")
    met = leaf_depths(links)[:leaves]
    need(bool((np.diff(starts.astype(np.int64)) <= met).all()), "a leaf weighs values not met")


@result_type.register
def _(node: ir.Products, types: Types, tables: Tables) -> Type:
    d = features(node, types)
    shapes(tables, centre=(node.centre, (d,)))
    float32_only(tables, node.centre)
    return Type(Kind.FEATURES, d + d * (d + 1) // 2)


@result_type.register
def _(node: ir.Add, types: Types, tables: Tables) -> Type:
    need(types[node.left].kind is Kind.SCORES, "needs scores")
    need(types[node.left] == types[node.right], "the two are not alike")
    return types[node.left]


@result_type.register
def _(node: ir.Reach, types: Types, tables: Tables) -> Type:
    found = types[node.score]
    need(found.kind is Kind.SCORES, "needs scores")
    need(math.isfinite(node.radius) and node.radius >= 0, "the radius makes no sense")
    shapes(tables, centre=(node.centre, (features(node, types),)), far=(node.far, (found.width,)))
    float32_only(tables, node.centre)
    return found


@result_type.register
def _(node: ir.Guard, types: Types, tables: Tables) -> Type:
    found = types[node.score]
    exact = types[node.exact]
    if node.rule == "sign":  # the exact one may be in double, for its sign
        exact = replace(exact, wide=found.wide)
    need(found.kind is Kind.SCORES and found == exact, "needs two scores that are alike")
    need(node.width >= 0, "the width is below zero")
    need(node.rule != "sign" or found.width == 1, "the rule of signs needs one score")
    need(node.rule != "argmax" or found.width > 1, "the rule of the largest needs several scores")
    need(node.rule != "vote" or classes_of(found.width) > 1, "the rule of votes needs one score per pair")
    return found


def classes_of(pairs: int) -> int:
    """How many classes have so many pairs; 0 if none."""
    k = math.isqrt(2 * pairs) + 1
    return k if k * (k - 1) // 2 == pairs else 0


@result_type.register(ir.OvrScores)
@result_type.register(ir.Vote)
def _(node: ir.OvrScores | ir.Vote, types: Types, tables: Tables) -> Type:
    need(types[node.pairs] == Type(Kind.SCORES, pair_count(node.n_classes)), "needs one score per pair")
    kind = Kind.LABEL if isinstance(node, ir.Vote) else Kind.SCORES
    return Type(kind, node.n_classes)


@result_type.register
def _(node: ir.ArgMax, types: Types, tables: Tables) -> Type:
    need(types[node.scores].kind in (Kind.SCORES, Kind.PROBABILITIES), "needs scores or probabilities")
    return Type(Kind.LABEL, types[node.scores].width)


@result_type.register
def _(node: ir.Threshold, types: Types, tables: Tables) -> Type:
    need(types[node.score] == Type(Kind.SCORES, 1), "needs one score")
    need({node.hit, node.miss} == {0, 1}, "hit and miss must be 0 and 1")
    return Type(Kind.LABEL, 2)

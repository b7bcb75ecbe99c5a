"""Type rules and costs of trees in whole numbers; every sum is held against its C type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.fixed_meaning import whole_table
from svmcompile.ir.fixed_rules import (
    INT32,
    INT64,
    fits,
    kernel_flops,
    kernel_limit,
    sizes,
    sound_shift,
    whole_features,
)
from svmcompile.ir.leaf_layout import columns_of, running, sums_of, whole
from svmcompile.ir.leaf_rules import sound_leaves
from svmcompile.ir.needs import need, rising, shapes, within
from svmcompile.ir.nodes import Kind, Node, Type
from svmcompile.ir.paths import path_evaluations
from svmcompile.ir.rules import Tables, Types, links_of, result_type, sound_path
from svmcompile.ir.work import Values, Work, work

IN_WHOLE = (ir.PlaneLists, ir.Add, ir.Guard)  # nodes of floats that take whole numbers as well


def whole_result(node: Node, types: Types, tables: Tables, found: Type) -> Type:
    """The type of a node that gives whole numbers because it reads some."""
    read = [types[name] for name in ir.operands(node)]
    if not isinstance(node, IN_WHOLE) or not any(one.whole for one in read):
        return found
    need(all(one.whole for one in read), "whole numbers and floats do not mix")
    if isinstance(node, ir.PlaneLists):
        plane_limit(node.planes, node.thresholds, types[node.x].limit, tables)
        ends = [whole_table(tables, name) for name in (node.answers, node.rest)]
        limit = max(int(np.abs(end).max()) for end in ends)
    else:
        limits = [one.limit for one in read]
        limit = sum(limits) if isinstance(node, ir.Add) else max(limits)
    return replace(found, whole="i32", limit=fits(limit, INT32, "a score"))


def plane_limit(planes: str, thresholds: str, limit: int, tables: Tables) -> None:
    """Dot products with planes, and what they are compared with, fit 32 bits."""
    fits(int((limit * sizes(whole_table(tables, planes))).max(initial=0)), INT32, "a dot product")
    fits(int(np.abs(whole_table(tables, thresholds)).max(initial=0)), INT32, "a threshold")


@result_type.register
def _(node: ir.FixedLeaves, types: Types, tables: Tables) -> Type:
    need(types[node.leaf].kind is Kind.INDEX, f"%{node.leaf} is not an index")
    leaves, width = types[node.leaf].width, whole_features(node, types)
    functions = len(tables[node.sums])
    need(functions > 0 and tables[node.bias].ndim == 2, "functions or bias are missing")
    m = int(tables[node.bias].shape[1])
    shapes(
        tables,
        starts=(node.starts, (leaves + 1,)),
        sums=(node.sums, (functions,)),
        weights=(node.weights, (functions, width)),
        shifts=(node.shifts, (functions,)),
        bias=(node.bias, (leaves, m)),
    )
    rising(tables[node.starts], functions)
    within(tables[node.sums], m, "a sum")
    within(tables[node.shifts], 31, "a shift")
    return Type(Kind.SCORES, m, whole="i32", limit=_leaf_limit(node, types, tables))


def _leaf_limit(node: ir.FixedLeaves, types: Types, tables: Tables) -> int:
    """The largest score of any leaf."""
    shifts = whole_table(tables, node.shifts)
    reach = types[node.x].limit * sizes(whole_table(tables, node.weights)) + ((1 << shifts) >> 1)
    fits(int(reach.max()), INT32, "a dot product")
    bias = np.abs(whole_table(tables, node.bias))
    total = bias.copy()
    leaf = np.repeat(np.arange(len(bias)), np.diff(whole_table(tables, node.starts)))
    np.add.at(total, (leaf, tables[node.sums]), (reach >> shifts) + 1)
    return fits(int(total.max()), INT32, "a score")


@result_type.register
def _(node: ir.FixedPath, types: Types, tables: Tables) -> Type:
    links = links_of(tables, node.children)
    most = kernel_limit(node, types, tables)
    need(tables[node.bias].ndim == 2 and tables[node.bias].size > 0, "bias is missing")
    leaves, m = tables[node.bias].shape
    nodes = (len(links),)
    shapes(
        tables,
        picks=(node.picks, nodes),
        thresholds=(node.thresholds, nodes),
        starts=(node.starts, (leaves + 1,)),
        weights=(node.weights, (len(tables[node.weights]), m)),
        bias=(node.bias, (leaves, m)),
    )
    rising(tables[node.starts], len(tables[node.weights]), "coefficients")
    sound_path(links, tables[node.picks], tables[node.starts], len(tables[node.vectors]))
    sound_shift(node.shift)
    leaf = np.repeat(np.arange(leaves), np.diff(whole(tables[node.starts])))
    sums = np.zeros((leaves, m), dtype=np.int64)
    np.add.at(sums, leaf, np.abs(whole_table(tables, node.weights)))
    largest = fits(int(sums.max()) * most + ((1 << node.shift) >> 1), INT64, "a weighted sum")
    bias = int(np.abs(whole_table(tables, node.bias)).max(initial=0))
    limit = fits((largest >> node.shift) + 1 + bias, INT32, "a score")
    return Type(Kind.SCORES, int(m), whole="i32", limit=limit)


@result_type.register
def _(node: ir.FixedLeafSums, types: Types, tables: Tables) -> Type:
    sound_leaves(node, types, tables)
    most = kernel_limit(node, types, tables)
    classes, n = np.diff(whole(tables[node.firsts])), np.diff(whole(tables[node.starts]))
    places, firsts = running(n * columns_of(node.rule, classes)), running(sums_of(node.rule, classes))
    need(np.array_equal(whole(tables[node.places]), places), "places of weights do not fit")
    need(np.array_equal(whole(tables[node.bias_firsts]), firsts), "biases do not fit")
    need(
        tables[node.weights].size >= places[-1] and tables[node.bias].size >= firsts[-1],
        "weights are missing",
    )
    sound_shift(node.shift)
    sums = most * int(np.abs(whole_table(tables, node.weights)).max(initial=0)) * int(n.max(initial=0))
    largest = fits(sums + ((1 << node.shift) >> 1), INT64, "a weighted sum")
    bias = int(np.abs(whole_table(tables, node.bias)).max(initial=0))
    limit = fits((largest >> node.shift) + 1 + bias, INT32, "a score")
    return Type(Kind.SCORES, 1 if node.rule == "sum" else node.classes, whole="i32", limit=limit)


@work.register
def _(node: ir.FixedLeaves, types: Types, tables: Tables, values: Values | None) -> Work:
    functions = np.diff(whole(tables[node.starts]))
    per_row = functions.max() if values is None else functions[values[node.leaf]].mean()
    return Work(0, float(per_row) * 2 * types[node.x].width)


@work.register
def _(node: ir.FixedPath, types: Types, tables: Tables, values: Values | None) -> Work:
    most = int(path_evaluations(tables[node.picks], tables[node.children]).max())
    return Work(most, most * _per_value(node, types, tables[node.weights].shape[1]))


@work.register
def _(node: ir.FixedLeafSums, types: Types, tables: Tables, values: Values | None) -> Work:
    n = np.diff(whole(tables[node.starts]))
    columns = columns_of(node.rule, np.diff(whole(tables[node.firsts])))
    flops = n * np.array([_per_value(node, types, int(one)) for one in columns])
    if values is None:
        return Work(float(n.max()), float(flops.max()))
    at = values[node.leaf]
    return Work(float(n[at].mean()), float(flops[at].mean()))


def _per_value(node: Any, types: Types, weights: int) -> int:
    return 2 * types[node.x].width + kernel_flops(node) + 2 * weights

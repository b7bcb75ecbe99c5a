"""A Taylor front end before a program that stops when its sign is certain: fewer rows reach that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from svmcompile.accelerate.bounds.margins import RowError
from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.accelerate.taylor.about import AnySum, Expansion
from svmcompile.accelerate.taylor.centres import Centres, grow
from svmcompile.accelerate.taylor.expansion import RbfSum
from svmcompile.accelerate.taylor.front import add_front, expansions
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.front import Front
from svmcompile.model.svm import SVM


def bounded_sum(program: Program) -> ir.BoundedSum | None:
    """The program's one sum that is computed as far as its sign needs; None if it has none."""
    for node in program.body:
        if isinstance(node, ir.BoundedSum) and node.tolerance < 0:
            return node
    return None


def _jet_sum(program: Program) -> ir.JetSum | None:
    return next((node for node in program.body if isinstance(node, ir.JetSum)), None)


def rbf_sum(node: ir.BoundedSum, program: Program, row: RowError) -> RbfSum:
    """The sum that a bounded sum is about."""
    vectors, weights = program.tables[node.vectors], program.tables[node.weights]
    vectors, weights = vectors[weights != 0], weights[weights != 0]
    norm = float(weights @ node.kernel.values(vectors, vectors) @ weights)
    bias = float(program.tables[node.bias][0])
    return RbfSum(vectors, weights, bias, node.kernel.gamma, norm, (row.constant, row.relative))


def with_front(svm: SVM, program: Program, row: RowError, rows: Array, leaves: int, order: int) -> Program:
    """The program with a Taylor front end; `rows` are rows as its bounded sum sees them."""
    node = bounded_sum(program)
    assert node is not None, "look for the sum first"
    whole, tree = rbf_sum(node, program, row), grow(rows, leaves)
    return insert_front(svm, program, whole, tree, expansions(whole, rows, tree, order))


def insert_front(
    svm: SVM,
    program: Program,
    whole: AnySum,
    tree: Centres,
    found: Sequence[Expansion],
    gates: tuple[float, ...] = (),
    name: str = "taylor",
) -> Program:
    """The program with these expansions before the sum that stops when its sign is certain."""
    x, out = behind(program)
    at = next(place for place, node in enumerate(program.body) if node.out == out) + 1
    builder = Builder(svm)
    builder.body, builder.tables = list(program.body[:at]), dict(program.tables)
    front = add_front(builder, whole, x, out, tree, found, gates, name)
    builder.body += [_reading(item, out, front) for item in program.body[at:]]
    return program.replace(body=tuple(builder.body), tables=builder.tables)


def front_alone(
    svm: SVM,
    before: Front,
    whole: AnySum,
    tree: Centres,
    found: Sequence[Expansion],
    gates: tuple[float, ...] = (),
) -> Program:
    """These expansions before the original's own sum in double; `before` leads to rows as they see them."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    x = builder.preprocess("bounded_", front=before)
    builder.body.extend(head_nodes(svm, add_front(builder, whole, x, exact, tree, found, gates)))
    return builder.program([Output("label", "label")], "taylor", Claim.SAME_LABEL)


def behind(program: Program) -> tuple[str, str]:
    """The row as the sum that rows come to sees it, and that sum: bounded, with jets, or guarded, or
    polynomials before it."""
    fronts = [node for node in program.body if isinstance(node, ir.TaylorSum)]
    node = fronts[-1] if fronts else bounded_sum(program) or _jet_sum(program)
    if node is not None:
        return node.x, node.out
    guard = next(node for node in program.body if isinstance(node, ir.Guard))
    plain = next(node for node in program.body if node.out == guard.score)
    assert isinstance(plain, ir.KernelSum)
    return plain.x, guard.out


def _reading(node: Node, old: str, new: str) -> Node:
    """The head, reading another value."""
    assert isinstance(node, ir.Threshold) and node.score == old
    return replace(node, score=new)


def shares(program: Program, rows: Array) -> list[float]:
    """Shares of rows that each order settles, and what is left."""
    from svmcompile.ir.interpret import interpret_values
    from svmcompile.ir.polynomials import taylor_orders

    nodes = [item for item in program.body if isinstance(item, ir.TaylorSum)]
    most = max(len(program.tables[node.margins]) for node in nodes)
    settled = np.full(len(rows), most)
    for node in nodes:  # those that rows come to first stand last
        found = interpret_values(program, rows, {node.x, node.leaf})
        orders = taylor_orders(At(node, program.tables), found[node.x], found[node.leaf])
        settled = np.where(orders.sure.any(axis=1), orders.settled, settled)
    return [float((settled == order).mean()) for order in range(most + 1)]

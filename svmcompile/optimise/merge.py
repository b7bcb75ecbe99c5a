"""Support vectors that are equal become one: sets of categories have many of them."""

from __future__ import annotations

from dataclasses import replace

from svmcompile.ir import nodes as ir
from svmcompile.ir.copies import merge_by_class
from svmcompile.ir.program import Program
from svmcompile.optimise.fold import rewrite


def merge_vectors(program: Program) -> Program:
    """Each kernel sum with its vectors once, the weights of copies added up; pairs within a class."""
    for node in program.body:
        if isinstance(node, (ir.KernelSum, ir.PairSum)) and node.kernel.kind != "precomputed":
            program = _merge_one(program, node)
    return program


def _merge_one(program: Program, node: ir.KernelSum | ir.PairSum) -> Program:
    vectors, weights = program.tables[node.vectors], program.tables[node.weights]
    counts = node.counts if isinstance(node, ir.PairSum) else ()
    merged, added, left = merge_by_class(vectors, weights, counts)
    if merged is vectors:
        return program
    new = replace(node, counts=left) if isinstance(node, ir.PairSum) else node
    body = [new if item is node else item for item in program.body]
    return rewrite(program, body, {node.vectors: merged, node.weights: added})

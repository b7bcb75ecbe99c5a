"""Support vectors that are equal become one: sets of categories have many of them. So do affine functions
whose results stand side by side, as those of wrapped linear machines do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

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


def merge_affines(program: Program) -> Program:
    """One affine function in place of several of the same value that are joined and read nowhere else."""
    made = {node.out: node for node in program.body}
    shown = Counter(output.value for output in program.outputs)
    read = shown + Counter(name for node in program.body for name in ir.operands(node))
    inner = {node.left for node in program.body if isinstance(node, ir.Join)}
    for join in [node for node in program.body if isinstance(node, ir.Join) and node.out not in inner]:
        parts, left = [made.get(join.right)], made.get(join.left)
        while isinstance(left, ir.Join) and read[left.out] == 1:
            parts, left = [*parts, made.get(left.right)], made.get(left.left)
        parts.append(left)
        own = [part for part in parts[::-1] if isinstance(part, ir.Affine) and read[part.out] == 1]
        if len(own) == len(parts) and len({part.x for part in own}) == 1:
            program = _one_affine(program, join, own)
    return program


def _one_affine(program: Program, join: ir.Join, parts: list[ir.Affine]) -> Program:
    """W (x - c) + b = W (x - a) + b + W (a - c), for all about the centre of the first."""
    t, first = program.tables, parts[0]
    weights, centre = [t[part.weights] for part in parts], t[first.centre]
    biases = [
        t[part.bias] + own @ (centre - t[part.centre]) for part, own in zip(parts, weights, strict=True)
    ]
    tables = {first.weights: np.concatenate(weights), first.bias: np.concatenate(biases)}
    body = [replace(first, out=join.out) if node is join else node for node in program.body]
    return rewrite(program, body, tables)

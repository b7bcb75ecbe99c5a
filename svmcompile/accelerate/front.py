"""Nodes of preprocessing: a step and the name of a value go in, the name of its result comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node
from svmcompile.ir.shift import nearest_float32, split_shift
from svmcompile.model import front as row

AddTable = Callable[[str, NDArray[Any]], str]


@dataclass
class Drawer:
    """Where nodes and tables go, under numbered names that start with `own`."""

    body: list[Node]
    table: AddTable
    indices: AddTable
    own: str = ""
    count: int = field(default=0)

    def add_all(self, steps: row.Steps, x: str) -> str:
        for step in steps:
            x = add_step(step, self, x)
        return x

    def number(self) -> int:
        self.count += 1
        return self.count - 1

    def add(self, node: Node) -> str:
        self.body.append(node)
        return node.out


@singledispatch
def add_step(step: row.Step, drawer: Drawer, x: str) -> str:
    """Adds the nodes of a step that reads the value `x`; the name of its result."""
    raise TypeError(f"no nodes for {type(step).__name__}")


@add_step.register
def _(step: row.ScaleStep, drawer: Drawer, x: str) -> str:
    n, own = drawer.number(), drawer.own
    shift, offset = split_shift(step.shift, step.factor)
    return drawer.add(
        ir.Scale(
            f"{own}z{n}",
            x,
            drawer.table(f"{own}shift{n}", shift),
            drawer.table(f"{own}factor{n}", step.factor),
            drawer.table(f"{own}offset{n}", offset),
        )
    )


@add_step.register
def _(step: row.ClipStep, drawer: Drawer, x: str) -> str:
    return drawer.add(ir.Clip(f"{drawer.own}z{drawer.number()}", x, step.low, step.high))


@add_step.register
def _(step: row.PickStep, drawer: Drawer, x: str) -> str:
    n, own = drawer.number(), drawer.own
    return drawer.add(ir.Pick(f"{own}z{n}", x, drawer.indices(f"{own}columns{n}", step.columns)))


@add_step.register
def _(step: row.NormalizeStep, drawer: Drawer, x: str) -> str:
    return drawer.add(ir.Normalize(f"{drawer.own}z{drawer.number()}", x, step.norm, step.least))


@add_step.register
def _(step: row.PowersStep, drawer: Drawer, x: str) -> str:
    n, own = drawer.number(), drawer.own
    return drawer.add(ir.Powers(f"{own}z{n}", x, drawer.indices(f"{own}factors{n}", step.factors)))


@add_step.register
def _(step: row.CosineStep, drawer: Drawer, x: str) -> str:
    return drawer.add(ir.Cosine(f"{drawer.own}z{drawer.number()}", x, step.factor))


@add_step.register
def _(step: row.FillStep, drawer: Drawer, x: str) -> str:
    n, own = drawer.number(), drawer.own
    values = drawer.table(f"{own}values{n}", step.values)
    return drawer.add(ir.Fill(f"{own}z{n}", x, values, step.nan, step.marker))


@add_step.register
def _(step: row.MissingStep, drawer: Drawer, x: str) -> str:
    return drawer.add(ir.Missing(f"{drawer.own}z{drawer.number()}", x, step.nan, step.marker))


@add_step.register
def _(step: row.ProjectStep, drawer: Drawer, x: str) -> str:
    """weights (x - centre) + bias, about a centre that float32 holds."""
    n, own = drawer.number(), drawer.own
    centre = nearest_float32(step.centre)
    bias = step.bias + step.weights @ (centre - step.centre)
    scores = drawer.add(
        ir.Affine(
            f"{own}map{n}",
            x,
            drawer.table(f"{own}map_weights{n}", step.weights),
            drawer.table(f"{own}map_bias{n}", bias),
            drawer.table(f"{own}map_centre{n}", centre),
        )
    )
    return drawer.add(ir.AsFeatures(f"{own}z{n}", scores))


@add_step.register
def _(step: row.KernelMapStep, drawer: Drawer, x: str) -> str:
    n, own = drawer.number(), drawer.own
    scores = drawer.add(
        ir.KernelSum(
            f"{own}map{n}",
            x,
            drawer.table(f"{own}map_vectors{n}", step.vectors),
            drawer.table(f"{own}map_weights{n}", step.weights),
            drawer.table(f"{own}map_bias{n}", np.zeros(len(step.weights))),
            step.kernel,
        )
    )
    return drawer.add(ir.AsFeatures(f"{own}z{n}", scores))


@add_step.register
def _(step: row.JoinStep, drawer: Drawer, x: str) -> str:
    ends = [drawer.add_all(branch, x) for branch in step.branches]
    joined = ends[0]
    for end in ends[1:]:
        joined = drawer.add(ir.Join(f"{drawer.own}z{drawer.number()}", joined, end))
    return joined

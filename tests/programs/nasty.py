"""A float32 backend that rounds as badly as it may: any order, functions at the edge of their errors."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC
from svmcompile.ir.node import run
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Program

Array = NDArray[Any]
BLOCK = 16  # values summed up in float32 before they go to double


class Nasty:
    """Runs a machine program, its sums in an order drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def scores(self, program: Program, rows: Array) -> tuple[Array, Array | None]:
        env: dict[str, Array] = {"x": rows.astype(np.float32)}
        with np.errstate(all="ignore"):
            for node in program.body:
                env[node.out] = nasty(node, env, program.tables, self)
        label = program.output("label")
        return env[program.output("scores") or program.output("value") or ""], env[label] if label else None

    def order(self, count: int) -> Array:
        """A random order, forwards or backwards."""
        return np.asarray(
            [np.arange(count), np.arange(count)[::-1], self.random.permutation(count)][
                self.random.integers(3)
            ]
        )

    def sum(self, terms: Array) -> Array:
        """The sum over the last axis, one float32 addition after the other."""
        if not terms.shape[-1]:
            return np.zeros(terms.shape[:-1], np.float32)
        return np.add.accumulate(terms[..., self.order(terms.shape[-1])], axis=-1, dtype=np.float32)[
            ..., -1
        ]

    def blocks(self, terms: Array) -> Array:
        """Blocks of sixteen in float32, the blocks in double."""
        terms = terms[..., self.order(terms.shape[-1])]
        total = np.zeros(terms.shape[:-1])
        for at in range(0, terms.shape[-1], BLOCK):
            total += self.sum(terms[..., at : at + BLOCK])
        return total

    def sign(self, like: Array) -> Array:
        return self.random.choice([-1.0, 1.0], size=like.shape)


@singledispatch
def nasty(node: ir.Node, env: Any, tables: Any, by: Nasty) -> Array:
    """Heads and scalings have no order to vary."""
    return run(node, env, tables)


@nasty.register
def _(node: ir.PackedSum, env: Any, tables: Any, by: Nasty) -> Array:
    x = env[node.x]
    t = by.sum(x[:, None, :] * tables[node.vectors][None])
    if node.shape == "exp2":
        half = by.sum(np.float32(0.5) * np.square(x, dtype=np.float64)).astype(np.float32)
        t = np.minimum(t + (tables[node.offsets] - half[:, None]), 0)
        exact = np.exp2(t.astype(np.float64))
        values = (exact * (1 + by.sign(t) * ARITHMETIC["f32"].exp_error)).astype(np.float32)
        values[t < -126] = 0
    else:
        values = _shaped(node, t + tables[node.offsets], by)
    return _weighted(node, values, tables, by)


def _shaped(node: ir.PackedSum, t: Array, by: Nasty) -> Array:
    if node.shape == "tanh":
        error = by.sign(t) * ARITHMETIC["f32"].tanh_error * 0.8  # the rest is rounding to float32
        return np.asarray((np.tanh(t.astype(np.float64)) + error).astype(np.float32))
    if node.shape == "power":
        result = np.ones_like(t)
        for _ in range(node.degree):  # not by squaring
            result = result * t
        return result
    return t


def _weighted(node: ir.PackedSum, values: Array, tables: Any, by: Nasty) -> Array:
    weights, bias = tables[node.weights], tables[node.bias].astype(np.float64)
    if node.counts:
        ends = np.cumsum(node.counts)
        groups = [slice(end - count, end) for end, count in zip(ends, node.counts, strict=True)]
        terms = [
            np.hstack(
                [
                    values[:, groups[i]] * weights[groups[i], j - 1],
                    values[:, groups[j]] * weights[groups[j], i],
                ]
            )
            for i, j in pair_indices(len(node.counts))
        ]
    else:
        terms = [values * column for column in weights.T]
    sums = np.stack([by.blocks(items) for items in terms], axis=1)
    return np.asarray((sums + bias).astype(np.float32))


@nasty.register
def _(node: ir.Affine, env: Any, tables: Any, by: Nasty) -> Array:
    h = env[node.x] - tables[node.centre]
    bias = np.broadcast_to(tables[node.bias], (len(h), len(tables[node.bias])))
    terms = np.concatenate([h[:, None, :] * tables[node.weights], bias[:, :, None]], axis=2)
    return by.sum(terms)


@nasty.register
def _(node: ir.Quadratic, env: Any, tables: Any, by: Nasty) -> Array:
    """Row by row, as every backend does: slopes first, then slopes times features."""
    h = env[node.x] - tables[node.centre]
    d, m = h.shape[1], len(tables[node.bias])
    matrix = np.zeros((m, d, d), np.float32)
    matrix[(slice(None), *np.triu_indices(d))] = tables[node.squares]
    plain = np.broadcast_to(tables[node.weights][None, :, :, None], (len(h), m, d, 1))
    slopes = by.sum(np.concatenate([matrix * h[:, None, None, :], plain], axis=3))
    bias = np.broadcast_to(tables[node.bias], (len(h), m))
    return by.sum(np.concatenate([slopes * h[:, None, :], bias[:, :, None]], axis=2))

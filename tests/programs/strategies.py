"""Random programs: `programs()` of math nodes, `machine_programs()` lowered from them.

Every program comes with probe rows in its own input space, float32 numbers,
on which its kernels neither vanish nor overflow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32, split_shift
from svmcompile.ir.check import check
from svmcompile.ir.kernel import KERNEL_KINDS, Kernel
from svmcompile.ir.node import run
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.lower import lower
from svmcompile.optimise import optimise

Array = NDArray[Any]
ROWS = 8
WORDS = ("a", "B c", 'quote"', "\u00e9\u00e8", "back\\slash")
SUM_NODES = ("kernel", "affine", "quadratic")


@dataclass
class Workshop:
    """Nodes and tables so far, and where the rows are after the steps so far."""

    draw: Any
    random: np.random.Generator
    rows: Array
    body: list[ir.Node] = field(default_factory=list)
    tables: dict[str, Array] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    def table(self, name: str, array: Any) -> str:
        self.tables[name] = np.asarray(array, dtype=np.float64)
        return name

    def add(self, node: ir.Node) -> str:
        self.body.append(node)
        return node.out

    def normal(self, *shape: int) -> Array:
        return self.random.normal(size=shape)


def origin(vectors: int = 0) -> Origin:
    """An origin that says nothing."""
    return Origin("test", "0" * 64, vectors, 0, "exact", Claim.EXACT)


@st.composite
def programs(draw: Any) -> Program:
    """Small math programs over all node kinds, kernels and heads; all pass `check`."""
    shop = _workshop(draw)
    probes = shop.rows
    x = _steps(shop)
    head = draw(st.sampled_from(["value", "threshold", "argmax", "vote", "ovr", "break-ties"]))
    classes = {"value": 0, "threshold": 2}.get(head, draw(st.integers(2, 5)))
    outputs = _head(shop, x, head, classes)
    names = tuple(f"feature {i}" for i in range(probes.shape[1])) if draw(st.booleans()) else ()
    return check(
        Program(
            Input(probes.shape[1], "x", names),
            tuple(shop.body),
            tuple(outputs),
            shop.tables,
            _labels(draw, classes) if classes else None,
            origin(),
            probes=probes,
        )
    )


@st.composite
def machine_programs(draw: Any, number: Any = None) -> Program:
    """Machine programs of the number type, or of either."""
    chosen = number or draw(st.sampled_from(["f32", "f64"]))
    try:
        return lower(optimise(draw(programs())), chosen)
    except EmitError:  # beyond float32
        assume(False)
        raise


def _workshop(draw: Any) -> Workshop:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width = draw(st.integers(1, 4))
    size = draw(st.sampled_from([1.0, 1e-6, 1e6])) * 10.0 ** random.uniform(-1, 1, width)
    place = draw(st.sampled_from([0.0, 1.0, 1000.0])) * random.normal(size=width)
    rows = (place + random.normal(size=(ROWS, width))) * size
    if draw(st.booleans()):
        rows[random.random(rows.shape) < 0.2] = 0.0
    return Workshop(draw, random, nearest_float32(rows))


def _steps(shop: Workshop) -> str:
    """A chain of scalings, clippings and other preprocessing; the name of its result."""
    values = {"x": shop.rows}
    kinds = shop.draw(st.lists(st.sampled_from(["scale", "clip", *STEPS]), max_size=4))
    x = "x"
    for index, kind in enumerate(kinds):
        step = STEPS[kind](shop, x, index, values)
        values[step.out] = shop.rows = run(step, values, shop.tables)
        if isinstance(step, ir.Affine):
            shop.add(step)
            step = ir.AsFeatures(f"z{index}", step.out)
            values[step.out] = shop.rows
            del values[step.scores]
        x = shop.add(step)
    return x


def _spread(shop: Workshop) -> Array:
    spread = shop.rows.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _scale(shop: Workshop, x: str, index: int, values: Any) -> ir.Scale:
    wanted = shop.rows.mean(axis=0) + shop.normal(shop.width) * _spread(shop)
    factor = shop.random.uniform(0.3, 3, shop.width) / _spread(shop)
    if shop.draw(st.booleans()):
        factor[0] = 0.0  # a feature that is switched off
    shift, offset = split_shift(wanted, factor)
    if shop.draw(st.booleans()):
        offset = offset + shop.normal(shop.width)
    names = [
        shop.table(f"{name}{index}", t) for name, t in zip("sfo", (shift, factor, offset), strict=True)
    ]
    if not offset.any() and not shift.any() and shop.draw(st.booleans()):
        del shop.tables[names[2]]  # one table of zeros for two fields
        names[2] = names[0]
    return ir.Scale(f"z{index}", x, *names)


def _clip(shop: Workshop, x: str, index: int, values: Any) -> ir.Clip:
    low, high = np.quantile(shop.rows, [0.2, 0.8])
    return ir.Clip(f"z{index}", x, float(low), float(high))


def _pick(shop: Workshop, x: str, index: int, values: Any) -> ir.Pick:
    count = shop.draw(st.integers(1, shop.width))
    shop.tables[f"p{index}"] = shop.random.permutation(shop.width)[:count].astype(np.int32)
    return ir.Pick(f"z{index}", x, f"p{index}")


def _normalize(shop: Workshop, x: str, index: int, values: Any) -> ir.Normalize:
    return ir.Normalize(f"z{index}", x, shop.draw(st.sampled_from(["l1", "l2", "max"])), 2e-15)


def _powers(shop: Workshop, x: str, index: int, values: Any) -> ir.Powers:
    shape = (shop.draw(st.integers(1, 5)), shop.draw(st.integers(1, 3)))
    shop.tables[f"p{index}"] = shop.random.integers(shop.width + 1, size=shape).astype(np.int32)
    return ir.Powers(f"z{index}", x, f"p{index}")


def _cosine(shop: Workshop, x: str, index: int, values: Any) -> ir.Cosine:
    return ir.Cosine(f"z{index}", x, float(shop.random.uniform(0.1, 2)))


def _fill(shop: Workshop, x: str, index: int, values: Any) -> ir.Node:
    if shop.draw(st.booleans()):
        return ir.Missing(f"z{index}", x, shop.draw(st.booleans()), 0.0)
    table = shop.table(f"p{index}", shop.rows.mean(axis=0))
    return ir.Fill(f"z{index}", x, table, shop.draw(st.booleans()), 0.0)


def _join(shop: Workshop, x: str, index: int, values: Any) -> ir.Join:
    """With any value so far, if the two are not too wide together."""
    small = [name for name, rows in values.items() if rows.shape[1] + shop.width <= 8] or [x]
    other = shop.draw(st.sampled_from(sorted(small)))
    return ir.Join(f"z{index}", x, other) if shop.draw(st.booleans()) else ir.Join(f"z{index}", other, x)


def _project(shop: Workshop, x: str, index: int, values: Any) -> ir.Affine:
    count = shop.draw(st.integers(1, 3))
    bias = shop.table(f"p{index}_b", shop.normal(count))
    return _affine(shop, x, f"p{index}", count, 1.0, bias)


STEPS: dict[str, Any] = {
    "scale": _scale, "clip": _clip, "pick": _pick, "normalize": _normalize, "powers": _powers,
    "cosine": _cosine, "fill": _fill, "join": _join, "project": _project,
}  # fmt: skip


def _head(shop: Workshop, x: str, head: str, classes: int) -> list[Output]:
    """Sums and what is made of them; sometimes scores and label come from different sums."""
    if head == "value":
        return [Output("value", _sums(shop, x, "sums", 1))]
    count = {"threshold": 1, "argmax": classes}.get(head, classes * (classes - 1) // 2)
    pairs = classes if head not in ("argmax", "threshold") else 2 * (head == "threshold")
    sums = _sums(shop, x, "sums", count, pairs)
    scores = other = _sums(shop, x, "others", count, pairs) if shop.draw(st.integers(0, 4)) == 0 else sums
    if head in ("ovr", "break-ties"):
        scores = shop.add(ir.OvrScores("scores", other, classes))
    if head == "threshold":
        hit = shop.draw(st.integers(0, 1))
        label: ir.Node = ir.Threshold("label", sums, shop.draw(st.booleans()), hit, 1 - hit)
    elif head == "argmax" or head == "break-ties":
        label = ir.ArgMax("label", scores if head == "break-ties" else sums)
    else:
        label = ir.Vote("label", sums, classes)
    shop.add(label)
    used = {name for node in shop.body for name in ir.operands(node)} | {scores, "label"}
    _drop(shop, {sums} - used)
    return [Output("scores", scores), Output("label", "label")]


def _drop(shop: Workshop, values: set[str]) -> None:
    """Takes out nodes nobody reads, with their tables."""
    gone = [node for node in shop.body if node.out in values]
    shop.body = [node for node in shop.body if node not in gone]
    kept = {name for node in shop.body for name in ir.table_names(node)}
    shop.tables = {name: table for name, table in shop.tables.items() if name in kept}


def _sums(shop: Workshop, x: str, out: str, count: int, pairs: int = 0) -> str:
    """A node that gives `count` sums, one per pair of `pairs` classes where that is not 0."""
    kinds = [*SUM_NODES, "pairs", "pairs"] if pairs else SUM_NODES
    kind = shop.draw(st.sampled_from(kinds))
    size = shop.draw(st.sampled_from([1.0, 1e-5, 1e5]))
    bias = shop.table(f"{out}_b", size * shop.normal(count))
    if kind == "affine":
        return shop.add(_affine(shop, x, out, count, size, bias))
    if kind == "quadratic":
        return shop.add(_quadratic(shop, x, out, count, size, bias))
    counts = tuple(shop.draw(st.lists(st.integers(0, 4), min_size=pairs, max_size=pairs)))
    n = sum(counts) if kind == "pairs" else shop.draw(st.integers(0, 20))
    vectors = shop.table(f"{out}_v", _vectors(shop, n))
    kernel = _kernel(shop)
    columns = pairs - 1 if kind == "pairs" else count
    weights = shop.table(f"{out}_w", size * shop.normal(columns, n))
    if kind == "pairs":
        return shop.add(ir.PairSum(out, x, vectors, weights, bias, counts, kernel))
    return shop.add(ir.KernelSum(out, x, vectors, weights, bias, kernel))


def _vectors(shop: Workshop, n: int) -> Array:
    """Some of the rows themselves, some near them."""
    picks = shop.random.integers(len(shop.rows), size=n)
    away = shop.normal(n, shop.width) * _spread(shop) * (shop.random.random((n, 1)) < 0.7)
    return np.asarray(shop.rows[picks] + away)


def _kernel(shop: Workshop) -> Kernel:
    kind = shop.draw(st.sampled_from([kind for kind in KERNEL_KINDS if kind != "precomputed"]))
    strength = shop.draw(st.sampled_from([1.0, 0.01, 0.0, 30.0] if kind == "rbf" else [1.0, 0.01]))
    spread = np.square(_spread(shop)).sum() if kind == "rbf" else np.square(shop.rows).sum(axis=1).mean()
    coef0 = shop.draw(st.sampled_from([0.0, 1.0, -0.5]))
    return Kernel(kind, float(strength / (spread or 1.0)), coef0, shop.draw(st.integers(0, 4)))


def _centre(shop: Workshop) -> Array:
    return nearest_float32(shop.rows.mean(axis=0))


def _affine(shop: Workshop, x: str, out: str, count: int, size: float, bias: str) -> ir.Affine:
    weights = shop.table(f"{out}_w", size * shop.normal(count, shop.width) / _spread(shop))
    return ir.Affine(out, x, weights, bias, shop.table(f"{out}_c", _centre(shop)))


def _quadratic(shop: Workshop, x: str, out: str, count: int, size: float, bias: str) -> ir.Quadratic:
    rows, columns = np.triu_indices(shop.width)
    scale = _spread(shop)[rows] * _spread(shop)[columns]
    squares = shop.table(f"{out}_q", size * shop.normal(count, len(rows)) / scale)
    weights = shop.table(f"{out}_w", size * shop.normal(count, shop.width) / _spread(shop))
    return ir.Quadratic(out, x, squares, weights, bias, shop.table(f"{out}_c", _centre(shop)))


def _labels(draw: Any, classes: int) -> Labels:
    kinds: list[tuple[Any, str]] = [
        (range(classes), "<i8"),
        (range(-1, classes - 1), "<i4"),
        ([0.5 * i for i in range(classes)], "<f8"),
        (WORDS[:classes], "<U10"),
        (WORDS[:classes], "object"),
    ]
    if classes == 2:
        kinds.append(([False, True], "|b1"))
    values, dtype = draw(st.sampled_from(kinds))
    return Labels(tuple(values), dtype)

"""Small programs whose heads give probabilities: every node of that family is in one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from programs.strategies import origin

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.program import Input, Labels, Program
from svmcompile.model.head import HeadMaker

WIDTH = 3


def _affine(sums: int) -> tuple[ir.Affine, dict[str, NDArray[Any]]]:
    random = np.random.default_rng(sums)
    tables = {"w": random.normal(size=(sums, WIDTH)), "b": random.normal(size=sums), "c": np.zeros(WIDTH)}
    return ir.Affine("sums", "x", "w", "b", "c"), tables


def _program(sums: int, classes: int, chances: str, maker: HeadMaker) -> Program:
    node, tables = _affine(sums)
    scores = "sums" if sums > 0 else None
    head = maker.head(
        {"scores": scores, "label": maker.largest(chances), "probabilities": chances}
    ).pruned()
    return check(
        Program(
            Input(WIDTH),
            (node, *head.nodes),
            head.outputs,
            {**tables, **head.tables},
            Labels(tuple(range(classes)), "<i8"),
            origin(),
        )
    )


def coupled(classes: int) -> Program:
    """Platt's probabilities of pairs, coupled."""
    random, pairs = np.random.default_rng(classes), classes * (classes - 1) // 2
    maker = HeadMaker()
    chances = maker.pair_probabilities(
        (-2 * random.random(pairs) - 0.5, random.normal(size=pairs)), "sums", 1
    )
    return _program(pairs, classes, maker.add(ir.Couple(maker.name("p"), chances, classes)), maker)


def calibrated(classes: int, members: int, isotonic: bool) -> Program:
    """The mean of calibrated members; the first two stand beside each other."""
    random, columns = np.random.default_rng(classes), 1 if classes == 2 else classes
    count, maker = columns * members, HeadMaker()
    order = random.permutation(count)
    left = maker.columns("left", "sums", order[: count // 2 or 1])
    right = maker.columns("right", "sums", order[count // 2 :])
    scores = maker.beside("both_sides", [left, right]) if count > 1 else right
    if isotonic:
        knots = [np.unique(np.round(random.normal(size=6), 2)) for _ in range(count)]
        levels = [np.sort(random.random(len(k)).round(1)) for k in knots]
        levels[0] = levels[0][::-1]
        starts = maker.indices("starts", np.cumsum([0, *map(len, knots)]))
        tables = maker.table("knots", np.concatenate(knots)), maker.table("levels", np.concatenate(levels))
        p = maker.add(ir.Isotonic(maker.name("lines"), scores, starts, *tables))
    else:
        a, b = maker.table("a", random.normal(size=count)), maker.table("bb", random.normal(size=count))
        p = maker.add(ir.Sigmoid(maker.name("sigmoid"), scores, a, b, 0.0))
    if classes == 2:
        p = maker.add(ir.Complement(maker.name("each"), p))
    else:
        p = maker.add(ir.Shares(maker.name("shares"), p, members, 1 / classes))
    p = maker.add(ir.Mean(maker.name("mean"), p, members)) if members > 1 else p
    return _program(count, classes, p, maker)


def density() -> Program:
    """LIBSVM's probabilities of a one-class model, and raw scores."""
    maker = HeadMaker()
    marks = maker.table("marks", np.linspace(-2, 2.5, 10))
    p = maker.add(ir.Density(maker.name("p"), "sums", marks))
    samples = maker.add(ir.Shifted(maker.name("samples"), "sums", maker.table("by", [1.5])))
    node, tables = _affine(1)
    label = maker.add(ir.Threshold("label", "sums", True, 1, 0))
    head = maker.head({"scores": "sums", "label": label, "probabilities": p, "samples": samples})
    labels = Labels((-1, 1), "<i8")
    nodes = (node, *head.nodes)
    return check(Program(Input(WIDTH), nodes, head.outputs, {**tables, **head.tables}, labels, origin()))


def softmax(classes: int, factor: float) -> Program:
    """Exponentials of the scores, divided by their sum."""
    maker = HeadMaker()
    return _program(classes, classes, maker.add(ir.Softmax(maker.name("p"), "sums", factor)), maker)


PROGRAMS = {
    "softmax-2": softmax(2, 1.0),
    "softmax-5": softmax(5, 0.3),
    "coupled-2": coupled(2),
    "coupled-3": coupled(3),
    "coupled-7": coupled(7),
    "sigmoid-2": calibrated(2, 1, False),
    "sigmoid-2-mean": calibrated(2, 3, False),
    "sigmoid-4-mean": calibrated(4, 2, False),
    "isotonic-2-mean": calibrated(2, 5, True),
    "isotonic-3": calibrated(3, 1, True),
    "density": density(),
}


def rows(count: int = 200) -> NDArray[np.float64]:
    """Float32 numbers, the last two rows not finite."""
    found = 2 * np.random.default_rng(5).normal(size=(count, WIDTH)).astype(np.float32).astype(np.float64)
    found[-2, 0], found[-1, 1] = np.nan, np.inf
    return found

"""Machines, rows that are hard to decide, and a float32 rendering of bounded sums."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.bounds.margins import kernel_error, row_error
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.order import order_basis
from svmcompile.accelerate.bounds.stages import Errors, Readings
from svmcompile.accelerate.bounds.sums import Sum, reach_of
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Array
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM
from svmcompile.read import read

KINDS = ("rbf", "poly", "far", "wide")


@cache
def machine(kind: str) -> tuple[Any, Any]:
    """Rows and a machine of two classes: small, polynomial, far from the origin, many features."""
    if kind == "wide":
        X, y = load_digits(return_X_y=True)
        X, y = X[np.isin(y, (3, 8))] / 16.0, y[np.isin(y, (3, 8))]
        return X, SVC(C=5.0, gamma=0.03).fit(X[:200], y[:200])
    if kind == "far":
        X, y = make_moons(300, noise=0.25, random_state=1)
        X = X + np.array([300.0, -500.0])
        return X, SVC(C=10.0, gamma=0.5).fit(X, y)
    if kind == "poly":
        X, y = load_breast_cancer(return_X_y=True)
        return X, make_pipeline(StandardScaler(), SVC(kernel="poly", degree=3, coef0=1.0, gamma=0.02)).fit(
            X, y
        )
    X, y = make_moons(300, noise=0.25, random_state=0)
    X = X * [3.0, 0.5] + [10.0, -2.0]
    return X, make_pipeline(StandardScaler(), SVC(C=2.0, gamma=0.5)).fit(X, y)


def compiled(kind: str, **options: Any) -> Program:
    X, model = machine(kind)
    program: Program = sc.compile(
        model, method="anytime", X=X, **{"force": True, "tune": "flops", **options}
    )
    return program


def sum_of(model: Any) -> tuple[SVM, Sum]:
    svm = read(model)
    return svm, Sum(svm.kernel, svm.vectors, svm.coefficients[0], float(svm.intercepts[0]))


def readings(model: Any, points: Array, rows: Array | None = None, **options: Any) -> tuple[Sum, Readings]:
    """Scores and gaps after every value, for points in the kernel's space."""
    svm, own = sum_of(model)
    found = order_basis(own, svm.vectors[:0] if rows is None else rows, AnytimeOptions(**options))
    met = np.concatenate([own.vectors, found.basis.points])
    error = kernel_error(svm.kernel, met, row_error(svm.front, svm.n_features))
    errors = Errors.of(found.basis, own.bias, error)
    return own, Readings.of(own, found.basis, errors, points, reach_of(met))


def hard_rows(model: Any, X: Array, seed: int = 0, count: int = 200) -> Array:
    """Input rows, as float32 numbers: some given, midpoints, noise, far ones, and ones on the border."""
    random = np.random.default_rng(seed)
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    spread = X.std(axis=0) + 1e-12
    near = first + random.normal(size=first.shape) * spread * 0.3
    far = X.mean(axis=0) + random.normal(size=first.shape) * spread * 6
    parts = [first, (first + second) / 2, near, far, bisected(model, first, second)]
    return np.concatenate(parts).astype(np.float32).astype(np.float64)


def bisected(model: Any, start: Array, end: Array) -> Array:
    """Points between rows of different labels, as near to f = 0 as float32 gets."""
    f = model.decision_function
    low, high = (side.astype(np.float32) for side in (start, end))
    differ = np.sign(f(low)) != np.sign(f(high))
    low, high = low[differ], high[differ]
    for _ in range(40):
        middle = ((low + high) / 2).astype(np.float32)
        same = np.sign(f(middle)) == np.sign(f(low))
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    return low.astype(np.float64)


def bounded(program: Program) -> ir.BoundedSum:
    return next(node for node in program.body if isinstance(node, ir.BoundedSum))


def in_float32(program: Program, rows: Array, slip: float = 0.0, seed: int = 0) -> tuple[Array, Array]:
    """Scores and errors of every stage, the last after all vectors, as plain float32 code has them.

    `slip` moves kernel values by up to that share, as another exp2 might.
    """
    node = bounded(program)
    narrow = narrowed(program, node)
    x, t = interpret_values(narrow, rows, {node.x})[node.x].astype(np.float32), narrow.tables
    k, size, own = _values(node, x, t[node.vectors])
    random = np.random.default_rng(seed)
    k = (k * (1 + slip * random.choice([-1.0, 1.0], size=k.shape))).astype(np.float32)
    r = len(t[node.projection])
    lower = np.zeros((r, r), dtype=np.float32)
    lower[np.tril_indices(r)] = t[node.coordinates][: r * (r + 1) // 2]
    q = _dots(k[:, :r], lower)
    scores, errors, at = [], [], 0
    for s, end in enumerate(t[node.ends]):
        known = min(int(end), r)
        if end <= r:
            score = _dots(q[:, :end], t[node.projection][None, :end])[:, 0]
        else:
            score = _dots(k[:, :end], t[node.estimates][None, at : at + end])[:, 0]
            at += end
        left = np.maximum(own - _dots(q[:, :known] ** 2, np.ones((1, known), dtype=np.float32))[:, 0], 0)
        error = t[node.residuals][s] * np.sqrt(left + t[node.slacks][s] * size * size)
        scores.append(score + t[node.bias][0])
        errors.append(error + t[node.margins][s] * size)
    last, spread = _direct(k, t[node.weights])
    scores.append((last + t[node.bias][0]).astype(np.float32))
    errors.append(t[node.rounding][0] * spread.astype(np.float32) + t[node.rounding][1] * size)
    return np.stack(scores, axis=1), np.stack(errors, axis=1)


def narrowed(program: Program, node: ir.BoundedSum) -> Program:
    """The program with tables of float32 numbers, and no further than the row of its sum."""
    tables = {
        name: table.astype(np.float32) if table.dtype == np.float64 else table
        for name, table in program.tables.items()
    }
    return program.replace(tables=tables, number="f32")


def _values(node: ir.BoundedSum, x: Any, vectors: Any) -> tuple[Any, Any, Any]:
    """Kernel values, sizes and k(x, x), one operation after another in float32."""
    total = np.zeros((len(x), len(vectors)), dtype=np.float32)
    for feature in range(x.shape[1]):
        if node.kernel.kind == "rbf":
            h = x[:, feature, None] - vectors[None, :, feature]
            total += h * h
        else:
            total += x[:, feature, None] * vectors[None, :, feature]
    one = np.ones(len(x), dtype=np.float32)
    if node.kernel.kind == "rbf":
        return np.exp2(-np.float32(node.kernel.gamma * np.log2(np.e)) * total), one, one
    gamma, coef0, p = np.float32(node.kernel.gamma), np.float32(node.kernel.coef0), node.kernel.degree
    square = _dots(x * x, np.ones((1, x.shape[1]), dtype=np.float32))[:, 0]
    length = np.sqrt(square)
    size = np.maximum((gamma * length * np.maximum(length, np.float32(node.reach)) + coef0) ** p, one)
    return (gamma * total + coef0) ** p, size, (gamma * square + coef0) ** p


def _dots(left: Any, right: Any) -> Any:
    """left right' with one float32 addition after another."""
    total = np.zeros((left.shape[0], right.shape[0]), dtype=np.float32)
    for column in range(left.shape[1]):
        total += left[:, column, None] * right[None, :, column]
    return total


def _direct(k: Any, weights: Any) -> tuple[Any, Any]:
    """sum w k and sum |w k|, blocks of 32 in float32, then in double."""
    totals = np.zeros((2, len(k)))
    for at in range(0, len(weights), 32):
        block, part = k[:, at : at + 32], weights[None, at : at + 32]
        totals[0] += _dots(block, part)[:, 0]
        totals[1] += _dots(np.abs(block), np.abs(part))[:, 0]
    return totals[0], totals[1]

"""Programs of Taylor polynomials before an exact sum in double, for sums made up or trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.accelerate.taylor.front import add_front, grow_centres
from svmcompile.accelerate.taylor.sums import PolySum, RbfSum
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.svm import SVM
from svmcompile.read import read


@dataclass(frozen=True, eq=False)
class Sum:
    """bias + sum_i weights_i kernel(x, vectors_i), and rows; an RBF kernel unless it has a degree."""

    vectors: Array
    weights: Array
    bias: float
    gamma: float
    rows: Array
    degree: int = 0
    coef0: float = 0.0

    @classmethod
    def of(cls, model: Any, rows: Array) -> Sum:
        """That of a trained SVC for two classes."""
        bias = float(model.intercept_[0])
        own = (model.degree, model.coef0) if model.kernel == "poly" else (0, 0.0)
        return cls(model.support_vectors_, model.dual_coef_[0], bias, float(model._gamma), rows, *own)

    @property
    def kernel(self) -> Kernel:
        if self.degree:
            return Kernel("poly", self.gamma, self.coef0, self.degree)
        return Kernel("rbf", self.gamma)

    @property
    def whole(self) -> RbfSum | PolySum:
        error = (0.0, 0.0)
        if self.degree:
            parts = (self.vectors, self.weights, self.bias, self.gamma)
            return PolySum(*parts, self.coef0, self.degree, error)
        norm = float(self.weights @ self.kernel.values(self.vectors, self.vectors) @ self.weights)
        return RbfSum(self.vectors, self.weights, self.bias, self.gamma, norm, error)

    def values(self, rows: Array) -> Array:
        return self.kernel.values(rows, self.vectors) @ self.weights + self.bias

    def on_the_boundary(self, count: int) -> Array:
        """Both sides of it, as close as float32 has them."""
        f = self.values(self.rows)
        generator = np.random.default_rng(0)
        if not (f > 0).any() or (f > 0).all():
            return self.rows[:0]
        a, b = (self.rows[generator.choice(np.flatnonzero(side), count)] for side in (f > 0, f <= 0))
        for _ in range(60):
            middle = (a + b) / 2
            above = self.values(middle)[:, None] > 0
            a, b = np.where(above, middle, a), np.where(above, b, middle)
        return np.vstack([a, b]).astype(np.float32).astype(np.float64)

    def svm(self) -> SVM:
        from sklearn.svm import SVC

        d = self.vectors.shape[1]
        model = SVC(gamma=1.0).fit(np.stack([np.zeros(d), np.ones(d)]), [0, 1])
        return replace(
            read(model),
            vectors=self.vectors,
            coefficients=self.weights[None],
            intercepts=np.array([self.bias]),
            kernel=self.kernel,
        )


def taylor_program(
    given: Sum,
    leaves: int = 1,
    order: int = 2,
    rank: int = 0,
    gates: tuple[float, ...] = (),
    sparse: bool = False,
) -> Program:
    """Polynomials about the centres of the rows, and the exact sum in double for rows they leave."""
    svm = given.svm()
    builder = Builder(svm)
    exact = builder.exact_in_double()
    tree, whole = grow_centres(given.rows, leaves), given.whole
    seen = [whole.seen_from(given.rows[part], 8) for part in tree.parts]
    found = [one.expansion(min(order, whole.most_order), rank, sparse=sparse) for one in seen]
    front = add_front(builder, whole, builder.preprocess(), exact, tree, found, gates)
    builder.body.extend(head_nodes(svm, front))
    return check(builder.program([Output("label", "label")], "taylor", Claim.SAME_LABEL))


def random_sum(d: int, m: int, gamma: float, scale: float = 1.0, mean: float = 0.0, seed: int = 0) -> Sum:
    """Vectors, weights and rows of a normal distribution."""
    generator = np.random.default_rng(seed)
    vectors, rows = (generator.normal(mean, scale, (count, d)) for count in (m, 40))
    return Sum(vectors, generator.normal(size=m), 0.1, gamma, rows)

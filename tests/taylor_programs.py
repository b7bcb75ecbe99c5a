"""Programs of Taylor polynomials before an exact sum in double, for sums made up or trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmcompile.accelerate.exact import Builder, head_nodes
from svmcompile.accelerate.taylor.centres import grow
from svmcompile.accelerate.taylor.expansion import Local, RbfSum
from svmcompile.accelerate.taylor.front import add_front
from svmcompile.ir.check import check
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.kernel import Array, Kernel
from svmcompile.read import read
from svmcompile.svm import SVM


@dataclass(frozen=True, eq=False)
class Sum:
    """bias + sum_i weights_i exp(-gamma |x - vectors_i|^2), and rows it is asked about."""

    vectors: Array
    weights: Array
    bias: float
    gamma: float
    rows: Array

    @classmethod
    def of(cls, model: Any, rows: Array) -> Sum:
        """That of a trained SVC for two classes."""
        bias = float(model.intercept_[0])
        return cls(model.support_vectors_, model.dual_coef_[0], bias, float(model._gamma), rows)

    @property
    def whole(self) -> RbfSum:
        kernels = Kernel("rbf", self.gamma).values(self.vectors, self.vectors)
        norm = float(self.weights @ kernels @ self.weights)
        return RbfSum(self.vectors, self.weights, self.bias, self.gamma, norm, (0.0, 0.0))

    def values(self, rows: Array) -> Array:
        return Kernel("rbf", self.gamma).values(rows, self.vectors) @ self.weights + self.bias

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
            kernel=Kernel("rbf", self.gamma),
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
    tree, whole = grow(given.rows, leaves), given.whole
    found = [Local(whole, given.rows[part], 8).expansion(order, rank, sparse=sparse) for part in tree.parts]
    front = add_front(builder, whole, builder.preprocess(), exact, tree, found, gates)
    builder.body.extend(head_nodes(svm, front))
    return check(builder.program([Output("label", "label")], "taylor", Claim.SAME_LABEL))


def random_sum(d: int, m: int, gamma: float, scale: float = 1.0, mean: float = 0.0, seed: int = 0) -> Sum:
    """Vectors, weights and rows of a normal distribution."""
    generator = np.random.default_rng(seed)
    vectors, rows = (generator.normal(mean, scale, (count, d)) for count in (m, 40))
    return Sum(vectors, generator.normal(size=m), 0.1, gamma, rows)

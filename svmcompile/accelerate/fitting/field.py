"""The decision values of an SVM as a field: values, gradients and Hessians at points.

Points enter in kernel space (behind the preprocessing steps), any number of
them; blocks bound the memory. Every sum of the SVM is a component: one for two
classes, one per pair of classes else. All in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel, power
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.model.svm import SVM

BLOCK_VALUES = 1 << 22  # kernel values at a time


def derivative(kernel: Kernel, values: Array, points: Array, vectors: Array) -> Array:
    """k' by z.s of a kernel that is a function of it, from its values."""
    gamma, degree = kernel.gamma, kernel.degree
    if kernel.kind == "linear":
        return np.ones_like(values)
    if kernel.kind == "sigmoid":
        return np.asarray(gamma * (1 - values**2))
    if degree == 0:
        return np.zeros_like(values)
    return np.asarray(degree * gamma * power(gamma * (points @ vectors.T) + kernel.coef0, degree - 1))


class Field:
    """f(z) = sum_i a_i k(z, s_i) + b for every sum of an SVM, with its derivatives."""

    def __init__(self, svm: SVM) -> None:
        self.svm = svm
        self.kernel = svm.kernel
        # An rbf kernel does not see a common shift, and distances about the middle do not cancel.
        middle = svm.vectors.mean(axis=0) if svm.n_vectors else np.zeros(svm.kernel_width)
        self.middle = middle if self.kernel.kind == "rbf" else np.zeros(svm.kernel_width)
        self.vectors = svm.vectors - self.middle
        self.squares = np.square(self.vectors).sum(axis=1)
        self.pairs = pair_indices(len(svm.counts))
        self.groups = class_slices(svm.counts or (svm.n_vectors,))

    @property
    def n_sums(self) -> int:
        return self.svm.n_sums

    def values(self, points: Array) -> Array:
        """f, shape [points, sums]."""
        sums = [self._sums(kernel) for _, kernel in self._blocks(points)]
        return np.concatenate(sums) + self.svm.intercepts

    def gradients(self, points: Array) -> Array:
        """The gradient of every sum, shape [points, sums, features]."""
        return np.concatenate([self._slopes(*block) for block in self._blocks(points)])

    def values_and_gradients(self, points: Array) -> tuple[Array, Array]:
        """Both, with the kernel met once."""
        parts = [(self._sums(kernel), self._slopes(z, kernel)) for z, kernel in self._blocks(points)]
        sums, slopes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sums + self.svm.intercepts, slopes

    def expansion(self, point: Array, sums: Sequence[int]) -> tuple[Array, Array]:
        """All values at one point, and the gradients [listed, features] of the sums listed."""
        if not self.svm.counts:
            values, slopes = self.values_and_gradients(point[None])
            return values[0], slopes[0][list(sums)]
        place = (point - self.middle)[None]
        kernel = self._kernel(place)
        rbf = self.kernel.kind == "rbf"
        factors = kernel if rbf else derivative(self.kernel, kernel, place, self.vectors)
        slopes = np.zeros((len(sums), len(point)))
        for row, (i, j) in enumerate(self.pairs[at] for at in sums):
            for group, a in ((self.groups[i], j - 1), (self.groups[j], i)):
                slopes[row] += (factors[0, group] * self.svm.coefficients[a, group]) @ self.vectors[group]
        total = self._sums(kernel)[0]
        if rbf:
            slopes = 2 * self.kernel.gamma * (slopes - total[list(sums), None] * place)
        return total + self.svm.intercepts, slopes

    def hessians(self, points: Array) -> Array:
        """The Hessian of every sum, shape [points, sums, features, features]."""
        return np.stack([self._hessian(point) for point in np.asarray(points) - self.middle])

    def _blocks(self, points: Array) -> Iterator[tuple[Array, Array]]:
        """Points about the middle, some at a time, with their kernel values."""
        step = max(1, BLOCK_VALUES // max(self.svm.n_vectors, 1))
        for at in range(0, max(len(points), 1), step):
            place = points[at : at + step] - self.middle
            yield place, self._kernel(place)

    def _kernel(self, points: Array) -> Array:
        """Kernel values [points, vectors]: one matrix product and one function of it."""
        dots: Array = points @ self.vectors.T
        if self.kernel.kind == "linear":
            return dots
        if self.kernel.kind == "rbf":
            dots *= 2.0
            dots -= self.squares
            dots -= np.square(points).sum(axis=1, keepdims=True)
            np.minimum(dots, 0.0, out=dots)
            dots *= self.kernel.gamma
            return np.exp(dots, out=dots)
        dots *= self.kernel.gamma
        dots += self.kernel.coef0
        return power(dots, self.kernel.degree) if self.kernel.kind == "poly" else np.tanh(dots, out=dots)

    def _slopes(self, points: Array, kernel: Array) -> Array:
        """Gradients [points, sums, features] from kernel values.

        rbf: -2 gamma (z sum a k - sum a k s); the others: sum a k' s with k'
        the derivative by z.s.
        """
        if self.kernel.kind == "rbf":
            gamma = self.kernel.gamma
            pulled = self._vector_sums(kernel)
            pushed = self._sums(kernel)[:, :, None] * points[:, None, :]
            return np.asarray(2 * gamma * (pulled - pushed))
        return self._vector_sums(derivative(self.kernel, kernel, points, self.vectors))

    def _sums(self, kernel: Array) -> Array:
        """sum_i a_i kernel[:, i] for every sum."""
        parts = [kernel[:, group] @ self.svm.coefficients[:, group].T for group in self.groups]
        return self._by_pair(parts)

    def _vector_sums(self, factors: Array) -> Array:
        """sum_i a_i factors[:, i] s_i for every sum, shape [points, sums, features]."""
        parts = []
        for group in self.groups:
            rows = [(factors[:, group] * a[group]) @ self.vectors[group] for a in self.svm.coefficients]
            parts.append(np.stack(rows, axis=1))
        return self._by_pair(parts)

    def _by_pair(self, parts: list[Array]) -> Array:
        """Sums from what each group of vectors adds to each row of coefficients."""
        if not self.svm.counts:
            return parts[0]
        return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in self.pairs], axis=1)

    def _hessian(self, point: Array) -> Array:
        """[sums, features, features] at one point."""
        kernel = self._kernel(point[None])
        if self.kernel.kind == "rbf":
            gamma = self.kernel.gamma
            away = point - self.vectors
            curved = self._outer_sums(4 * gamma**2 * kernel[0], away)
            isotropic = self._sums(kernel)[0][:, None, None] * np.eye(len(point))
            return np.asarray(curved - 2 * gamma * isotropic)
        return self._outer_sums(self._second(point[None], kernel)[0], self.vectors)

    def _second(self, points: Array, kernel: Array) -> Array:
        """k'' by z.s."""
        gamma, degree = self.kernel.gamma, self.kernel.degree
        if self.kernel.kind == "sigmoid":
            return np.asarray(-2 * gamma**2 * kernel * (1 - kernel**2))
        if self.kernel.kind == "linear" or degree < 2:
            return np.zeros_like(kernel)
        base = gamma * (points @ self.vectors.T) + self.kernel.coef0
        return np.asarray(degree * (degree - 1) * gamma**2 * power(base, degree - 2))

    def _outer_sums(self, factors: Array, vectors: Array) -> Array:
        """sum_i a_i factors[i] v_i v_i^T for every sum."""
        parts = []
        for group in self.groups:
            some = vectors[group]
            rows = [(some * (factors[group] * a[group])[:, None]).T @ some for a in self.svm.coefficients]
            parts.append(np.stack(rows)[None])
        return np.asarray(self._by_pair(parts)[0])

"""Bounds for a kernel that only its caller knows: strings, graphs, anything behind kernel="precomputed".

A bound needs k(z, x), which the caller computes, k(x, x), and the kernel matrix of the support vectors. The
first rows of the data are the matrix that the model was trained on; rows after it are queries.

What the bound rests on. With K the matrix of the support vectors and k the values of a query, there
are vectors in some space with these products if and only if K is positive semidefinite and
k(x, x) >= k' K^-1 k. Then, and in general only then, no estimate misses more than its bound. A positive
semidefinite kernel has this for every query. One that is not, such as exp(-edits / s) for large s, may
be given a `shift`: f(x) does not read the diagonal, so K + shift I and k(x, x) + shift bound the same sum,
and the condition is that no matrix of support vectors and a query has an eigenvalue below -shift. It is
tested on the training points and all rows of the data. For queries to come only the caller can know.

Rounding. A kernel value may be off by NOISE, beside the largest of k(x, x), all k(z, z) and 1, from the one
that the matrix was made with: it is rounded to float32, and computed by another program.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import KernelError, U
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.model.svm import SVM, LabelRule

NOISE = 4 * U
UNEVEN = 1e-6  # of the largest value: what a matrix and its transpose may differ by
CONSTANT = 1e-9  # the same for k(x, x) of all points, where it is taken to be one number
BEYOND = 0.5  # of a margin: a support vector that lies farther on its side puts the matrix in doubt
MOST_POINTS = 3000  # whose eigenvalues are looked at
WANTED = "the first rows of the data must be the matrix that the model was trained on"


@dataclass(frozen=True, slots=True, eq=False)
class GramKernel(Kernel):
    """A precomputed kernel with its matrix.

    Points are numbers of training points, [n, 1], or rows of values.
    """

    gram: Array = field(default_factory=lambda: np.zeros((0, 0)))
    typical: float = 1.0  # k(x, x) of rows, as far as costs go

    def values(self, rows: Array, vectors: Array) -> Array:
        columns = _numbers(vectors)
        return np.asarray(
            self.gram[np.ix_(_numbers(rows), columns)] if rows.shape[1] == 1 else rows[:, columns]
        )

    def diagonal(self, rows: Array, own: float) -> Array:
        if rows.shape[1] == 1:
            return np.asarray(np.diag(self.gram)[_numbers(rows)])
        return np.full(len(rows), self.typical)


def _numbers(vectors: Array) -> NDArray[np.intp]:
    """Of the training points that vectors are."""
    return vectors[:, 0].astype(np.intp)


@dataclass(frozen=True, eq=False)
class Given:
    """A model with its matrix, what its node says of k(x, x), rows to predict costs on, and notes."""

    svm: SVM  # with a kernel that knows the matrix
    kernel: Kernel  # of the node
    own: float  # k(x, x), or 0: the caller is asked for it
    typical: float  # what it is then
    others: Array  # training points that are not support vectors, [n, 1]
    rows: Array  # of all points and queries
    sample: Array
    error: KernelError
    notes: tuple[str, ...]
    details: dict[str, Any]

    def missed(self, weights: Array) -> float:
        """What a sum of values that are off by NOISE is off by itself."""
        return self.error.value * float(np.abs(weights).sum())


def read_given(svm: SVM, data: Data | None, options: AnytimeOptions) -> Given:
    """The model with the matrix that the data holds, checked."""
    gram, queries = _matrix(svm, data)
    if options.needs_data and not len(queries):
        raise OptionError(
            f"anytime: ordering {options.ordering} adds other training points to the basis, so only other "
            "rows can predict its cost: give queries after the matrix, or use min-wz"
        )
    _check_trained(svm, gram)
    diagonal, least = np.diag(gram), _least_eigenvalue(svm, gram)
    rounding = len(gram) * U * float(diagonal.max())  # of a float32 matrix, in its eigenvalues
    shift, own = _shift(least, rounding, options), _own(diagonal, options)
    typical = own or float(diagonal.mean())
    held = gram + shift * np.eye(len(gram))
    others = np.setdiff1d(np.arange(len(gram)), _numbers(svm.vectors))
    basis = np.arange(len(gram)) if options.needs_data else _numbers(svm.vectors)
    room = _room(held, basis, gram[others], diagonal[others] + shift, rounding)
    if own:
        room = np.append(room, _room(held, basis, queries, np.full(len(queries), own + shift), rounding))
    if len(room) and room.min() < -rounding:
        what = f"k(x, x) - k' K^-1 k falls to {room.min():.3g} on a row"
        raise OptionError(_indefinite(what, shift - float(room.min())))
    largest = max(1.0, float(held.diagonal().max()))
    kernel = GramKernel("precomputed", largest, shift, gram=held, typical=typical + shift)
    sample = next((rows for rows in (queries, gram[others]) if len(rows)), gram)
    picks = np.random.default_rng(options.seed).permutation(len(sample))[: options.sample]
    return Given(
        svm=replace(svm, kernel=kernel),
        kernel=Kernel("precomputed", largest, shift),
        own=own,
        typical=typical,
        others=others[:, None].astype(np.float64),
        rows=np.concatenate([gram, queries]),
        sample=sample[np.sort(picks)],
        error=KernelError(NOISE, NOISE, 0.0, 0.0),
        notes=_notes(own, options.shift, least, room, len(gram)),
        details={"least_eigenvalue": least, "shift": shift, "k_of_x_and_x": own or "asked"},
    )


def _matrix(svm: SVM, data: Data | None) -> tuple[Array, Array]:
    """The matrix of all training points, and the rows after it."""
    count, have = svm.n_features, 0 if data is None else len(data.X)
    if data is None or have < count:
        raise OptionError(
            f"anytime: a precomputed kernel needs the values of its {count} training points with each "
            f"other: {WANTED}, {count} rows of {count} values (rows after it are queries); "
            f"there are {have} rows"
        )
    rows = np.asarray(data.X, dtype=np.float64)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise OptionError(f"anytime: row {row}, column {column} of the data is not a finite number")
    gram, queries = rows[:count], rows[count:]
    apart = np.abs(gram - gram.T)
    if apart.max() > UNEVEN * np.abs(gram).max():
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise OptionError(
            f"anytime: {WANTED}, in the order of the training, and it is not symmetric: "
            f"row {i}, column {j} is {gram[i, j]:g}, row {j}, column {i} is {gram[j, i]:g}"
        )
    return (gram + gram.T) / 2, queries


def _check_trained(svm: SVM, gram: Array) -> None:
    """Refuse a matrix that the model was not trained on: no support vector lies beyond its margin."""
    if svm.label_rule is LabelRule.NONE:  # a regressor does not store what it was trained to
        return
    inside = gram[np.ix_(_numbers(svm.vectors), _numbers(svm.vectors))]
    one_class = not svm.counts and not (svm.coefficients < 0).any()
    limit, unit = (0.0, abs(float(svm.intercepts[0])) or 1.0) if one_class else (1.0, 1.0)
    worst = max(
        float((np.sign(weights) * (inside @ weights + bias)).max()) / unit
        for weights, bias in zip(_weights(svm), svm.intercepts, strict=True)
    )
    if worst > limit + BEYOND:
        raise OptionError(
            f"anytime: {WANTED}, in the order of the training, and these are not: a support vector has a "
            f"decision value of {worst:.3g} beside a margin of {limit:g}"
        )


def _weights(svm: SVM) -> list[Array]:
    """Of all vectors in each sum."""
    if not svm.counts:
        return [svm.coefficients[0]]
    groups, found = class_slices(svm.counts), []
    for i, j in pair_indices(len(svm.counts)):
        weights: Array = np.zeros(svm.n_vectors)
        weights[groups[i]] = svm.coefficients[j - 1, groups[i]]
        weights[groups[j]] = svm.coefficients[i, groups[j]]
        found.append(weights)
    return found


def _least_eigenvalue(svm: SVM, gram: Array) -> float:
    """Of the support vectors and as many other training points as there is time for."""
    own = _numbers(svm.vectors)
    others = np.setdiff1d(np.arange(len(gram)), own)[: max(0, MOST_POINTS - len(own))]
    some = np.concatenate([own, others])
    return float(np.linalg.eigvalsh(gram[np.ix_(some, some)])[0])


def _shift(least: float, rounding: float, options: AnytimeOptions) -> float:
    """What is added to k(x, x): what rounding took, or what is asked for."""
    if least + options.shift < -rounding:
        raise OptionError(_indefinite(f"an eigenvalue of the matrix is {least:.3g}", -least))
    return max(options.shift, -least, 0.0)


def _indefinite(what: str, needed: float) -> str:
    unit = 10.0 ** np.floor(np.log10(2 * needed))
    enough = float(np.ceil(2 * needed / unit) * unit)  # one digit
    return (
        f"anytime: the kernel is not positive semidefinite ({what}), and without that no bound holds; with "
        f"shift={enough:g} bounds hold as long as no eigenvalue falls below minus that; a narrower kernel "
        f"may need none; methods exact and sv-tree work with any kernel"
    )


def _own(diagonal: NDArray[np.float64], options: AnytimeOptions) -> float:
    """k(x, x) where it is one number, else 0."""
    largest = float(diagonal.max())
    if options.own in ("ask", "auto"):
        is_constant = options.own == "auto" and float(diagonal.min()) >= largest * (1 - CONSTANT)
        return largest if is_constant else 0.0
    if float(options.own) < largest * (1 - CONSTANT):
        raise OptionError(
            f"anytime: own={options.own} is below k(x, x) = {largest:g} of a training point; "
            "give an upper bound, or own=ask"
        )
    return float(options.own)


def _room(gram: Array, points: NDArray[np.intp], rows: Array, own: Array, rounding: float) -> Array:
    """k(x, x) - k' K^-1 k of rows, with the matrix of some points."""
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(gram[np.ix_(points, points)] + rounding * np.eye(len(points)))
    values = rows[:, points]
    return np.asarray(own - np.einsum("ij,ji->i", values, cho_solve(factor, values.T)))


def _notes(own: float, shift: float, least: float, room: Array, points: int) -> tuple[str, ...]:
    definite = (
        "that the matrix of its values for the support vectors and a query has no eigenvalue below "
        f"{-shift:g}"
        if shift
        else "that the kernel is positive semidefinite"
    )
    tested = f"the least eigenvalue over {points} training points is {least:.3g}"
    if len(room):
        tested += f", and k(x, x) - k' K^-1 k at least {room.min():.3g} on {len(room)} other rows"
    about = (
        f"k(x, x) is assumed to be {own:g} for every query (with own=ask the program asks your kernel)"
        if own
        else "the program asks your kernel for k(x, x): the kernel of a query and the index NAME_SELF"
    )
    return (f"the claim relies on a property of your kernel, {definite}; {tested}", about)

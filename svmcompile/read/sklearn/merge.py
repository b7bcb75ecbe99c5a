"""merge: kernel machines side by side become one, where they share kernel and preprocessing.

Machines trained on the same rows share many support vectors: together each is met once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array
from svmcompile.ir.work import kernel_sum_flops
from svmcompile.model.svm import SVM, LabelRule, digest


def merged(machines: list[SVM]) -> tuple[list[SVM], list[int]]:
    """Fewer machines, and where each sum of the given ones, taken in a row, is among theirs."""
    machines = _with_shared_fronts(machines)
    starts = np.cumsum([0, *(machine.n_sums for machine in machines)])
    made: list[SVM] = []
    order: list[int] = []  # of the given sums, as the new machines have them
    for group in _groups(machines):
        together = [machines[index] for index in group]
        for part in _together(together):
            made.append(part)
        order += [sum_ for index in group for sum_ in range(starts[index], starts[index + 1])]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return made, place.tolist()


def _with_shared_fronts(machines: list[SVM]) -> list[SVM]:
    """Fronts that are alike become one object, which tells that rows need preparing once."""
    known: dict[str, SVM] = {}
    keys = [digest(machine.front.parts()) for machine in machines]
    return [
        replace(machine, front=known.setdefault(key, machine).front)
        for key, machine in zip(keys, machines, strict=True)
    ]


def _groups(machines: list[SVM]) -> list[list[int]]:
    """The machines by what their kernel sees and is, in the order they come in."""
    groups: dict[object, list[int]] = {}
    for index, machine in enumerate(machines):
        key = (machine.kernel, id(machine.front), machine.kernel_width, machine.training_points)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _together(machines: list[SVM]) -> list[SVM]:
    """One machine, unless all of them on their own are cheaper."""
    if len(machines) == 1:
        return machines
    vectors, rows = _distinct(np.concatenate([machine.vectors for machine in machines]))
    n_sums = sum(machine.n_sums for machine in machines)
    if _flops(machines[0], len(vectors), n_sums) > sum(
        _flops(machine, machine.n_vectors, len(machine.coefficients)) for machine in machines
    ):
        return machines
    coefficients = np.zeros((n_sums, len(vectors)))
    at = first = 0
    for machine in machines:
        own = rows[first : first + machine.n_vectors]
        np.add.at(coefficients[at : at + machine.n_sums].T, own, machine.weights_by_sum.T)
        at, first = at + machine.n_sums, first + machine.n_vectors
    intercepts = np.concatenate([machine.intercepts for machine in machines])
    return [
        replace(
            machines[0],
            vectors=vectors,
            coefficients=coefficients,
            intercepts=intercepts,
            label_rule=LabelRule.HEAD,
            counts=(),
        )
    ]


def _flops(machine: SVM, n_vectors: int, weights: int) -> int:
    return kernel_sum_flops(machine.kernel, n_vectors, machine.kernel_width, weights)


def _distinct(vectors: Array) -> tuple[Array, NDArray[np.intp]]:
    """The vectors, each once and in the order they come in, and where each of the given ones is."""
    _, first, inverse = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vectors[first[order]], rank[inverse.reshape(-1)]

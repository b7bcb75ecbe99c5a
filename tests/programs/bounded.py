"""Small programs of bounded sums, put together by hand from a fitted SVC.

The basis is the support vectors in their own order and the margins are generous
on purpose: what a method chooses well is not needed to test what nodes mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.pairs import pair_indices, pair_weights
from svmcompile.ir.program import Claim, Origin, Output, Program
from svmcompile.model.svm import SVM
from svmcompile.optimise import optimise
from svmcompile.read import read

MARGIN = 3e-4
PIVOT = 1e-2


def embed(kernel: Kernel, basis: Array, vectors: Array, weights: Array) -> tuple[Any, ...]:
    """Which of the basis stay, the inverse triangle, coordinates of the weights and what they leave."""
    gram = kernel.values(basis, basis)
    keep: list[int] = []
    for i in range(len(basis)):  # drop what depends on the ones before
        trial = [*keep, i]
        if np.linalg.eigvalsh(gram[np.ix_(trial, trial)])[0] > PIVOT:
            keep = trial
    lower = np.linalg.cholesky(gram[np.ix_(keep, keep)])
    inverse = np.linalg.inv(lower)
    w = inverse @ (kernel.values(basis[keep], vectors) @ weights)
    total = weights @ kernel.values(vectors, vectors) @ weights
    residuals = np.sqrt(np.maximum(total - np.cumsum(w**2), 0) + 1e-9)
    return keep, inverse, w, residuals


def bounded_program(
    model: Any, block: int = 4, coordinates: int | None = None, basis: int = 40, tolerance: float = -1.0
) -> Program:
    """A two-class or one-class SVC, or an SVR, as a bounded sum."""
    svm = read(model)
    builder, kernel = Builder(svm), svm.kernel
    weights = svm.coefficients[0]
    keep, inverse, w, residuals = embed(kernel, svm.vectors[:basis], svm.vectors, weights)
    order = np.array(keep + [i for i in range(len(weights)) if i not in set(keep)])
    count = len(keep)
    r = count if coordinates is None else min(coordinates, count)
    ends = np.minimum(np.arange(block, count + block, block), count)
    estimates = [w[:end] @ inverse[:end, :end] for end in ends if end > r]
    scale = float(np.abs(weights).sum())
    node = ir.BoundedSum(
        "sum",
        builder.preprocess(),
        builder.exact_in_double(),
        builder.table("vectors", svm.vectors[order]),
        builder.table("weights", weights[order]),
        builder.table("bias", svm.intercepts),
        builder.indices("ends", ends),
        builder.table("coordinates", inverse[np.tril_indices(r)] if r else np.zeros(1)),
        builder.table("projection", w[:r]),
        builder.table("estimates", np.concatenate(estimates) if estimates else np.zeros(1)),
        builder.table("residuals", residuals[ends - 1]),
        builder.table("slacks", np.full(len(ends), MARGIN)),
        builder.table("margins", np.full(len(ends), MARGIN * scale)),
        builder.table("rounding", np.array([MARGIN, MARGIN * scale * 0.01])),
        float(np.sqrt(np.square(svm.vectors).sum(axis=1)).max()),
        tolerance,
        kernel,
    )
    builder.body.append(node)
    return optimise(check(_labelled(builder, tolerance)))


def _labelled(builder: Builder, tolerance: float) -> Program:
    program = builder.finish("sum", "anytime", Claim.SAME_LABEL if tolerance < 0 else Claim.EXACT)
    if tolerance >= 0:
        return program
    label = tuple(out for out in program.outputs if out.name == "label")
    # Raw scores ask for more than a sign.
    kept = tuple(node for node in program.body if node.out != "samples")
    tables = {name: table for name, table in program.tables.items() if name != "sample_offset"}
    return program.replace(outputs=label, body=kept, tables=tables)


def pair_parts(svm: SVM, ends: Any, block: int, basis: int) -> dict[str, list[NDArray[Any]]]:
    """What each pair of classes has of each table; the vectors of class c end at ends[c + 1]."""
    dense = pair_weights(svm.coefficients, svm.counts)
    parts: dict[str, list[NDArray[Any]]] = {
        key: [] for key in ("picks", "triangles", "projections", "residuals", "margins", "rounding")
    }
    for pair, (i, j) in enumerate(pair_indices(len(svm.counts))):
        members = np.concatenate([np.arange(ends[c], ends[c + 1]) for c in (i, j)])
        members = members[dense[pair, members] != 0]
        weights, vectors = dense[pair, members], svm.vectors[members]
        keep, inverse, w, residuals = embed(svm.kernel, vectors[:basis], vectors, weights)
        stages = np.minimum(np.arange(block, len(keep) + block, block), len(keep))
        scale = float(np.abs(weights).sum())
        parts["picks"].append(members[keep])
        parts["triangles"].append(inverse[np.tril_indices(len(keep))])
        parts["projections"].append(w)
        parts["residuals"].append(residuals[stages - 1])
        parts["margins"].append(np.full(len(stages), MARGIN * scale))
        parts["rounding"].append(np.array([[MARGIN, MARGIN * scale * 0.01]]))
    return parts


def vote_program(model: Any, block: int = 4, basis: int = 12) -> Program:
    """An SVC of several classes as a bounded vote; the guess is the distance to class means."""
    svm = read(model)
    builder, kernel = Builder(svm), svm.kernel
    x = builder.preprocess()
    ends = np.concatenate([[0], np.cumsum(svm.counts)])
    parts = pair_parts(svm, ends, block, basis)
    means = np.array([svm.vectors[ends[c] : ends[c + 1]].mean(axis=0) for c in range(len(svm.counts))])
    zero = builder.table("guess_centre", np.zeros(means.shape[1]))
    guess = ir.Affine(
        "guess", x, builder.table("guess_weights", means),
        builder.table("guess_bias", -0.5 * np.square(means).sum(axis=1)), zero,
    )  # fmt: skip
    builder.body.append(guess)
    exact = builder.exact_in_double()
    builder.body.append(ir.Vote("exact_label", exact, len(svm.counts)))
    stages_of_all = np.concatenate(parts["residuals"])
    node = ir.BoundedVote(
        "label", x, "guess", "exact_label",
        builder.table("vectors", svm.vectors),
        builder.table("weights", svm.coefficients),
        builder.table("bias", svm.intercepts),
        builder.indices("starts", np.concatenate([[0], np.cumsum([len(p) for p in parts["picks"]])])),
        builder.indices("picks", np.concatenate(parts["picks"])),
        builder.table("coordinates", np.concatenate(parts["triangles"])),
        builder.table("projections", np.concatenate(parts["projections"])),
        builder.table("residuals", stages_of_all),
        builder.table("slacks", np.full(len(stages_of_all), MARGIN)),
        builder.table("margins", np.concatenate(parts["margins"])),
        builder.table("rounding", np.concatenate(parts["rounding"])),
        float(np.sqrt(np.square(svm.vectors).sum(axis=1)).max()),
        block, svm.counts, kernel,
    )  # fmt: skip
    builder.body.append(node)
    origin = Origin("test", "", svm.n_vectors, 1, "anytime", Claim.SAME_LABEL)
    exact_program = builder.finish(exact, "anytime", Claim.SAME_LABEL)
    body = tuple(item for item in builder.body[: builder.body.index(node) + 1])
    return optimise(
        check(exact_program.replace(body=body, outputs=(Output("label", "label"),), origin=origin))
    )

"""Transformers that are kernel values with some rows, times a matrix."""

from __future__ import annotations

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.model import front
from svmcompile.model.front import Front
from svmcompile.model.svm import SVM
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.pairwise import attribute_or_parameter, named_kernel, seen_vectors

MANY = 64  # kernel values that are worth a word


def nystroem(fitted: Fitted) -> Front:
    """Nystroem: its rows, and the root of the inverse of their kernel values."""
    fitted.require("components_")
    vectors, weights = fitted.numbers("components_", 2), fitted.numbers("normalization_", 2)
    seen = named_kernel(fitted, fitted.get("kernel"), attribute_or_parameter(fitted), vectors.shape[1])
    return seen.front.then(front.kernel_map(seen_vectors(seen, vectors), weights, seen.kernel))


def kernel_pca(fitted: Fitted) -> Front:
    """KernelPCA: kernel values about their means, along the eigenvectors."""
    fitted.require("eigenvalues_")
    values, axes = fitted.numbers("eigenvalues_", 1), fitted.numbers("eigenvectors_", 2)
    if fitted.get("kernel") == "precomputed" and isinstance(fitted.get("kernel"), str):
        raise UnsupportedError(f"{fitted.place}: a precomputed kernel has no rows; fit it with another")
    vectors = fitted.numbers("X_fit_", 2)
    if axes.shape != (len(vectors), len(values)):
        raise fitted.damaged(
            f"eigenvectors_ have shape {axes.shape}, expected {(len(vectors), len(values))}"
        )
    seen = named_kernel(fitted, fitted.get("kernel"), attribute_or_parameter(fitted), vectors.shape[1])
    with np.errstate(all="ignore"):
        weights = np.where(values > 0, axes / np.sqrt(values), 0.0).T  # an axis without length gives zero
    centerer = Fitted(fitted.get("_centerer"), "KernelCenterer", fitted.where)
    means, mean = centerer.numbers("K_fit_rows_", 1), centerer.number("K_fit_all_")
    if means.shape != (len(vectors),):
        raise fitted.damaged(f"the means of {len(means)} rows are kept, expected {len(vectors)}")
    # The weights of k_i - means_i - (mean of all k) + mean, and what is left where all k are zero.
    about, bias = weights - weights.mean(axis=1, keepdims=True), weights @ (mean - means)
    return seen.front.then(front.kernel_map(seen_vectors(seen, vectors), about, seen.kernel, bias))


def mapped_as(svm: SVM) -> tuple[str, ...]:
    """What many kernel values or cosines before a linear machine cost, beside what they stand for."""
    if svm.kernel.kind != "linear" or svm.parts:
        return ()
    nodes, tables = svm.front.nodes, svm.front.tables
    maps = [tables[node.vectors] for node in nodes if isinstance(node, (ir.KernelSum, ir.DifferenceSum))]
    if any(isinstance(node, ir.Cosine) for node in nodes):
        maps += [tables[node.weights] for node in nodes if isinstance(node, ir.Affine)]
    count = sum(map(len, maps))
    if count < MANY:
        return ()
    return (
        f"features of a kernel: they take about as long as an SVM with {count:,} support vectors; an SVC "
        "with fewer is faster, and so is one whose labels method reduced-set keeps with fewer",
    )

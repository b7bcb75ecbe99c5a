"""LIBSVM text: an SVM in, a model file (and a file of scaling) out, that LIBSVM's own tools read.

Numbers are written with as many digits as bring them back exactly. A scaling in
front of the SVM goes to a second file, which `svm-scale -r` takes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from svmcompile.convert.layout import Layout, layout_of, with_whole_labels
from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.model.svm import SVM

KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
PARAMETERS = {
    "linear": (),
    "poly": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
}


def libsvm_files(svm: SVM, name: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The files of a model by name, and notes on what LIBSVM cannot hold."""
    layout = with_whole_labels(layout_of(svm))
    files, notes = {name: _model(layout)}, layout.notes
    if svm.front.nodes:
        files[f"{name}.range"] = _range(svm)
        notes += (f"rows must be scaled first: svm-scale -r {name}.range DATA",)
    if svm.one_vs_rest_scores:
        notes += ("LIBSVM's decision values are by pair of classes, not by class",)
    return files, notes


def _model(layout: Layout) -> str:
    kernel = layout.kernel
    lines = [f"svm_type {layout.svm_type}", f"kernel_type {KERNELS[kernel.kind]}"]
    lines += [f"{key} {getattr(kernel, key)!r}" for key in PARAMETERS[kernel.kind]]
    lines += [f"nr_class {len(layout.labels) or 2}", f"total_sv {len(layout.vectors)}"]
    lines.append(f"rho {_numbers(0.0 - layout.intercepts)}")
    if layout.labels:
        lines.append(f"label {' '.join(map(str, layout.labels))}")
    lines += [f"{key} {_numbers(values)}" for key, values in _probabilities(layout).items()]
    if layout.counts:
        lines.append(f"nr_sv {' '.join(map(str, layout.counts))}")
    rows = zip(layout.coefficients.T, layout.vectors, strict=True)
    return "\n".join([*lines, "SV", *(_vector(*row) for row in rows)]) + "\n"


def _probabilities(layout: Layout) -> dict[str, Iterable[float]]:
    """What models trained with -b 1 store besides."""
    found: dict[str, Iterable[float]] = {}
    if layout.platt:
        found |= {"probA": layout.platt[0], "probB": layout.platt[1]}
    if layout.noise_scale is not None:
        found["probA"] = [layout.noise_scale]
    if layout.density_marks is not None:
        found["prob_density_marks"] = layout.density_marks
    return found


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _vector(coefficients: Array, vector: Array) -> str:
    """Coefficients, then the features that are not zero, counted from 1, and a space as LIBSVM has it."""
    present = np.flatnonzero(vector)
    pairs = "".join(f"{index + 1}:{float(vector[index])!r} " for index in present)
    return f"{_numbers(coefficients)} {pairs}"


def _range(svm: SVM) -> str:
    """svm-scale brings [min, max] to [-1, 1], so these are where the scaling gives -1 and 1."""
    shift, factor = np.zeros(svm.n_features), np.ones(svm.n_features)
    scalings = [At(node, svm.front.tables) for node in svm.front.of_kind(ir.Scale)]
    if len(scalings) < len(svm.front.nodes) or not all(one.factor.all() for one in scalings):
        raise UnsupportedError(
            f"{svm.source.kind}: LIBSVM has scaling only in front of an SVM; convert the SVM alone, "
            "and transform the rows before"
        )
    for one in scalings:
        shift, factor = shift + one.shift / factor, factor * one.factor
    low, high = shift - 1.0 / factor, shift + 1.0 / factor
    lines = [
        f"{index + 1} {float(a)!r} {float(b)!r}" for index, (a, b) in enumerate(zip(low, high, strict=True))
    ]
    return "\n".join(["x", "-1 1", *lines]) + "\n"

"""Files of LIBSVM: an SVM in, text out that LIBSVM's own tools read.

A scaling in front of the SVM goes to a second file, which `svm-scale -r` takes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.model.libsvm import Layout, layout_of, model_text
from svmcompile.model.svm import SVM


def with_whole_labels(layout: Layout) -> Layout:
    """The layout with labels that are C integers, as LIBSVM wants them; a note if classes are numbered."""
    whole = tuple(int(one) for one in layout.labels if not isinstance(one, str) and one == int(one))
    if len(whole) == len(layout.labels) and all(-(2**31) <= one < 2**31 for one in whole):
        return replace(layout, labels=whole)
    named = ", ".join(f"{number} is {label!r}" for number, label in enumerate(layout.labels))
    note = f"LIBSVM's labels are integers, so classes are numbered: {named}"
    return replace(layout, labels=tuple(range(len(layout.labels))), notes=(*layout.notes, note))


def libsvm_files(svm: SVM, name: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The files of a model by name, and notes on what LIBSVM cannot hold."""
    layout = with_whole_labels(layout_of(svm))
    files, notes = {name: model_text(layout)}, layout.notes
    if svm.front.nodes:
        files[f"{name}.range"] = _range(svm)
        notes += (f"rows must be scaled first: svm-scale -r {name}.range DATA",)
    if svm.one_vs_rest_scores:
        notes += ("LIBSVM's decision values are by pair of classes, not by class",)
    return files, notes


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

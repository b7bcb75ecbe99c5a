"""The SVM at the end of lists, where none is given: trained on all rows, or as many as are wise.

Not on the rows that reach it: those are few and special, and it would fit them too well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.labels import Labels
from svmcompile.model.front import IDENTITY, scale
from svmcompile.model.svm import SVM, LabelRule, Source, digest


def trained_svm(points: Array, y: Any, factor: Array | None, C: float, gamma: float, sha256: str) -> SVM:
    """An RBF machine behind the scaling that lists are looked for with; gamma 0: one over the features."""
    from sklearn.svm import SVC

    front = IDENTITY if factor is None else scale(points.mean(axis=0), factor)
    kernel = Kernel("rbf", gamma or 1 / points.shape[1])
    model = SVC(C=C, gamma=kernel.gamma, cache_size=500).fit(front.run(points), y)
    several = len(model.classes_) > 2
    return SVM(
        kernel=kernel,
        vectors=np.asarray(model.support_vectors_),
        coefficients=np.asarray(model.dual_coef_),
        intercepts=np.asarray(model.intercept_),
        label_rule=LabelRule.VOTE if several else LabelRule.POSITIVE_SECOND,
        source=Source("labelled rows", digest({"rows": sha256, "C": C, "gamma": kernel.gamma})),
        labels=Labels.of(model.classes_, "the data"),
        counts=tuple(int(n) for n in model.n_support_) if several else (),
        front=front,
    ).check("the SVM at the end")


def some_rows(count: int, most: int, seed: int) -> Any:
    """Row numbers to train on: all, or so many at random."""
    if count <= most:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))

"""Programs for lines of templates that no other program has, each with rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.svm import SVC
from targets.c_cases import normal_rows

import svmcompile as sc
from svmcompile.data import sparse
from tests.mutants.small import Programs

TREES = (("sum", "rbf"), ("vote", "rbf"), ("ovr", "poly"), ("sum", "sigmoid"))


@contextmanager
def small_models_stay_sparse() -> Iterator[None]:
    """As only large ones do otherwise."""
    before, sparse.KEPT_FROM = sparse.KEPT_FROM, 1
    try:
        yield
    finally:
        sparse.KEPT_FROM = before


def unusual_programs() -> Programs:
    """Sparse leaves, rows that end within vectors, a kernel of the caller, names of features."""
    import targets.taylor_cases as taylor

    found: Programs = {}
    for name in ("d16", "d22", "d40"):
        case = taylor.made(*taylor.SIZES[name])
        found[f"taylor {name}"] = case.program, case.X
    return found | _sparse_leaves() | _rare()


def _sparse_leaves() -> Programs:
    """Trees of dtsvm whose leaves keep their vectors without zeros."""
    from tests.crossing.test_sparse_models import grown, text

    rows = text(200, 9)[0].toarray()
    with small_models_stay_sparse():
        return {f"sparse leaves {rule} {kernel}": (grown(rule, kernel), rows) for rule, kernel in TREES}


def _rare() -> Programs:
    import pandas as pd

    rows = normal_rows(200, "f64")
    y = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(int)
    products = rows[:, :3] @ rows[:60, :3].T
    asking = SVC(kernel="precomputed").fit(products[:60], y[:60])
    tree: Any = sc.compile(asking, method="sv-tree", X=products)
    named = SVC().fit(pd.DataFrame(rows, columns=[f"size {at}" for at in range(rows.shape[1])]), y)
    return {"path of a given kernel": (tree, products), "named features": (sc.compile(named), rows)}

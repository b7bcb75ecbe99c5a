"""Programs for lines of templates that no other program has, each with rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from programs.bounded import bounded_program
from sklearn.svm import SVC, SVR
from targets.bounded_cases import TOLERANCE
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
    """Sparse leaves, rows that end within vectors, a kernel of the caller, values within a tolerance."""
    import targets.taylor_cases as taylor

    found: Programs = {}
    sizes = {name: taylor.SIZES[name] for name in ("d16", "d22", "d40")}
    for name, size in (sizes | {"d51": (51, 2, 2, 3, (), False)}).items():
        case = taylor.made(*size)
        found[f"taylor {name}"] = case.program, case.X
    return found | _sparse_leaves() | _rare()


def constant_kernel() -> Programs:
    """A path whose kernel is of degree 0, which nothing folds."""
    rows = normal_rows(200, "f64")
    model = SVC(kernel="poly", degree=0, coef0=1.0).fit(rows, _curved(rows))
    return {"path of degree 0": (sc.compile(model, method="sv-tree", X=rows), rows)}


def _curved(rows: Any) -> Any:
    return (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(int)


def _sparse_leaves() -> Programs:
    """Trees of dtsvm whose leaves keep their vectors without zeros."""
    from tests.crossing.test_sparse_models import grown, text

    rows = text(200, 9)[0].toarray()
    with small_models_stay_sparse():
        return {f"sparse leaves {rule} {kernel}": (grown(rule, kernel), rows) for rule, kernel in TREES}


def _rare() -> Programs:
    import pandas as pd

    rows = normal_rows(200, "f64")
    y = _curved(rows)
    products = rows[:, :3] @ rows[:60, :3].T
    asking = SVC(kernel="precomputed").fit(products[:60], y[:60])
    tree: Any = sc.compile(asking, method="sv-tree", X=products)
    named = SVC().fit(pd.DataFrame(rows, columns=[f"size {at}" for at in range(rows.shape[1])]), y)
    found = {"path of a given kernel": (tree, products), "named features": (sc.compile(named), rows)}
    value = SVR(kernel="poly", coef0=1.0, gamma=0.05, C=0.05).fit(rows, rows[:, 0] * rows[:, 1])
    within = bounded_program(value, block=5, basis=40, coordinates=3, tolerance=TOLERANCE)
    return found | {"within a tolerance": (within, rows)}

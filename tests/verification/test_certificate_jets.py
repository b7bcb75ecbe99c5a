"""The checker of certificates and jets: it confirms what holds, and refutes tables that were damaged."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from programs.jets import jet_sum
from programs.taylor import Sum
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.program import Program
from svmcompile.verification.certificate import check_rows

pytest.importorskip("flint", reason="the extra `proof` is not installed")


@cache
def program() -> tuple[Sum, Program]:
    X, y = make_moons(150, noise=0.2, random_state=0)
    model = SVC(gamma=1.0).fit(X, y)
    options: dict[str, Any] = {"tune": "portable", "fallback": "jets", "blocks": 4, "max_bytes": 20_000}
    found = sc.compile(model, method="certified", X=X, order=1, leaves=1, force=True, **options)
    return Sum.of(model, X), found


def rows() -> Any:
    given = program()[0]
    return np.vstack([given.rows[::6], given.on_the_boundary(8)])


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_every_jet_is_confirmed(number: Any) -> None:
    report = check_rows(program()[1], rows(), number)
    assert report.ok and report.confirmed == len(rows()) == report.rows
    assert 0.3 < report.real <= report.rounded <= 1  # near enough to say something


DAMAGE: dict[str, Any] = {
    "gaps": lambda table: table / 20,
    "slopes": lambda table: table * 2,
    "bias": lambda table: -table - 1,
    "constants": lambda table: table + 0.5,
    "squares": lambda table: -table,
    "centre": lambda table: table + 0.25,
    "weights": lambda table: table * 1.1,
    "vectors": lambda table: table + 0.1,
    "ends": lambda table: table - 1,
}


@pytest.mark.parametrize("table", DAMAGE)
def test_damaged_jets_are_refuted(table: str) -> None:
    found = program()[1]
    name = getattr(jet_sum(found), table)
    broken = found.replace(tables={**found.tables, name: DAMAGE[table](np.array(found.tables[name]))})
    assert check_rows(broken, rows()).refuted > 0


def test_rounding_that_is_missing_leaves_rows_open() -> None:
    """After all vectors rounding is all that bounds are for."""
    found = program()[1]
    node = jet_sum(found)
    bare = {node.rounding: np.full(2, 1e-12), node.margins: np.zeros_like(found.tables[node.margins])}
    assert not check_rows(found.replace(tables={**found.tables, **bare}), rows()).ok

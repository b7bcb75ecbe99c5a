"""Bounds on rounding hold by a stranger's account, and errors that constants state are certified."""

from __future__ import annotations

import pytest

flint = pytest.importorskip("flint")
pytest.importorskip("pycparser")

from tests.rounding import bounds, certified  # noqa: E402
from tests.rounding.stranger import Stranger  # noqa: E402

MODELS = bounds.models()
QUICK = ("iris, linear", "wine, degree 2", "iris, rbf", "cancer, sigmoid", "iris regression, degree 3")


@pytest.fixture(autouse=True)
def _many_bits():
    before, flint.ctx.prec = flint.ctx.prec, 200
    yield
    flint.ctx.prec = before


def test_there_are_twenty_models():
    assert len(MODELS) == 20


@pytest.mark.parametrize("name", QUICK)
def test_the_bound_holds_for_a_stranger(name):
    row = bounds.compare(name, *MODELS[name], count=2)
    assert 0 < row.measured < row.stranger < 1 < row.looser


def test_the_stranger_sees_a_worse_sum():
    """Kernel values added up in float, not in double: the stranger's bound grows with it."""
    model, X = MODELS["wine, rbf"]
    program = bounds.sc.compile(model)
    files, exact = (
        bounds.sc.emit(program, name="m", profile="portable", precision=p) for p in ("f32", "f64")
    )
    text = files["m.c"]
    assert "double sums[" in text
    found = []
    for one in (text, text.replace("(double)", "(float)").replace("double sums[", "float sums[")):
        stranger, zero = Stranger(one, exact["m.c"]), bounds.Pair(flint.arb(0), 0.0, "float")
        out = ([zero] * 3, 0)
        row = [bounds.Pair(flint.arb(float(value)), 0.0, "float") for value in X[0]]
        stranger.call("m_decision_function", [(row, 0), out])
        found.append(out[0][0].error)
    assert found[1] > 1.02 * found[0]


def test_stated_errors_are_certified():
    for name, found, stated in certified.table(step=257):
        assert 0.3 * stated < found <= stated, name

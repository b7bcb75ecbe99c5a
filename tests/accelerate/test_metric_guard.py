"""The guard band: bounds, calibration on rows that built nothing, and what falls back."""

from __future__ import annotations

import numpy as np
import pytest
from metric_cases import machine, moons, points

import svmcompile as sc
from svmcompile.accelerate.fitting.calibration import (
    allowed_errors,
    fixed,
    refuse_rows_of_the_tree,
    upper_bound,
)
from svmcompile.accelerate.metric_tree.choose import calibrate
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir


def compiled(model, X, **options):
    return sc.compile(model, method="metric-tree", X=X, **options)


def test_bound_is_clopper_and_pearsons():
    from scipy.stats import binom

    for errors, rows in ((0, 100), (3, 500), (40, 90)):
        bound = upper_bound(errors, rows, 0.95)
        assert binom.cdf(errors, rows, bound) == pytest.approx(0.05)
    assert upper_bound(5, 5, 0.95) == 1
    assert upper_bound(0, 100, 0.95) == pytest.approx(1 - 0.05**0.01)


def test_allowed_errors_are_the_most_that_prove_the_target():
    most = allowed_errors(2000, 0.99, 0.9)
    assert upper_bound(most, 2000, 0.9) <= 0.01 < upper_bound(most + 1, 2000, 0.9)
    assert allowed_errors(100, 0.999, 0.9) == -1


def test_narrowest_band_that_proves_the_target():
    margin = np.arange(1.0, 2001.0)
    wrong = np.zeros(2000, dtype=bool)
    wrong[:100:2] = True  # margins 1, 3, ... 99
    band = calibrate(margin, wrong, 0.99, 0.9)
    left = int((wrong & (margin >= band.width)).sum())
    assert left == allowed_errors(2000, 0.99, 0.9) and band.reached
    assert band.proven_agreement >= 0.99 and band.agreement == 1 - left / 2000
    assert band.fallback_share == (margin < band.width).mean()
    assert calibrate(margin, np.zeros(2000, dtype=bool), 0.99, 0.9).width == 0


def test_too_few_rows_take_the_narrowest_band_without_an_error():
    margin, wrong = np.linspace(0, 1, 50), np.arange(50) == 10
    band = calibrate(margin, wrong, 0.999, 0.9)
    assert not band.reached and margin[10] < band.width <= margin[11]
    with pytest.raises(OptionError, match="no rows"):
        calibrate(margin[:0], wrong[:0], 0.9, 0.9)


def test_band_of_given_width():
    band = fixed(0.5, np.array([0.1, 0.4, 0.6, 0.9]), np.array([True, False, False, True]))
    assert band.fallback_share == 0.5 and band.agreement == 0.75


@pytest.mark.parametrize("classes", [2, 4])
def test_infinite_band_is_the_exact_sum(classes):
    model, X = machine(classes=classes)
    model.decision_function_shape = "ovo"
    program = compiled(model, X, guard="tau", tau="inf", split="midpoint")
    rows = points(2000, 3, seed=4)
    assert (program.predict(rows) == model.predict(rows)).all()
    np.testing.assert_allclose(program.decision_function(rows), model.decision_function(rows), atol=1e-9)
    assert program.origin.details["guard"]["fallback_share"] == 1


def test_held_out_calibration_keeps_its_target_on_new_rows():
    model, X, to_come = moons(4000)
    program = compiled(model, X, guard="target", target=0.995, split="midpoint", max_leaves=8)
    plain = compiled(model, X, split="midpoint", max_leaves=8)
    meant = model.predict(to_come)
    assert (plain.predict(to_come) == meant).mean() < 0.99
    assert (program.predict(to_come) == meant).mean() >= 0.993
    details = program.origin.details
    assert details["rows"]["tree"] == 3000 and details["guard"]["rows"] == 1000
    assert details["guard"]["proven_agreement"] >= 0.995
    guard = next(node for node in program.body if isinstance(node, ir.Guard))
    assert guard.rule == "sign" and guard.width == details["guard"]["width"]
    note = f"{details['guard']['fallback_share']:.1%} of 1000 rows go to the exact sum"
    assert any(note in one for one in program.origin.notes)


def test_no_guard_where_the_tree_will_do():
    model, X, to_come = moons()
    program = compiled(model, X, guard="target", target=0.9, calibrate=to_come)
    assert not any(isinstance(node, (ir.Guard, ir.KernelSum)) for node in program.body)
    assert any("no guard band is needed" in note for note in program.origin.notes)


def test_calibration_rows_from_an_array_and_from_a_file(tmp_path):
    model, X, to_come = moons()
    path = tmp_path / "rows.npz"
    np.savez(path, X=to_come)
    options = {"guard": "target", "target": 0.98}
    from_array = compiled(model, X, calibrate=to_come, **options)
    from_file = compiled(model, X, calibrate=str(path), **options)
    assert from_array.body == from_file.body
    assert from_array.origin.details["rows"]["tree"] == 600
    named = dict(from_array.origin.options)["calibrate"]
    assert named.startswith("array sha256:") and dict(from_file.origin.options)["calibrate"] == str(path)


def test_rows_that_built_the_tree_are_refused():
    model, X, to_come = moons()
    for share in (600, 60, 1):
        with pytest.raises(OptionError, match=f"{share} of the 600 rows in calibrate built the tree"):
            rows = np.concatenate([X[:share], to_come[: 600 - share]])
            compiled(model, X, guard="target", calibrate=rows)
    with pytest.raises(OptionError, match="row 3 of calibrate"):
        bad = to_come.copy()
        bad[3, 0] = np.nan
        compiled(model, X, guard="target", calibrate=bad)


def test_rows_of_few_values_may_meet_by_chance():
    generator = np.random.default_rng(0)
    built, fresh = (generator.integers(0, 2, size=(2000, 8)).astype(float) for _ in range(2))
    refuse_rows_of_the_tree(fresh, built)
    some, others = generator.integers(0, 40, size=(2, 2000, 2)).astype(float)
    refuse_rows_of_the_tree(others, some)
    with pytest.raises(OptionError):
        refuse_rows_of_the_tree(some[:500], some)


def test_too_few_rows_for_a_holdout():
    model, X, _ = moons()
    with pytest.raises(OptionError, match="3 rows are too few"):
        compiled(model, X[:3], guard="target")
    program = compiled(model, X[:40], guard="target", target=0.999)
    assert any("cannot prove 99.90% agreement" in note for note in program.origin.notes)

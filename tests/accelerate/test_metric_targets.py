"""Every form of tree in C and ONNX gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest
from metric_cases import machine, moons, points

import svmcompile as sc

FORMS = {
    "published": {"paper": True},
    "axis": {"split": "gradient-axis"},
    "oblique int8": {"split": "midpoint", "dtype": "i8"},
    "axis half": {"split": "gradient-axis", "dtype": "f16"},
    "quadratic": {"split": "median", "leaf": "quadratic"},
    "guarded": {"split": "midpoint", "max_leaves": 6, "guard": "tau", "tau": 0.3, "reach": 2.0},
}


def check(program, rows, folder, target, precision):
    sc.write(sc.emit(program, target=target, name="tree", precision=precision), folder)
    fast = sc.load(folder, target=target)
    rows = rows.astype(np.float32).astype(np.float64)  # what every precision holds
    meant, found = program.decision_function(rows), fast.decision_function(rows)
    labels = fast.predict(rows) == program.predict(rows)
    if precision == "f64":
        np.testing.assert_allclose(found, meant, rtol=0, atol=1e-9 * np.abs(meant).max())
        assert labels.all()
        return
    # A row on a plane may take the other side in float32; there its value is another leaf's.
    near = np.abs(found - meant).reshape(len(rows), -1).max(axis=1) <= 1e-5 * np.abs(meant).max()
    assert near.mean() > 0.995
    assert labels[
        near & (np.abs(meant).reshape(len(rows), -1).min(axis=1) > 1e-5 * np.abs(meant).max())
    ].all()


@pytest.mark.compile
@pytest.mark.parametrize("target", ["c", "onnx"])
@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("form", FORMS)
def test_two_classes(form, precision, target, tmp_path):
    model, X, to_come = moons()
    program = sc.compile(model, method="metric-tree", X=X, **FORMS[form])
    far = np.array([[50.0, -80.0], [3.0, 3.0]])
    check(program, np.concatenate([to_come, far]), tmp_path, target, precision)


@pytest.mark.compile
@pytest.mark.parametrize("target", ["c", "onnx"])
@pytest.mark.parametrize("form", ["axis", "oblique int8", "guarded"])
def test_several_classes(form, target, tmp_path):
    model, X = machine(classes=4, n=600, d=2)
    program = sc.compile(model, method="metric-tree", X=X, **FORMS[form])
    check(program, points(500, 2, seed=3), tmp_path, target, "f64")

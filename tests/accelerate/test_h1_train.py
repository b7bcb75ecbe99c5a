"""Training lists of half-spaces on labels, and both backends of what comes out."""

from __future__ import annotations

import numpy as np
import pytest
from accelerate_cases import moons
from sklearn.datasets import load_digits, load_iris

import svmcompile as sc
from svmcompile.data import Data
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.progress import showing

METHOD = "h1-tree"
LISTS = {"end": "label", "noise": 0.0}  # for the labels, as they are


def test_labels_are_learnt():
    X, y = load_digits(return_X_y=True)
    program = sc.train(X[:1200], y[:1200], method=METHOD, **LISTS)
    assert (program.predict(X[:1200]) == y[:1200]).all()
    assert (program.predict(X[1200:]) == y[1200:]).mean() > 0.9
    assert program.origin.details["lists"]["planes"] <= 70
    assert program.claim is sc.Claim.APPROXIMATE


@pytest.mark.parametrize("scale", ["none", "std", "minmax"])
def test_features_of_any_scale(scale):
    X, y, _ = moons()
    program = sc.train(X * [1e4, 1e-3] + [1e6, 0.0], y, method=METHOD, scale=scale, max_nodes=40, **LISTS)
    right = (program.predict(X * [1e4, 1e-3] + [1e6, 0.0]) == y).mean()
    assert right > (0.7 if scale == "none" else 0.9)


def test_constant_features_and_text_labels():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((150, 1), 7.0)])
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    program = sc.train(X, names, method=METHOD, multiclass="dag", **LISTS)
    assert (program.predict(X) == names).mean() > 0.99
    assert program.labels.values == ("setosa", "versicolor", "virginica")


def test_one_class_and_one_row_of_a_class():
    X, _, _ = moons()
    with pytest.raises(sc.OptionError, match="only one class"):
        sc.train(X, np.zeros(len(X), dtype=int), method=METHOD)
    lonely = (np.arange(len(X)) == 3).astype(int)
    program = sc.train(X, lonely, method=METHOD, **LISTS)
    assert (program.predict(X) == lonely).all()


def test_progress_covers_all_rows():
    shown = []

    class Show:
        def __enter__(self):
            return lambda done: shown.append(done)

        def __exit__(self, *error):
            return None

    X, y = load_iris(return_X_y=True)
    with showing(lambda what, total: shown.append(-total) or Show()):
        sc.train(X, y, method=METHOD, **LISTS)
    assert -shown[0] == sum(shown[1:]) == 300  # three pairs of a hundred rows


@pytest.mark.compile
@pytest.mark.parametrize("options", [{}, {"multiclass": "dag"}, {"planes": "int8"}], ids=str)
def test_c_and_onnx_give_the_interpreters_labels(options, tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    program = sc.train(X[:300], y[:300], method=METHOD, **options)
    rows = X.astype(np.float32)
    steady = ~error_bounds(program, rows, "f32").unstable
    assert steady.mean() > 0.95
    for profile in ("portable", "host"):
        sc.write(sc.emit(program, ("c", "onnx"), "m", profile=profile), tmp_path / profile)
        fast = sc.load(tmp_path / profile)
        assert (fast.predict(rows) == program.predict(rows))[steady].all()


def test_data_through_the_method_itself():
    from svmcompile.accelerate.registry import train

    X, y, _ = moons()
    program = train(METHOD, Data(X, y, ("a", "b")), {"level": "1", "max_nodes": "5", "reduced": "0.2"})
    assert program.input.feature_names == ("a", "b")
    options = dict(program.origin.options)
    assert options["level"] == 1 and options["reduced"] == "0.2"
    assert any(isinstance(node, ir.PlaneLists) for node in program.body)


def test_rows_of_mostly_zeros_are_taken_as_they_are():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.2)
    y = (X[:, 0] + X[:, 1] > 0.1).astype(int)
    sparse, dense = (sc.train(rows, y, method=METHOD, **LISTS) for rows in (X, X + 5))
    assert not sparse.tables["list_centre"].any()
    assert np.abs(dense.tables["list_centre"] - 5).max() < 1
    assert (sparse.predict(X) == y).all()

"""What `compile` says of a method that fits is said of rows that it was not fitted to."""

from __future__ import annotations

import json

import numpy as np
import pytest

import svmcompile as sc
from svmcompile.commands.show import _fitted
from svmcompile.data import Data
from svmcompile.flow.held_out import hold_out
from svmcompile.statistics import interval


def compile_iris(run, iris, out, *more, method="metric-tree", data="iris.npz"):
    files = (iris.file("iris.skops"), "-o", out, "--data", iris.file(data))
    done = run("compile", *files, "--method", method, *more)
    assert done.code == 0, done.err
    return done, json.loads((out / "iris.json").read_text())


def test_the_headline_is_on_rows_held_out(run, iris, tmp_path):
    done, report = compile_iris(run, iris, tmp_path / "out")
    assert report["rows"] == 30 and report["fitted_to_these_rows"] is False
    assert report["fitted"]["rows"] == 120 and 0 <= report["fitted"]["agreement"] <= 1
    same = round(report["agreement"] * report["rows"])
    assert report["agreement_interval"] == list(interval(same, 30)) and report["confidence"] == 0.95
    headline, note = (line for line in done.out.splitlines() if " rows" in line and "label" in line)
    assert "same label" in headline and "30 held-out rows" in headline
    assert note.startswith("note: of the 120 rows it was fitted to")


def test_rows_held_out_fit_nothing(run, iris, tmp_path):
    compile_iris(run, iris, tmp_path / "out")
    fit, held = hold_out(Data(iris.X, iris.y))
    assert held is not None and len(held.X) == 30
    rows = {row.tobytes() for row in np.concatenate([fit.X, held.X])}
    assert rows == {row.tobytes() for row in iris.X}, "every row is in one part"
    again = sc.compile(iris.file("iris.skops"), method="metric-tree", X=fit.X, y=fit.y)
    assert sc.emit(again, name="iris")["iris.c"] == (tmp_path / "out/iris.c").read_text()


def test_other_rows_are_taken_from_a_file(run, iris, tmp_path):
    np.savez(tmp_path / "test.npz", X=iris.X[::3], y=iris.y[::3])
    for method in ("metric-tree", "exact"):
        out = tmp_path / method
        _, report = compile_iris(run, iris, out, "--test", tmp_path / "test.npz", method=method)
        assert report["rows"] == 50 and report["fitted_to_these_rows"] is False
        assert report.get("fitted", {}).get("rows") == (150 if method == "metric-tree" else None)
    run("compile", iris.file("iris.skops"), "-o", tmp_path / "no-data", "--test", tmp_path / "test.npz")
    assert json.loads((tmp_path / "no-data/iris.json").read_text())["rows"] == 50


@pytest.mark.parametrize("method", ["exact", "anytime", "certified"])
def test_methods_that_fit_nothing_use_all_rows(run, iris, tmp_path, method):
    _, report = compile_iris(run, iris, tmp_path / "out", method=method)
    assert report["rows"] == 150 and "fitted" not in report


def test_whole_numbers_and_calibrated_bounds_fit(run, iris, tmp_path):
    _, report = compile_iris(run, iris, tmp_path / "q15", "--precision", "q15", method="exact")
    assert (report["rows"], report["fitted"]["rows"]) == (30, 120)
    from svmcompile.accelerate.registry import fits_rows

    assert fits_rows("certified", {"mode": "calibrated"}) and not fits_rows("certified", {})


def test_few_rows_are_all_fitted_to_and_the_note_says_so(run, iris, tmp_path):
    few = tmp_path / "few.npz"
    np.savez(few, X=iris.X[::4], y=iris.y[::4])
    done, report = compile_iris(run, iris, tmp_path / "out", data=few)
    assert report["rows"] == 38 and report["fitted_to_these_rows"] is True
    assert "not measured on held-out rows" in done.out and "--test FILE" in done.out
    assert "too few to hold any out" in done.out


def test_programs_of_labels_alone_have_no_error_to_tell():
    known = {"rows": 120, "agreement": 0.995, "max_decision_error": None}
    told = _fitted({"n_classes": 3, "fitted": known})
    assert told == "of the 120 rows it was fitted to, 99.50% keep their label"

"""Probabilities of methods that approximate are measured, refused or calibrated; others keep them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands.compile import run
from svmcompile.commands.options import CompileOptions
from svmcompile.errors import OptionError, UnsupportedError

X, Y = make_moons(900, noise=0.3, random_state=0)
MODEL = SVC(C=5, probability=True, random_state=0).fit(X[:300], Y[:300])
ROWS, TRUTH = X[300:], Y[300:]
NEW, NEW_TRUTH = make_moons(600, noise=0.3, random_state=1)
COARSE = {"method": "reduced-set", "budget": 3, "move": False, "X": ROWS}


def test_a_small_error_is_stated() -> None:
    program = sc.compile(MODEL, method="reduced-set", budget=0.5, X=ROWS)
    told = program.origin.details["probabilities"]
    assert told["held_out"] and told["rows"] == 120 and told["mean"] <= told["worst"] <= 0.1
    assert any(
        note.startswith("probabilities differ from the model's by up to") for note in program.origin.notes
    )
    wrong = np.abs(program.predict_proba(NEW) - MODEL.predict_proba(NEW)).mean()
    assert wrong == pytest.approx(told["mean"], abs=0.02)


def test_a_large_error_is_refused_unless_asked_for() -> None:
    with pytest.raises(
        UnsupportedError, match=r"by up to .* on 120 rows held out, more than 0\.1; leave them"
    ):
        sc.compile(MODEL, **COARSE)
    worst = np.abs(sc.compile(MODEL, **COARSE, probabilities="anyway").predict_proba(ROWS)
                   - MODEL.predict_proba(ROWS)).max()  # fmt: skip
    assert worst > 0.1
    assert sc.compile(MODEL, **COARSE, probabilities=1.0).output("probabilities") is not None
    bare = sc.compile(MODEL, **COARSE, probabilities="none")
    assert bare.output("probabilities") is None and bare.output("scores") is not None
    with pytest.raises(OptionError, match="neither a number within 0 and 1 nor one of"):
        sc.compile(MODEL, **COARSE, probabilities="often")
    plain = SVC(C=5).fit(X[:300], Y[:300])
    assert sc.compile(plain, **COARSE).output("scores") is not None  # nothing to refuse


def test_calibration_brings_them_near_the_labels() -> None:
    wrong = copy.deepcopy(MODEL)
    wrong._probA = 0.1 * MODEL._probA  # sigmoids that are much too flat
    raw = sc.compile(wrong, **COARSE, probabilities="anyway").predict_proba(NEW)
    program = sc.compile(wrong, **COARSE, y=TRUTH, probabilities="calibrate")
    told, found = program.origin.details["probabilities"], program.predict_proba(NEW)
    assert told["calibrated_on"] == 120 and "on 120 labelled rows" in str(program.origin.notes)
    assert told["log_loss"]["compiled"] < told["log_loss"]["original"] - 0.1
    assert log_loss(NEW_TRUTH, found) < log_loss(NEW_TRUTH, raw) - 0.1
    np.testing.assert_allclose(found.sum(axis=1), 1)
    with pytest.raises(OptionError, match="needs labels of the rows"):
        sc.compile(MODEL, **COARSE, probabilities="calibrate")
    with pytest.raises(OptionError, match="not those of the model"):
        sc.compile(MODEL, **COARSE, y=TRUTH + 7, probabilities="calibrate")


def test_calibration_of_several_classes() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = SVC(probability=True, random_state=0).fit(X, names)
    program = sc.compile(model, method="reduced-set", budget=6, X=X, y=names, probabilities="calibrate")
    found = program.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (np.argmax(found, axis=1) == y).mean() > 0.85


@pytest.mark.parametrize("method", ["anytime", "certified"])
def test_a_method_that_emits_the_exact_sum_keeps_them(method: str) -> None:
    model = SVC(kernel="linear", probability=True, random_state=0).fit(X[:300], Y[:300])
    program = sc.compile(model, method=method)
    assert program.claim is sc.Claim.SAME_LABEL and program.origin.method == method
    assert "left out" not in str(program.origin.notes) and "exact sum" in str(program.origin.notes)
    np.testing.assert_allclose(program.predict_proba(NEW), model.predict_proba(NEW), atol=1e-6)


def test_the_command_measures_on_rows_it_holds_out(tmp_path) -> None:
    skops.io.dump(MODEL, tmp_path / "m.skops")
    np.savez(tmp_path / "rows.npz", X=ROWS, y=TRUTH)
    asked = {"model": tmp_path / "m.skops", "output": tmp_path / "out", "data": tmp_path / "rows.npz"}
    coarse = ["budget=3", "move=false"]
    with pytest.raises(UnsupportedError, match="on 120 rows held out"):
        run(CompileOptions(**asked, method="reduced-set", set_=coarse))
    report = run(CompileOptions(**asked, method="reduced-set", set_=[*coarse, "probabilities=anyway"]))
    assert report["max_probability_error"] > 0.1
    assert report["details"]["probabilities"]["worst"] == pytest.approx(
        report["max_probability_error"], 1e-3
    )
    run(CompileOptions(**asked, method="reduced-set", set_=coarse, precision="q15"))  # which has none

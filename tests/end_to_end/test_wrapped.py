"""Wrappers and probabilities: the original library, the interpreter, C and ONNX on 10,000 rows each.

Rows are real ones, jittered copies and some on the boundary. In float64 labels agree without exception
and probabilities to 1e-6; in float32 both agree wherever rounding cannot decide.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDOneClassSVM
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

import svmcompile as sc
from examples.agreement import WORDS, rows_for, trained
from svmcompile.ir.bounds import error_bounds

ROWS, FEW = 10_000, 500
VALUES = {"decision_function": 1e-9, "predict_proba": 1e-6, "score_samples": 1e-9}
TWO = "cancer"


def scaled(estimator: Any) -> Any:
    return make_pipeline(StandardScaler(), estimator)


def with_chances(kind: Any, **options: Any) -> Any:
    return kind(probability=True, random_state=0, **options)


CASES = {
    "svc-2": trained(TWO, with_chances(SVC)),
    "svc-3": trained("iris", with_chances(SVC, break_ties=True), WORDS),
    "svc-3-sparse": trained("wine", with_chances(SVC, kernel="linear"), sparse=True),
    "svc-10": trained("digits", with_chances(SVC, decision_function_shape="ovo")),
    "nusvc-3-poly": trained("wine", with_chances(NuSVC, kernel="poly", nu=0.2, coef0=1)),
    "ovr-svc-10": trained("digits", OneVsRestClassifier(SVC())),
    "ovr-svc-3": trained("iris", OneVsRestClassifier(with_chances(SVC)), WORDS),
    "ovr-scaled-svc-2": trained(TWO, OneVsRestClassifier(scaled(with_chances(SVC))), [-1, 1]),
    "ovr-linear-3": trained("wine", OneVsRestClassifier(LinearSVC()), sparse=True),
    "ovo-svc-10": trained("digits", OneVsOneClassifier(SVC(gamma=0.1))),
    "ovo-svc-3": trained("wine", OneVsOneClassifier(scaled(SVC()))),
    "ovo-linear-2": trained(TWO, OneVsOneClassifier(LinearSVC()), [False, True]),
    "sigmoid-svc-10": trained("digits", CalibratedClassifierCV(SVC(gamma=0.05), cv=2)),
    "sigmoid-svc-3-one": trained("iris", CalibratedClassifierCV(SVC(), ensemble=False), WORDS),
    "isotonic-svc-2": trained(TWO, CalibratedClassifierCV(scaled(SVC()), method="isotonic", cv=3)),
    "isotonic-svc-3": trained("wine", CalibratedClassifierCV(SVC(), method="isotonic", cv=3)),
    "isotonic-linear-2-one": trained(
        TWO, CalibratedClassifierCV(LinearSVC(), method="isotonic", ensemble=False)
    ),
    "calibrated-ovr-3": trained("wine", CalibratedClassifierCV(OneVsRestClassifier(SVC()), cv=2)),
    "ovr-calibrated-3": trained("wine", OneVsRestClassifier(CalibratedClassifierCV(SVC(), cv=2))),
    "search-3": trained("iris", GridSearchCV(scaled(with_chances(SVC)), {"svc__C": [1, 5]}, cv=2)),
    "sgd-3": trained("wine", SGDClassifier(random_state=0)),
    "logistic-2": trained(TWO, LogisticRegression()),
    "logistic-10-nystroem": trained(
        "digits", make_pipeline(Nystroem(n_components=40, random_state=0), LogisticRegression(C=50))
    ),
    "sgd-3-huber-sampler": trained(
        "wine",
        make_pipeline(RBFSampler(random_state=0), SGDClassifier(loss="modified_huber", random_state=0)),
    ),
    "sgd-3-log": trained("iris", SGDClassifier(loss="log_loss", random_state=0), WORDS),
    "sgd-one-class": trained("wine", SGDOneClassSVM(random_state=0)),
    "one-class": trained("iris", OneClassSVM(nu=0.2)),
    "crammer-singer-3": trained("wine", LinearSVC(multi_class="crammer_singer")),
    "crammer-singer-2": trained(TWO, LinearSVC(multi_class="crammer_singer")),
}


@pytest.mark.compile
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", CASES)
def test_all_forms_agree(name, tmp_path):
    case = CASES[name]()
    program = sc.compile(case.model)
    rows = rows_for(case, program, ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {
            method: getattr(case.model, method)(rows) for method in VALUES if hasattr(case.model, method)
        }
        labels = case.model.predict(rows)
    for model in (program, *forms(program, tmp_path, "f64", "host")):
        np.testing.assert_array_equal(model.predict(rows), labels)
        for method, values in wanted.items():
            found = getattr(model, method)(rows)
            scale = 1 if method == "predict_proba" else max(1.0, float(np.abs(values).max()))
            assert found.shape == values.shape
            assert np.abs(found - values).max() <= VALUES[method] * scale, method
    compare_floats(program, rows[-FEW:], labels[-FEW:], wanted, tmp_path)


def forms(program, folder, precision, profile):
    place = folder / precision
    sc.write(sc.emit(program, ("c", "onnx"), "model", precision, profile), place)
    models = [sc.load(place, target=target) for target in ("c", "onnx")]
    assert models[0].self_test() == 0
    return models


def compare_floats(program, rows, labels, wanted, folder):
    """Where rounding cannot decide, all is as in the original up to its bounds."""
    bounds = error_bounds(program, rows, "f32")
    sure = ~bounds.unstable
    for model in forms(program, folder, "f32", "portable"):
        assert (model.predict(rows) == labels)[sure].all()
        if "predict_proba" in wanted:
            error = np.abs(model.predict_proba(rows) - wanted["predict_proba"][-FEW:])
            assert (error <= 1.01 * bounds.probabilities)[sure].all()
        if "decision_function" in wanted:
            found = model.decision_function(rows).reshape(len(rows), -1)
            error = np.abs(found - wanted["decision_function"][-FEW:].reshape(len(rows), -1))
            assert (error <= 1.01 * bounds.scores)[sure].all()


def test_the_bounds_say_something():
    """Bounds that are infinite everywhere would let anything pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = CASES["svc-3"]()
    program = sc.compile(case.model)
    bounds = error_bounds(program, rows_for(case, program, ROWS)[:FEW], "f32").probabilities
    assert np.isfinite(bounds).all(axis=1).mean() > 0.99 and np.median(bounds) < 1e-4


@pytest.mark.compile
def test_commands(run, tmp_path):
    """compile and verify of a calibrated model, as a user calls them."""
    import skops.io

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = trained("wine", CalibratedClassifierCV(SVC(), cv=2))()
    skops.io.dump(case.model, tmp_path / "wine.skops")
    np.savez(tmp_path / "wine.npz", X=case.X)
    done = run(
        "compile", tmp_path / "wine.skops", "-o", tmp_path / "out", "--target", "c", "--target", "onnx",
        "--data", tmp_path / "wine.npz", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert '"max_probability_error"' in done.out
    done = run(
        "verify", tmp_path / "out", "--model", tmp_path / "wine.skops", "--data", tmp_path / "wine.npz"
    )
    assert done.code == 0 and "holds" in done.out, done.out
    assert "worst error of probabilities" in done.out
    done = run("compile", tmp_path / "wine.skops", "-o", tmp_path / "out", "--most-probable")
    assert done.code == 0, done.err

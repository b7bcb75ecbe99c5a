"""Models whose vectors stay sparse: estimators x targets x forms of rows agree with the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import svmcompile as sc
from svmcompile.errors import OptionError, SvmCompileError
from svmcompile.ir.nodes import CsrLeaves, CsrSum, KernelSum, PairSum, SparseSum
from svmcompile.lower import lower
from svmcompile.optimise.compressed import dense_sums

pytestmark = pytest.mark.compile

WORDS, ROWS, FILLED = 700, 90, 12
ESTIMATORS: dict[str, tuple[Any, int]] = {  # and their number of classes
    "rbf": (SVC(gamma=0.5), 2),
    "rbf-three": (SVC(gamma=0.5), 3),
    "ovo": (SVC(gamma=0.5, decision_function_shape="ovo"), 3),
    "linear": (SVC(kernel="linear"), 2),
    "linear-three": (SVC(kernel="linear"), 3),
    "line": (SVC(kernel="poly", degree=1, coef0=0.5, gamma=2.0), 2),
    "poly": (SVC(kernel="poly", degree=3, coef0=1.0, gamma=1.0), 3),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.1), 2),
    "nu": (NuSVC(nu=0.3, gamma=0.5), 3),
    "svr": (SVR(gamma=0.5), 0),
    "one-class": (OneClassSVM(nu=0.2, gamma=0.5), 0),
    "calibrated": (CalibratedClassifierCV(SVC(gamma=0.5), cv=2), 2),
    "rest": (OneVsRestClassifier(SVC(gamma=0.5)), 3),
    "rest-linear": (OneVsRestClassifier(SVC(kernel="linear")), 3),
    "one-one": (OneVsOneClassifier(SVC(gamma=0.5)), 3),
    "scaled": (make_pipeline(MaxAbsScaler(), SVC(gamma=0.5)), 2),
    "scaled-linear": (make_pipeline(MaxAbsScaler(), SVC(kernel="linear")), 3),
    "normalised": (make_pipeline(Normalizer(), SVC(gamma=0.5)), 2),
}
FORMS: dict[str, dict[str, Any]] = {
    "portable": {"target": "c", "profile": "portable", "precision": "f64"},
    "host": {"target": "c", "profile": "host", "precision": "f32"},
    "host-f64": {"target": "c", "profile": "host", "precision": "f64"},
    "dense": {"target": "c", "tables": "dense", "precision": "f32"},
    "device": {"target": "c", "profile": "device", "precision": "f32"},
    "onnx": {"target": "onnx", "precision": "f32"},
    "onnx-f64": {"target": "onnx", "precision": "f64"},
    "blob": {"target": "blob", "precision": "f32"},
}
# Estimators meet forms in turn, so that each has several and every form many.
CROSSED = [
    (name, form) for i, name in enumerate(ESTIMATORS) for j, form in enumerate(FORMS) if (i + j) % 3 == 0
]
INPUTS: dict[str, Callable[[Any], Any]] = {
    "csr_matrix": csr_matrix,
    "csr_array": csr_array,
    "csc": csc_array,
    "coo": coo_array,
    "float32": lambda rows: rows.astype(np.float32),
    "array": lambda rows: rows.toarray(),
    "list": lambda rows: rows.toarray().tolist(),
}


@pytest.fixture(autouse=True)
def small_models_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("svmcompile.data.sparse.KEPT_FROM", 1)
    yield


def text(rows: int, seed: int) -> tuple[Any, Any]:
    """Rows with a few of many words, whose class depends on some of them."""
    random = np.random.default_rng(seed)
    chances = 1 / (np.arange(WORDS) + 10.0)
    words = random.choice(WORDS, size=(rows, FILLED), p=chances / chances.sum())
    dense = np.zeros((rows, WORDS))
    dense[np.arange(rows)[:, None], words] = random.random(words.shape).astype(np.float32)
    return csr_matrix(dense), dense[:, :60] @ np.random.default_rng(1).normal(size=60)


@cache
def fitted(name: str) -> Any:
    estimator, classes = ESTIMATORS[name]
    X, score = text(ROWS, 0)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)) if classes else score
    return estimator.fit(X, y)


def values(model: Any, rows: Any) -> Any:
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(rows)


@pytest.mark.parametrize(("name", "form"), CROSSED)
def test_every_form_gives_the_original_values(name: str, form: str) -> None:
    model, (rows, _) = fitted(name), text(250, 7)
    compiled = sc.build(model, **FORMS[form])
    expected, found = values(model, rows), values(compiled, rows)
    tolerance = 1e-9 if FORMS[form]["precision"] == "f64" else 2e-4
    assert np.abs(found - expected).max() < tolerance * max(1.0, np.abs(expected).max())
    if expected.ndim == 1:
        sure = np.abs(expected) > tolerance
    else:
        sure = np.diff(np.sort(expected, axis=1)[:, -2:])[:, 0] > tolerance
    assert (compiled.predict(rows) == model.predict(rows))[sure].all() or name == "svr"
    if hasattr(model, "predict_proba"):
        assert np.abs(compiled.predict_proba(rows) - model.predict_proba(rows)).max() < tolerance


@pytest.mark.parametrize("name", ["rbf", "linear", "rest", "calibrated", "svr"])
@pytest.mark.parametrize("kind", INPUTS)
def test_every_form_of_rows_means_the_same(name: str, kind: str) -> None:
    program, (rows, _) = sc.compile(fitted(name)), text(40, 3)
    expected = values(fitted(name), rows)
    given = INPUTS[kind](rows)
    assert np.abs(program.predict(given) - program.predict(rows)).max() == 0
    if program.output("scores"):
        assert np.abs(program.decision_function(given) - expected).max() < 1e-9


@pytest.mark.parametrize("name", ["rbf", "poly", "sigmoid", "ovo", "svr"])
@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_c_has_the_tables_of_the_dense_model(
    name: str, profile: Any, number: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether vectors were sparse from the start or a dense table that is stored by feature."""
    program = sc.compile(fitted(name))
    assert any(isinstance(node, CsrSum) for node in program.body)
    sparse = lower(program, number, profile)
    monkeypatch.setattr("svmcompile.data.sparse.KEPT_FROM", 1 << 40)
    whole = sc.compile(fitted(name))
    assert any(isinstance(node, (KernelSum, PairSum)) for node in whole.body)
    dense = lower(whole, number, profile, storage="sparse")
    ours, theirs = (
        next(node for node in one.body if isinstance(node, SparseSum)) for one in (sparse, dense)
    )
    for field in ("marks", "ranks", "starts", "indices", "values", "weights", "bias", "factor"):
        mine, other = sparse.tables[getattr(ours, field)], dense.tables[getattr(theirs, field)]
        assert mine.dtype == other.dtype and np.array_equal(mine, other), field
    assert np.allclose(sparse.tables[ours.offsets], dense.tables[theirs.offsets], rtol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "linear-three", "rest"])
def test_stored_programs_come_back(name: str, tmp_path: Any) -> None:
    program = sc.compile(fitted(name))
    program.save(tmp_path / "text.svmc")
    assert sc.Program.load(tmp_path / "text.svmc") == program
    assert (tmp_path / "text.svmc").stat().st_size < program.probes.nbytes + 60_000


def test_methods_that_need_dense_tables_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = text(200, 5)
    program = sc.compile(fitted("rbf"), method="reduced-set", X=rows, budget=10)
    assert program.origin.method == "reduced-set"
    certain = sc.compile(fitted("rbf"), labels="certain")
    assert (certain.predict(rows) == fitted("rbf").predict(rows)).all()
    monkeypatch.setattr("svmcompile.data.sparse.MOST_DENSE", 1000)
    for refused in (
        lambda: sc.compile(fitted("rbf"), method="reduced-set", X=rows, budget=10),
        lambda: sc.compile(fitted("rbf"), labels="certain"),
        lambda: sc.emit(sc.compile(fitted("rbf")), "c", precision="q15", X=rows),
        lambda: sc.emit(sc.compile(fitted("rbf")), "blob"),
        lambda: sc.emit(sc.compile(fitted("rbf")), "c", profile="device"),
        lambda: sc.emit(sc.compile(fitted("rbf")), "c", tables="dense"),
    ):
        with pytest.raises(OptionError, match=r"would take 0.0 GB as a dense table, above the limit"):
            refused()


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_vectors_of_normalised_text_stay_sparse(kernel: str, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    texts = [" ".join(f"w{word}" for word in random.integers(40 * (i % 3), 200, 9)) for i in range(120)]
    vectorizer = HashingVectorizer(n_features=3000)  # whose rows have length 1
    model = make_pipeline(vectorizer, SVC(kernel=kernel)).fit(texts, np.arange(120) % 3)
    program = sc.compile(model)
    for profile in ("portable", "host"):
        assert any(isinstance(node, SparseSum) for node in lower(program, "f32", profile).body)
    for form in ("portable", "host", "onnx"):
        compiled = sc.build(model, **FORMS[form])
        assert (compiled.predict(texts) == model.predict(texts)).all()
        expected = model.decision_function(texts)
        np.testing.assert_allclose(compiled.decision_function(texts), expected, rtol=0, atol=1e-5)
    sc.write(sc.emit(program, ("c", "onnx"), "m"), tmp_path)
    assert sc.verify(tmp_path, model, texts).claim == "EXACT"


def test_options_that_cannot_be_are_refused() -> None:
    program = sc.compile(fitted("rbf"))
    with pytest.raises(OptionError, match="opset 15 cannot add up"):
        sc.emit(program, "onnx", opset=15)
    assert sc.emit(sc.compile(fitted("linear")), "onnx", opset=15)
    with pytest.raises(SvmCompileError, match="linear models and trees"):
        sc.emit(program, "sql")


@cache
def grown(rule: str, kernel: str) -> Any:
    """A tree with leaves that keep their vectors sparse; two classes for the rule of sums."""
    X, score = text(400, 2)
    y = np.digitize(score, [0.0] if rule == "sum" else [-0.3, 0.0, 0.3])
    grid = {
        "C": 10.0,
        "gamma": 0.5,
        "ceiling": 80,
        "max_ceiling": 80,
        "kernel": kernel,
        "degree": 2,
        "coef0": 1.0,
    }
    return sc.train(X, y, mode="1ao" if rule == "ovr" else "1a1", **grid)


TREES = [
    (rule, kernel) for rule in ("sum", "vote", "ovr") for kernel in ("rbf", "linear", "poly", "sigmoid")
]


@pytest.mark.parametrize(("rule", "kernel"), TREES)
def test_leaves_of_dtsvm_keep_their_vectors_sparse(
    rule: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, (rows, _) = grown(rule, kernel), text(300, 9)
    node = next(one for one in program.body if isinstance(one, CsrLeaves))
    assert node.rule == rule and program.origin.details["leaves"] > 2
    found = program.decision_function(rows)
    twin = dense_sums(program, "the test")
    assert np.abs(twin.decision_function(rows) - found).max() < 1e-12
    for form in ("portable", "host", "device" if rule == "sum" else "onnx"):
        compiled = sc.build(program, **FORMS[form])
        assert np.abs(compiled.decision_function(rows) - found).max() < 1e-4, form
        assert (compiled.predict(rows) == program.predict(rows)).mean() > 0.99, form
    monkeypatch.setattr("svmcompile.data.sparse.MOST_DENSE", 1000)
    with pytest.raises(OptionError, match="target onnx of a tree with vectors in its leaves needs dense"):
        sc.emit(program, "onnx")


def test_dtsvm_of_sparse_rows_is_that_of_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tree, vectors and labels; features are scaled alike, since they are not below zero."""
    (X, score), (rows, _) = text(300, 2), text(300, 9)
    grid = {"C": (1.0, 10.0), "gamma": 0.5, "ceiling": 60, "max_ceiling": 120, "top": 2, "risk": True}
    sparse = sc.train(X, score > 0, **grid)
    monkeypatch.setattr("svmcompile.data.sparse.KEPT_FROM", 1 << 40)
    dense = sc.train(X.toarray(), score > 0, **grid)
    figures = [one.origin.details for one in (sparse, dense)]
    for key in ("C", "leaves", "tnsv", "ceiling", "validation_accuracy"):
        assert figures[0][key] == figures[1][key], key
    assert figures[0]["R"] == pytest.approx(figures[1]["R"], rel=1e-6)
    assert np.abs(sparse.decision_function(rows) - dense.decision_function(rows)).max() < 1e-6


def test_dtsvm_refuses_what_it_keeps_dense(tmp_path: Any) -> None:
    X, score = text(100, 2)
    with pytest.raises(OptionError, match="checkpoints hold dense leaves"):
        sc.train(X, score > 0, checkpoint=str(tmp_path))

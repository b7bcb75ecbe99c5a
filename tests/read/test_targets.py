"""Classifiers that give a row several labels: on 10,000 rows each, in C, ONNX and WebAssembly too."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from typer.testing import CliRunner

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.data.rows import side_by_side
from svmcompile.errors import CheckError, EmitError, OptionError, ReadError, UnsupportedError, VerifyError
from svmcompile.ir.program import Program
from svmcompile.ir.store import to_bytes
from svmcompile.read import read
from svmcompile.runtime.wasm import has_wasmtime

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(160, 4))
TAGS = (X[:, :3] + RANDOM.normal(size=(160, 3)) * 0.3 > (0.0, 0.8, -0.5)).astype(int)
ALWAYS, NEVER = np.ones((160, 1), int), np.zeros((160, 1), int)
HOSTILE = np.array(['q"uote\\', "%s /*", "??/ é", "*/ #if 0"])
WORDS = np.stack([HOSTILE[TAGS[:, 0] + TAGS[:, 1]], np.array(["yes", "no"])[TAGS[:, 2]]], axis=1)
NUMBERS = np.stack([TAGS[:, 0], 5 + TAGS[:, 1] + TAGS[:, 2], 2 * TAGS[:, 0] + TAGS[:, 1]], axis=1)
ROWS = RANDOM.normal(size=(10_000, 4)) * 1.5
REST, EACH = OneVsRestClassifier, MultiOutputClassifier
SCALED = make_pipeline(StandardScaler(), SVC(gamma=0.2))
MODELS = {
    "rest": (REST(SVC()), TAGS),
    "rest-linear": (REST(LinearSVC()), TAGS),
    "rest-scaled": (REST(SCALED), TAGS),
    "rest-nu": (REST(NuSVC(nu=0.1, kernel="poly")), TAGS),
    "rest-logistic": (make_pipeline(StandardScaler(), REST(LogisticRegression())), TAGS),
    "rest-platt": (REST(SVC(probability=True, random_state=0)), TAGS),
    "rest-calibrated": (REST(CalibratedClassifierCV(SVC(), cv=2)), TAGS),
    # An estimator that saw a single class says it always; as the first it moves the limit of all others.
    "rest-always": (REST(LinearSVC()), np.hstack([TAGS, ALWAYS, NEVER])),
    "rest-always-first": (REST(SVC(probability=True, random_state=0)), np.hstack([ALWAYS, TAGS])),
    "rest-never-first": (REST(SVC()), np.hstack([NEVER, TAGS])),
    "ridge": (RidgeClassifier(), TAGS),
    "ridge-scaled": (make_pipeline(StandardScaler(), RidgeClassifierCV()), TAGS),
    "each": (EACH(SVC()), TAGS),
    "each-linear": (EACH(LinearSVC()), WORDS[:, 1:] == np.array(["yes", "no"])),
    "each-words": (EACH(SVC()), WORDS),
    "each-numbers": (make_pipeline(StandardScaler(), EACH(SVC(break_ties=True))), NUMBERS),
    "each-platt": (EACH(SVC(probability=True, random_state=0)), WORDS),
    "each-logistic": (EACH(LogisticRegression()), NUMBERS),
    "each-huber": (EACH(SGDClassifier(loss="modified_huber", random_state=0)), WORDS),
    "each-calibrated": (EACH(CalibratedClassifierCV(SCALED, cv=2)), NUMBERS),
    "each-rest": (EACH(REST(SVC())), NUMBERS),
    "each-bag": (EACH(BaggingClassifier(LinearSVC(), 2, random_state=0)), NUMBERS),
}  # fmt: skip


def trained(name):
    estimator, Y = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels that are always there
        return estimator.fit(X, Y)


def gives(estimator, function):
    """Whether it does, which hasattr does not know where the first estimator saw a single class."""
    try:
        getattr(estimator, function)(ROWS[:1])
    except AttributeError:
        return False
    return True


def assert_same(model, estimator, rows=ROWS, limit=1e-9):
    """Decision values, then labels, then probabilities, in the shapes of the original."""
    for function in ("decision_function", "predict_proba"):
        if isinstance(model, Program):
            has = model.output({"decision_function": "scores"}.get(function, "probabilities")) is not None
        else:
            has = hasattr(model, function)
        assert has == gives(estimator, function)
        if not has:
            continue
        wanted, found = (getattr(one, function)(rows) for one in (estimator, model))
        assert isinstance(found, list) == isinstance(wanted, list)
        parts = zip(found, wanted, strict=True) if isinstance(found, list) else [(found, wanted)]
        for one, other in parts:
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=limit, atol=limit)
    labels, wanted = model.predict(rows), estimator.predict(rows)
    assert labels.shape == wanted.shape and labels.dtype.kind == wanted.dtype.kind
    differ = (labels != wanted).any(axis=1)
    assert differ.mean() <= (0 if limit < 1e-6 else 0.001)


@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter(name, tmp_path):
    estimator = trained(name)
    skops.io.dump(estimator, tmp_path / "a.skops")
    program = sc.compile(estimator)
    assert_same(program, estimator)
    assert sc.compile(tmp_path / "a.skops").computes_as(program)


@pytest.mark.compile
@pytest.mark.parametrize("name", ["rest", "rest-always-first", "ridge", "each-words", "each-platt"])
def test_c_and_onnx(name, tmp_path):
    estimator = trained(name)
    program = sc.compile(estimator)
    for number, profile in (("f64", "host"), ("f32", "device")):
        files = sc.emit(program, ("c", "onnx"), "m", number, profile, soft_double=True)
        folder, limit = sc.write(files, tmp_path / profile), 1e-4 if number == "f32" else 1e-9
        for target in ("c", "onnx"):
            model = sc.load(tmp_path / profile, target=target)
            assert_same(model, estimator, limit=limit)
            one = np.concatenate([model.predict(ROWS[at : at + 1]) for at in range(3)])
            assert (one == model.predict(ROWS[:3])).all() and model.predict(ROWS[:0]).shape == (
                0,
                one.shape[1],
            )
            if target == "c" and profile != "device":
                assert model.self_test() == 0
                assert (model.predict(csr_matrix(ROWS)) == model.predict(ROWS)).all()
        found = sc.verify(tmp_path / profile, estimator, ROWS[:500], estimator.predict(ROWS[:500]))
        assert found.ok and found.accuracy_of_reference == 1, folder
        assert len(found.comparisons[0].agreement_by_target) == one.shape[1]


@pytest.mark.compile
@pytest.mark.skipif(not has_wasmtime(), reason="wasmtime runs modules")
@pytest.mark.parametrize("name", ["rest-platt", "each-logistic"])
def test_wasm(name):
    estimator = trained(name)
    model = sc.build(estimator, target="wasm", precision="f64")
    assert_same(model, estimator)
    assert model.self_test() == 0


@pytest.mark.compile
@pytest.mark.parametrize("number", ["q15", "q7"])
def test_whole_numbers(number, tmp_path):
    estimator = make_pipeline(StandardScaler(), REST(SVC(gamma=0.2))).fit(X, TAGS)
    files = sc.emit(sc.compile(estimator), "c", "m", number, "device", X=X)
    sc.write(files, tmp_path)
    model, report = sc.load(tmp_path), json.loads(files["m.json"])
    same = (model.predict(ROWS) == estimator.predict(ROWS)).mean()
    assert same > {"q15": 0.99, "q7": 0.9}[number]
    assert report["classes_by_target"] == [[0, 1]] * 3
    assert sc.verify(tmp_path, estimator, X).ok


@pytest.mark.compile
def test_text():
    texts = ["a small red dog", "the blue sea", "a red sea", "small dogs", "blue and red", "no colour"] * 6
    tags = np.array([["red" in one, "blue" in one, "small" in one] for one in texts]).astype(int)
    estimator = make_pipeline(TfidfVectorizer(), REST(LinearSVC())).fit(texts, tags)
    program = sc.compile(estimator)
    for profile in ("host", "device"):
        model = sc.build(estimator, profile=profile, precision="f64")
        assert (model.predict(texts) == estimator.predict(texts)).all()
        np.testing.assert_allclose(model.decision_function(texts), estimator.decision_function(texts))
    header = sc.emit(program, "c", "m")["m.h"]
    assert "m_predict_text(const char *utf8, int32_t labels[M_N_TARGETS])" in header
    assert (sc.build(estimator, target="onnx").predict(texts) == estimator.predict(texts)).all()


def test_original_of_a_sparse_indicator(tmp_path):
    """scikit-learn then answers with sparse matrices; compiled models with arrays."""
    estimator = REST(LinearSVC()).fit(X, csr_matrix(TAGS))
    sc.write(sc.emit(sc.compile(estimator), "onnx", "m"), tmp_path)
    assert sc.verify(tmp_path, estimator, ROWS[:200]).ok
    assert (sc.compile(estimator).predict(ROWS) == estimator.predict(ROWS).toarray()).all()


def test_kernel_values_are_computed_once_for_all():
    for name in ("rest", "rest-scaled", "each", "each-numbers"):
        estimator = trained(name)
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        machines = [one[-1] if hasattr(one, "steps") else one for one in last.estimators_]
        every = sum(len(one.support_) for one in machines)
        program = sc.compile(estimator)
        distinct = len(np.unique(np.concatenate([one.support_ for one in machines])))
        assert program.cost().max_kernel_evaluations == distinct < every
    program = sc.compile(trained("rest-logistic"))
    assert [type(node).__name__ for node in program.body] == ["Affine", "Sigmoid", "Above"]
    program = sc.compile(trained("rest-linear"))
    assert [type(node).__name__ for node in program.body] == ["Affine", "Above"]


def test_what_the_model_tells(tmp_path):
    model = sc.build(trained("each-words"), target="onnx")
    assert [one.tolist() for one in model.classes_] == [sorted({*column}) for column in WORDS.T]
    assert model.score(X, model.predict(X)) == 1 and not hasattr(model, "predict_log_proba")
    assert model.__sklearn_tags__().classifier_tags.multi_label
    assert "2 labels" in repr(model)
    files = sc.emit(sc.compile(trained("each-logistic")), "c", "m")
    assert "Target 1: 2 to 4" in files["m.h"] and "M_N_PROBABILITIES = 9" in files["m.h"]
    assert "M_get" not in files["m.h"]


def test_files_of_programs(tmp_path):
    program = sc.compile(trained("each-words"))
    program.save(tmp_path / "a.svmc")
    again = sc.Program.load(tmp_path / "a.svmc")
    assert again == program and again.labels.targets == program.labels.targets
    assert "targets ((" in again.text()
    for wrong in (
        [[0, 1, 2], [3, 9]],
        [[0, 1, 2], [3, 3]],
        [[0, 1, 2], [-1, 3]],
        [[0], [3, 4]],
        [[0, 1, 2]],
    ):
        damaged = replace(program.labels, targets=tuple(map(tuple, wrong)))
        (tmp_path / "b.svmc").write_bytes(to_bytes(program.replace(labels=damaged)))
        with pytest.raises((ReadError, CheckError)):
            sc.Program.load(tmp_path / "b.svmc")


@pytest.mark.compile
def test_predictions_have_a_column_per_label(tmp_path):
    for name, option in (("rest-platt", "--scores"), ("each-platt", "--probabilities")):
        estimator, folder = trained(name), tmp_path / name
        sc.write(sc.emit(sc.compile(estimator), "c", "m"), folder)
        np.savez(tmp_path / "rows.npz", X=ROWS[:50])
        for suffix in ("csv", "npz", "npy"):
            options = [] if suffix == "npy" else [option, "--probabilities"]
            command = [
                "predict",
                str(folder),
                "--data",
                str(tmp_path / "rows.npz"),
                *dict.fromkeys(options),
            ]
            done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / f"{name}.{suffix}")])
            assert done.exit_code == 0, done.output
        wanted = sc.load(folder).predict(ROWS[:50])
        assert (np.load(tmp_path / f"{name}.npy") == wanted).all()
        assert (np.load(tmp_path / f"{name}.npz")["label"] == wanted).all()
        chances = side_by_side(sc.load(folder).predict_proba(ROWS[:50]))
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npz")["probabilities"], chances)
    head = (tmp_path / "rest-platt.csv").read_text().split("\n", 1)[0]
    assert head.startswith("label_0,label_1,label_2,score_0") and head.endswith(
        "probability_1,probability_2"
    )
    head = (tmp_path / "each-platt.csv").read_text().split("\n", 1)[0]
    assert head.startswith("label_0,label_1,") and head.endswith("probability_1_no,probability_1_yes")


def test_labels_of_files(tmp_path):
    """A matrix of labels in an .npz file, for models of as many."""
    skops.io.dump(trained("rest"), tmp_path / "a.skops")
    skops.io.dump(SVC().fit(X, TAGS[:, 0]), tmp_path / "b.skops")
    for name, y in (("all", TAGS), ("one", TAGS[:, 0]), ("two", TAGS[:, :2])):
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    words = ["--target", "onnx", "--name", "m"]
    for model, data, told in (
        ("a", "all", ""), ("a", "one", "gives 3 labels per row"), ("a", "two", "gives 3 labels per row"),
        ("b", "all", "there is one label per row"),
    ):  # fmt: skip
        folder, rows = str(tmp_path / data), ["--data", str(tmp_path / f"{data}.npz")]
        done = CliRunner().invoke(
            app, ["compile", str(tmp_path / f"{model}.skops"), "-o", folder, *words, *rows]
        )
        assert (done.exit_code == 0) == (not told) and told in str(done.exception)
    model = ["--model", str(tmp_path / "a.skops")]
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "all"), *model, *rows, "--json"])
    assert done.exit_code == 0 and 0 < json.loads(done.output)["accuracy_of_reference"] <= 1


def test_a_wrong_program_is_noticed(tmp_path):
    """By row and by column."""
    estimator = trained("each")
    sc.write(sc.emit(sc.compile(estimator), "onnx", "m"), tmp_path)
    estimator.estimators_ = [estimator.estimators_[at] for at in (0, 1, 1)]
    found = sc.verify(tmp_path, estimator, ROWS[:500])
    share = found.comparisons[0].agreement_by_target
    assert not found.ok and share[:2] == (1, 1) and share[2] == found.comparisons[0].agreement < 1
    with pytest.raises(VerifyError, match="labels have shape"):
        sc.verify(tmp_path, trained("ridge").fit(X, TAGS[:, :2]), ROWS[:500])


@pytest.mark.parametrize("name", ["rest", "each"])
def test_refused(name):
    estimator = trained(name)
    program, told = sc.compile(estimator), "gives 3 labels"
    for target in ("blob", "sql"):
        with pytest.raises(EmitError, match=f"target {target} is for one label .* {told}"):
            sc.emit(program, target, "m")
    for kit in ("arduino", "cmake", "wheel"):
        with pytest.raises(EmitError, match=f"kit {kit} is for one label .* {told}"):
            sc.emit(program, "shared" if kit == "wheel" else "c", "m", profile="portable", kit=kit)
    with pytest.raises(EmitError, match="part model of the C interface is for one"):
        sc.emit(program, "c", "m", api="model")
    for method in ("anytime", "certified", "reduced-set", "linear", "proto", "metric-tree"):
        with pytest.raises(UnsupportedError, match=f"{method}.* is for one label .* {told}"):
            sc.compile(estimator, method=method, X=X)
    with pytest.raises(OptionError, match=told):
        sc.compile(estimator, method="auto", X=X)
    certain = sc.build(estimator, labels="certain", precision="f32", target="onnx")
    assert (certain.predict(ROWS) == estimator.predict(ROWS.astype(np.float32))).all()
    with pytest.raises(OptionError, match="3 labels per row"):
        sc.compile(estimator, X=X, y=TAGS[:, 0])
    with pytest.raises(OptionError, match="zipmap is for one label"):
        sc.emit(sc.compile(trained("rest-platt")), "onnx", "m", zipmap=True)


@pytest.mark.parametrize(
    ("estimator", "Y", "message"),
    [
        (EACH(GaussianNB()), TAGS, "GaussianNB cannot be compiled"),
        (EACH(SVC()), TAGS[:, :1], "has a single target"),
        (REST(SVC()), np.hstack([ALWAYS, NEVER]), "gives every row the same labels"),
        (REST(SVR()), TAGS, "two classes apart"),
    ],
)
def test_refused_by_name(estimator, Y, message):
    with warnings.catch_warnings(), pytest.raises(UnsupportedError, match=message):
        warnings.simplefilter("ignore")
        read(estimator.fit(X, Y))


def test_refused_inside_others():
    estimator = EACH(SVC()).fit(X, TAGS)
    estimator.estimators_[1] = RidgeClassifier().fit(X, TAGS)
    with pytest.raises(UnsupportedError, match="several labels per row; compile it on its own"):
        read(estimator)


@pytest.mark.parametrize("attribute", ["estimators_", "label_binarizer_"])
@pytest.mark.parametrize("value", [None, [], [1], "text", {}, np.zeros(3)])
def test_damaged(attribute, value):
    for name in ("rest", "each"):
        estimator = trained(name)
        if not hasattr(estimator, attribute):
            continue
        setattr(estimator, attribute, value)
        with pytest.raises((ReadError, UnsupportedError)):
            read(estimator)


def test_damaged_parts():
    estimator = trained("rest-always")
    for wrong in (np.array([0.5]), np.array([1, 1]), "x", None):
        estimator.estimators_[3].y_ = wrong
        with pytest.raises(ReadError):
            read(estimator)
    ridge = RidgeClassifier().fit(X, TAGS)
    ridge.coef_ = ridge.coef_[:2]
    with pytest.raises(ReadError, match="coef_ has 2 rows"):
        read(ridge)


def test_chains_are_refused():
    with pytest.raises(
        UnsupportedError, match="ClassifierChain cannot be compiled; its machines read what others said"
    ):
        read(ClassifierChain(SVC()).fit(X, TAGS))

"""The method h1-tree: lists in the SVM's stead, lists before it, and what is refused."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from accelerate_cases import digits, moons, wave
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, OneClassSVM

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values

METHOD = "h1-tree"


@cache
def waves():
    """Rows of two classes that overlap, a machine trained on some, rows for lists and rows to test with."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3500, 2))
    y = (X[:, 1] > np.sin(1.5 * X[:, 0]) + rng.normal(size=3500) * 0.6).astype(int)
    return X, y, SVC(C=1.0, gamma=0.5).fit(X[:500], y[:500])


def lists_of(program):
    return next(node for node in program.body if isinstance(node, ir.PlaneLists))


def planes_of(program):
    return program.tables[lists_of(program).planes]


def test_lists_alone_answer_as_the_model_does():
    X, _, model = waves()
    program = sc.compile(model, method=METHOD, X=X[:2000], end="label")
    assert (program.predict(X[:2000]) == model.predict(X[:2000])).all()
    assert (program.predict(X[2000:]) == model.predict(X[2000:])).mean() > 0.97
    details = program.origin.details["lists"]
    assert details["agreement_on_rows_of_the_lists"] == 1.0
    assert details["planes"] == len(planes_of(program)) <= details["grown"]
    assert 1 <= details["mean_depth"] <= details["longest"]
    assert program.cost(X).mean_kernel_evaluations == 0


def test_few_planes_say_when_they_do_not_suit():
    X, _, model = waves()
    few, many = (sc.compile(model, method=METHOD, X=X[:600], end="label", max_nodes=n) for n in (1, 100))
    assert (few.predict(X[600:]) == model.predict(X[600:])).mean() < 0.9
    assert any(
        "do not suit this model" in note and "2,000 rows between" in note for note in few.origin.notes
    )
    assert not any("do not suit" in note for note in many.origin.notes)


def test_predictions_make_short_lists_and_noisy_labels_long_ones():
    X, y, model = waves()
    by_model = sc.compile(model, method=METHOD, X=X[:600], end="label")
    by_label = sc.compile(model, method=METHOD, X=X[:600], y=y[:600], labels="given", end="label")
    assert len(planes_of(by_model)) <= 10
    assert len(planes_of(by_label)) > 25
    assert (by_model.predict(X[600:]) == model.predict(X[600:])).mean() > 0.95
    assert (by_label.predict(X[:600]) == y[:600]).mean() > (model.predict(X[:600]) == y[:600]).mean()


def test_only_rows_that_no_half_space_answers_reach_the_svm():
    X, _, model = waves()
    program = sc.compile(model, method=METHOD, X=X[:2500], target=0.99)
    rows = X[2500:]
    found = interpret_values(program, rows, {"lists", "guarded", "exact"})
    reach = (found["lists"] == 0)[:, 0]
    assert 0 < reach.mean() < 0.6
    assert np.array_equal(found["guarded"][reach], found["exact"][reach])
    assert np.array_equal(np.abs(found["guarded"][~reach]), np.ones(((~reach).sum(), 1)))
    cost = program.cost(rows)
    assert cost.mean_kernel_evaluations == pytest.approx(reach.mean() * len(model.support_))
    assert cost.mean_flops < cost.exact_flops / 1.5
    assert (program.predict(rows) == model.predict(rows)).mean() > 0.98


def test_the_report_tells_what_held_out_rows_show():
    X, _, model = waves()
    program = sc.compile(model, method=METHOD, X=X[:2500], target=0.99)
    details = program.origin.details
    assert details["rows"] == {"lists": 1500, "choice": 375, "proof": 625}
    exits = details["exits"]
    assert exits["reached"] and exits["proven_agreement"] >= 0.99
    assert exits["agreement"] >= exits["proven_agreement"]
    assert any(f"{exits['exit_share']:.1%} of 625 held-out rows" in note for note in program.origin.notes)
    assert {one["tau"] for one in details["tried"]} == {0.0, 0.5}
    assert {one["recalibrated"] for one in details["tried"]} == {True, False}


def test_a_higher_target_is_never_cheaper():
    X, _, model = waves()
    given = {"method": METHOD, "X": X[:1500], "calibrate": X[1500:3000], "tau": 0.0, "recalibrate": 0}
    loose, strict = (sc.compile(model, target=target, **given) for target in (0.97, 0.998))
    assert loose.cost(X[3000:]).mean_flops < strict.cost(X[3000:]).mean_flops


def test_rows_too_few_to_prove_the_target_are_named():
    X, _, model = waves()
    program = sc.compile(model, method=METHOD, X=X[:400], target=0.999)
    assert any("cannot prove 99.90% agreement" in note for note in program.origin.notes)


def test_no_nodes_leave_the_svm_as_it_is():
    """Where a node must answer all rows, there is none; agreement is whole."""
    X, _, model = waves()
    program = sc.compile(model, method=METHOD, X=X[:400], min_gain=1.0)
    assert not any(isinstance(node, (ir.PlaneLists, ir.Guard)) for node in program.body)
    assert (program.predict(X) == model.predict(X)).all()
    np.testing.assert_allclose(
        program.decision_function(X[:50]), model.decision_function(X[:50]), atol=1e-9
    )


def test_rows_the_svm_is_not_sure_of_do_not_exit():
    X, _, model = waves()
    program = sc.compile(model, method=METHOD, X=X[:1500], tau=0.8, recalibrate=0, target=0.9999)
    assert (program.origin.details["exits"]["shift"] or 0) >= 0
    lists = interpret_values(program, X[:1500], {"lists"})["lists"][:, 0]
    sure = np.abs(model.decision_function(X[:1500]))[lists != 0]
    assert 0.3 < (lists != 0).mean() < 1
    assert np.quantile(sure, 0.02) > 0.6  # rows held out may be a little less sure


@pytest.mark.parametrize("end", ["label", "svm"])
@pytest.mark.parametrize("multiclass", ["vote", "dag"])
def test_several_classes(end, multiclass):
    X, _, model = digits()
    program = sc.compile(model, method=METHOD, X=X[:600], end=end, multiclass=multiclass, target=0.95)
    meant = model.predict(X[600:])
    assert (program.predict(X[600:]) == meant).mean() > 0.93
    cost = program.cost(X[600:])
    assert cost.mean_flops < cost.exact_flops
    if end == "label" and multiclass == "dag":
        tests = cost.mean_flops / (2 * 64 + 1)
        assert tests < 15  # nine lists of the forty-five


def test_models_behind_scalers_and_of_one_class():
    X, _, model = moons()
    program = sc.compile(model, method=METHOD, X=X, end="label")
    assert (program.predict(X) == model.predict(X)).mean() > 0.99
    assert lists_of(program).x == "x"  # the scaling went into the planes
    rng = np.random.default_rng(3)
    points = rng.normal(size=(800, 3))
    outliers = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1, gamma=0.3)).fit(points)
    program = sc.compile(outliers, method=METHOD, X=points, target=0.95)
    assert (program.predict(points) == outliers.predict(points)).mean() > 0.95


def test_int8_planes_answer_no_hard_row():
    X, _, model = waves()
    for end in ("label", "svm"):
        program = sc.compile(model, method=METHOD, X=X[:2000], end=end, planes="int8", target=0.99)
        assert planes_of(program).dtype == np.int8
    program = sc.compile(model, method=METHOD, X=X[:2000], end="label", planes="int8")
    assert (program.predict(X[:2000]) == model.predict(X[:2000])).all()
    single = program.predict(X[:2000].astype(np.float32).astype(np.float64))
    assert (single == model.predict(X[:2000])).mean() > 0.999


def test_the_same_input_gives_the_same_program():
    X, _, model = waves()
    one, other = (sc.compile(model, method=METHOD, X=X[:800]) for _ in range(2))
    assert one == other
    assert sc.compile(model, method=METHOD, X=X[:800], seed=1) != one


def test_paper_form():
    X, y, _ = moons()
    model = SVC(gamma=0.5).fit(X, y)
    program = sc.compile(model, method=METHOD, X=X, y=y, paper=True, max_nodes=20)
    assert not any(isinstance(node, ir.Guard) for node in program.body)
    assert len(planes_of(program)) <= 20
    with pytest.raises(sc.OptionError, match="labels=given needs labels"):
        sc.compile(model, method=METHOD, X=X, paper=True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"end": "tree"}, "end='tree' is unknown"),
        ({"planes": "i4"}, "planes='i4'"),
        ({"level": 2}, "level must be from 0 to 1"),
        ({"tau": -0.5}, "tau must be -1"),
        ({"target": 1.5}, "target must be between"),
        ({"hard_weight": 0.5}, "hard_weight must be at least 1"),
        ({"reduced": "0.1,2"}, "reduced must be .*'0.1,2'"),
        ({"max_nodes": -1}, "max_nodes must be at least 0"),
        ({"proven": True, "end": "label"}, "proven=true is for end=svm"),
        ({"centres": 0}, "centres must be from"),
        ({"noise": 0.7}, "noise must be at least 0 and below 0.5"),
        ({"calibrate": "rows.npy", "end": "label"}, "calibrate is for end=svm"),
        ({"recalibrate": 5000}, "recalibrate must be from"),
    ],
)
def test_options_that_make_no_sense(options, problem):
    X, _, model = waves()
    with pytest.raises(sc.OptionError, match=problem):
        sc.compile(model, method=METHOD, X=X[:100], **options)


def test_models_without_pairs_of_classes_are_refused():
    X, _, regressor = wave()
    with pytest.raises(sc.UnsupportedError, match="a regressor has none"):
        sc.compile(regressor, method=METHOD, X=X)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(sc.UnsupportedError, match="one dot product per class"):
        sc.compile(LinearSVC().fit(X, y), method=METHOD, X=X)


def test_rows_that_prove_must_be_new_and_rows_be_numbers():
    X, _, model = waves()
    with pytest.raises(sc.OptionError, match="h1-tree: 300 of the 300 rows"):
        sc.compile(model, method=METHOD, X=X[:600], calibrate=X[:300])
    with pytest.raises(sc.OptionError, match="too few"):
        sc.compile(model, method=METHOD, X=X[:3])
    bad = X[:200].copy()
    bad[7, 1] = np.nan
    with pytest.raises(sc.OptionError, match="row 7 of the data"):
        sc.compile(model, method=METHOD, X=bad)
    with pytest.raises(sc.OptionError, match="the label 5"):
        sc.compile(model, method=METHOD, X=X[:50], y=np.full(50, 5), labels="given", end="label")


def test_breast_cancer_is_nearly_linear():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC()).fit(X[::2], y[::2])
    program = sc.compile(model, method=METHOD, X=X[::2], end="label")
    assert len(planes_of(program)) <= 3
    assert (program.predict(X[1::2]) == model.predict(X[1::2])).mean() > 0.95


def load_set(name):
    """One of the paper's sets; they do not come with scikit-learn."""
    import importlib.util

    folder = os.environ.get("SVMCOMPILE_DATA")
    if not folder:
        pytest.skip("needs the paper's data sets: set SVMCOMPILE_DATA to a folder with load.py")
    spec = importlib.util.spec_from_file_location("h1_load", Path(folder) / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(name)


def test_fourclass_as_published_or_better():
    data = load_set("fourclass")
    X, y = np.asarray(data["X"], dtype=float), np.asarray(data["y"])
    found = []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(y))
        program = sc.train(X[order[:287]], y[order[:287]], method=METHOD, level=1)
        right = (program.predict(X[order[287:]]) == y[order[287:]]).mean()
        found.append((len(planes_of(program)), right))
    planes, accuracy = np.mean(found, axis=0)
    assert planes <= 6.5  # 1.3 times the paper's five
    assert accuracy >= 0.97


def test_diabetes_predictions_beside_labels():
    data = load_set("diabetes_scale")
    X, y = np.asarray(data["X"], dtype=float), np.asarray(data["y"])
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = SVC(gamma=1 / 8).fit(X[:500], y[:500])
    by_model = sc.compile(model, method=METHOD, X=X[:500], end="label")
    by_label = sc.compile(model, method=METHOD, X=X[:500], y=y[:500], labels="given", end="label")
    assert len(planes_of(by_model)) <= 10
    assert (by_model.predict(X[500:]) == model.predict(X[500:])).mean() >= 0.95
    assert len(planes_of(by_label)) > 25

"""Training from the command line and from Python: a program that compiles, in every form the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.statistics import interval

pytestmark = pytest.mark.compile


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Digits 0 to 4 with names, in two files; leaves are cut small."""
    X, y = load_digits(n_class=5, return_X_y=True)
    names = np.array(["zero", "one", "two", "three", "four"])[y]
    folder = tmp_path_factory.mktemp("digits")
    np.savez(folder / "train.npz", X=X[:700], y=names[:700])
    np.savez(folder / "test.npz", X=X[700:], y=names[700:])
    return folder


SMALL = ("--set", "ceiling=120", "--set", "max_ceiling=480", "--set", "C=10", "--set", "gamma=0.1,1")


@pytest.mark.parametrize("mode", ["1a1", "1ao"])
def test_train_then_compile_then_predict(run, digits, tmp_path, mode):
    stored, out = tmp_path / "digits.svmc", tmp_path / "out"
    done = run(
        "train", "--data", digits / "train.npz", "-o", stored, *SMALL, "--set", f"mode={mode}", "--json"
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["method"] == "dtsvm" and report["accuracy"] > 0.95 and report["n_rows"] == 700
    assert report["details"]["leaves"] > 1 and len(report["details"]["search"]) >= 3
    assert report["cost"]["mean_kernel_evaluations"] <= report["cost"]["max_kernel_evaluations"]
    assert run("compile", stored, "-o", out, "--target", "c", "--target", "onnx").code == 0
    done = run("predict", out, "--data", digits / "test.npz", "-o", tmp_path / "labels.npz")
    assert done.code == 0, done.err
    program = sc.Program.load(stored)
    with np.load(digits / "test.npz") as test, np.load(tmp_path / "labels.npz") as found:
        wanted = program.predict(test["X"])
        np.testing.assert_array_equal(found["label"], wanted)
        assert (wanted == test["y"]).mean() > 0.9
        np.testing.assert_array_equal(sc.load(out, target="onnx").predict(test["X"]), wanted)


@pytest.mark.parametrize("multiclass", ["vote", "dag"])
def test_lists_of_half_spaces_go_the_same_way(run, digits, tmp_path, multiclass):
    stored, out = tmp_path / "lists.svmc", tmp_path / "out"
    chosen = ("--method", "h1-tree", "--set", f"multiclass={multiclass}", "--set", "planes=int8")
    done = run("train", "--data", digits / "train.npz", "-o", stored, *chosen, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["method"] == "h1-tree" and report["accuracy"] == 1.0
    assert report["details"]["lists"]["planes"] >= 10  # pairs of five classes
    assert run("compile", stored, "-o", out, "--target", "c", "--target", "onnx").code == 0
    with np.load(digits / "test.npz") as test:
        wanted = sc.Program.load(stored).predict(test["X"])
        assert (wanted == test["y"]).mean() > 0.9
        for target in ("c", "onnx"):
            np.testing.assert_array_equal(sc.load(out, target=target).predict(test["X"]), wanted)


def test_two_classes_keep_their_scores_in_c(digits, tmp_path):
    with np.load(digits / "train.npz") as data:
        chosen = np.isin(data["y"], ["two", "three"])
        X, y = data["X"][chosen], data["y"][chosen]
    program = sc.train(X, y, ceiling=60, max_ceiling=60, C=10, gamma=1)
    assert program.origin.details["leaves"] > 1
    sc.write(sc.emit(program, name="pair"), tmp_path)
    wanted, found = program.decision_function(X), sc.load(tmp_path).decision_function(X)
    assert (np.abs(wanted - found) <= error_bounds(program, X, "f32").scores[:, 0]).all()


def test_the_same_rows_give_the_same_bytes(run, digits, tmp_path):
    files = [tmp_path / "a.svmc", tmp_path / "b.svmc"]
    for file, jobs in zip(files, (1, 2), strict=True):
        done = run("train", "--data", digits / "train.npz", "-o", file, *SMALL, "--set", f"jobs={jobs}")
        assert done.code == 0, done.err
        assert "validation accuracy" in done.out and "leaves" in done.out
    assert files[0].read_bytes() == files[1].read_bytes()


def test_options_are_part_of_a_programs_origin_but_not_how_the_work_is_done(digits):
    with np.load(digits / "train.npz") as data:
        X, y = data["X"][:200], data["y"][:200]
    first, other, parallel = (
        sc.train(X, y, C=C, gamma=1, ceiling=500, max_ceiling=500, jobs=jobs).origin.sha256
        for C, jobs in ((1, 1), (2, 1), (1, 2))
    )
    assert first != other and first == parallel


def test_terms_of_the_bound_on_demand(digits):
    with np.load(digits / "train.npz") as data:
        program = sc.train(data["X"], data["y"], C=10, gamma=1, ceiling=120, max_ceiling=120, risk=True)
    details = program.origin.details
    assert details["R"] > 0 and details["T1"] == pytest.approx(details["R"] * np.log10(700) ** 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "exact"], "needs a trained SVM; methods that train: dtsvm"),
        (["--method", "magic"], "unknown method"),
        (["--set", "depth=3"], "no option 'depth'"),
        (["--set", "C=many"], "not a list of numbers"),
        (["--set", "mode=ovo"], "mode='ovo' is unknown"),
        (["--cluster", "local:none"], "expected local:N"),
    ],
)
def test_what_cannot_be_trained_is_said_and_nothing_is_written(run, digits, tmp_path, arguments, words):
    done = run("train", "--data", digits / "train.npz", "-o", tmp_path / "x.svmc", *arguments)
    assert done.code == 2 and words in done.err and "Traceback" not in done.err
    assert not (tmp_path / "x.svmc").exists()


def test_rows_that_cannot_be_trained_on_are_named(run, digits, tmp_path):
    with pytest.raises(sc.OptionError, match="row 1 of the data holds a NaN"):
        sc.train([[0.0], [np.nan], [1.0]], [0, 1, 1])
    with pytest.raises(sc.OptionError, match="at least two classes"):
        sc.train([[0.0], [1.0]], [1, 1])
    np.save(tmp_path / "rows.npy", np.zeros((3, 2)))
    done = run("train", "--data", tmp_path / "rows.npy", "-o", tmp_path / "x.svmc")
    assert done.code == 2 and "--label" in done.err
    done = run("train", "--data", digits / "train.npz", "-o", tmp_path / "x.onnx")
    assert done.code == 2 and ".svmc" in done.err


@pytest.mark.parametrize("method", ["dtsvm", "h1-tree"])
def test_numbers_to_predict_are_no_labels(method):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(sc.OptionError, match=f"'{method}' trains classifiers, and 60 rows have 60"):
        sc.train(X, X[:, 0], method=method)


def test_accuracy_is_told_of_rows_held_out(run, digits, tmp_path):
    words = ("train", "--data", digits / "train.npz", "-o", tmp_path / "x.svmc", *SMALL)
    done = run(*words)
    assert "not measured on held-out rows; add --test FILE" in done.out
    assert "of the 700 rows it was fitted to" in done.out
    with np.load(digits / "train.npz") as data:
        np.savez(tmp_path / "test.npz", X=data["X"][::7] + 0.02, y=data["y"][::7])
    report = json.loads(run(*words, "--test", tmp_path / "test.npz", "--json").out)
    right = round(report["accuracy"] * 100)
    assert report["accuracy_rows"] == 100 and report["fitted_to_these_rows"] is False
    assert report["accuracy_interval"] == list(interval(right, 100))
    assert report["fitted"]["accuracy_rows"] == 700
    assert "held-out rows" in run(*words, "--test", tmp_path / "test.npz").out


def test_methods_lists_what_trains(run):
    found = {one["name"]: one for one in json.loads(run("methods", "--json").out)["methods"]}
    assert found["dtsvm"]["trains"] and not found["exact"]["trains"]
    assert "ceiling" in {option["name"] for option in found["dtsvm"]["train_options"]}
    assert "options in training" in run("methods", "dtsvm").out


def test_options_are_checked_before_the_data_are_read(run, tmp_path):
    words = ("train", "--data", tmp_path / "nowhere.npz", "-o", tmp_path / "x.svmc")
    assert "did you mean 'ceiling'" in run(*words, "--set", "celing=3").err
    assert "ceiling must be at least 1, got 0" in run(*words, "--set", "ceiling=0").err
    assert "did you mean 'dtsvm'" in run(*words, "--method", "dtsvn").err


def test_the_source_of_a_program_is_rows_and_options():
    """Options that change what comes out are in its sha256; those that say how the work is done are not."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    one = {"C": 1, "gamma": 1, "ceiling": 100}
    digests = [sc.train(X, y, **one, **more).origin.sha256 for more in ({}, {"jobs": 1}, {"min_leaf": 5})]
    assert digests[0] == digests[1] != digests[2]

"""The commands, as a user types them."""

from __future__ import annotations

import csv
import json
from functools import partial

import numpy as np
import pytest
import skops.io
from programs.seals import unseal
from sklearn.datasets import load_digits, load_iris
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands import demo

pytestmark = pytest.mark.compile

REPORT_KEYS = {
    "name", "source", "method", "options", "claim", "target", "precision", "n_features", "n_classes",
    "n_support_vectors", "cost",
}  # fmt: skip
COST_KEYS = {
    "mean_kernel_evaluations", "max_kernel_evaluations", "mean_flops", "exact_flops", "table_bytes",
    "scratch_bytes",
}  # fmt: skip


@pytest.fixture
def compiled(run, iris, tmp_path):
    """Iris compiled to both targets."""
    folder = tmp_path / "out"
    done = run("compile", iris.file("iris.skops"), "-o", folder, "--target", "c", "--target", "onnx")
    assert done.code == 0, done.err
    return folder


def test_compile_writes_all_files_and_a_full_report(compiled):
    names = {item.name for item in compiled.iterdir()}
    assert names == {"iris.c", "iris.h", "iris.onnx", "iris.svmc", "iris.json"}
    report = json.loads((compiled / "iris.json").read_text())
    assert set(report) >= REPORT_KEYS and set(report["cost"]) == COST_KEYS
    assert report["target"] == ["c", "onnx"] and report["precision"] == "f32"
    assert report["claim"] == "EXACT" and report["n_classes"] == 3 and report["n_features"] == 4


def test_compile_with_data_reports_agreement(run, iris, tmp_path):
    done = run(
        "compile",
        iris.file("iris.skops"),
        "-o",
        tmp_path / "out",
        "--data",
        iris.file("iris.npz"),
        "--json",
    )
    report = json.loads(done.out)
    assert report["agreement"] == 1.0 and report["rows"] == len(iris.X)
    assert report["accuracy"]["original"] == report["accuracy"]["compiled"] > 0.9
    assert 0 < report["max_decision_error"] < 1e-5
    assert report["target"] == "c"


def test_json_is_all_there_is_on_standard_output(run, iris, compiled):
    data = iris.file("iris.npz")
    for command in (
        ("inspect", compiled),
        ("inspect", iris.file("iris.skops")),
        ("inspect", compiled / "iris.svmc"),
        ("verify", compiled, "--model", iris.file("iris.skops"), "--data", data),
        ("predict", compiled, "--data", data, "-o", compiled.parent / "p.csv"),
        ("methods",),
    ):
        done = run(*command, "--json")
        assert done.code == 0, done.err
        assert isinstance(json.loads(done.out), dict)


def test_every_command_prints_something_a_person_can_read(run, iris, compiled):
    data = iris.file("iris.npz")
    assert "exact" in run("methods").out
    assert "rbf" in run("inspect", iris.file("iris.skops")).out
    assert "pair_sum" in run("inspect", compiled / "iris.svmc").out
    assert "EXACT" in run("inspect", compiled).out
    verified = run("verify", compiled, "--model", iris.file("iris.skops"), "--data", data)
    assert verified.code == 0 and "holds" in verified.out
    assert "150 rows" in run("predict", compiled, "--data", data, "-o", compiled.parent / "p.csv").out
    assert "compile" in run("--help").out
    assert sc.__version__ in run("--version").out


def test_inspect_keeps_the_classes_of_targets_apart(run, tmp_path):
    X, y = load_iris(return_X_y=True)
    skops.io.dump(MultiOutputClassifier(SVC()).fit(X, np.stack([y, y > 0], axis=1)), tmp_path / "m.skops")
    assert run("compile", tmp_path / "m.skops", "-o", tmp_path / "out").code == 0
    assert "0, 1, 2; 0, 1" in run("inspect", tmp_path / "out").out


def test_predict_writes_the_originals_labels(run, iris, compiled, tmp_path):
    data, output = iris.file("iris.csv"), tmp_path / "labels.csv"
    done = run("predict", compiled, "--data", data, "--label", "species", "-o", output, "--scores")
    assert done.code == 0, done.err
    with output.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["label"] for row in rows] == iris.model.predict(iris.X).tolist()
    scores = np.array([[float(row[f"score_{name}"]) for name in iris.model.classes_] for row in rows])
    np.testing.assert_allclose(scores, iris.model.decision_function(iris.X), atol=1e-5)


def test_verify_finds_a_broken_claim(run, iris, compiled):
    source = unseal(compiled, "iris") / "iris.c"
    before = source.read_text()
    at = before.index("_weights[")
    source.write_text(before[:at] + before[at:].replace("1.0f", "0.5f", 3))
    assert source.read_text() != before
    done = run("verify", compiled, "--model", iris.file("iris.skops"), "--data", iris.file("iris.npz"))
    assert done.code == 1 and "Traceback" not in done.err


def test_pickle_needs_consent(run, iris, tmp_path):
    refused = run("compile", iris.file("iris.joblib"), "-o", tmp_path / "out")
    assert refused.code == 2 and "--trust-pickle" in refused.err
    assert not (tmp_path / "out").exists()
    assert run("compile", iris.file("iris.joblib"), "-o", tmp_path / "out", "--trust-pickle").code == 0


def test_a_program_compiles_again(run, compiled, tmp_path):
    again = tmp_path / "again"
    done = run("compile", compiled / "iris.svmc", "-o", again, "--target", "onnx", "--precision", "f64")
    assert done.code == 0, done.err
    assert (again / "iris.svmc").read_bytes() == (compiled / "iris.svmc").read_bytes()
    refused = run("compile", compiled / "iris.svmc", "-o", again, "--set", "a=1")
    assert refused.code == 2 and "original model" in refused.err


def test_dump_ir_shows_each_step(run, iris, tmp_path):
    run("compile", iris.file("iris.skops"), "-o", tmp_path / "out", "--dump-ir", tmp_path / "ir")
    names = sorted(item.name for item in (tmp_path / "ir").iterdir())
    assert names[0] == "00-exact.txt" and names[-1].endswith("lower-f32.txt")
    assert "tiled_sum" in (tmp_path / "ir" / names[-1]).read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "magic"], "unknown method 'magic'; known: "),
        (["--target", "rust"], "unknown target 'rust'"),
        (["--precision", "f16"], "unknown precision 'f16'"),
        (["--profile", "toaster"], "unknown profile 'toaster'"),
        (["--set", "speed"], "KEY=VALUE"),
        (["--set", "speed=9"], "no option 'speed'"),
        (["--name", "*/ int x; /*"], "cannot be used in C"),
        (["--name", "while"], "keyword"),
        (["--data", "nowhere.npz"], "nowhere.npz"),
        (["--features", "5"], "features"),
    ],
)
def test_bad_options_say_what_to_do_and_write_nothing(run, iris, tmp_path, arguments, words):
    done = run("compile", iris.file("iris.skops"), "-o", tmp_path / "out", *arguments)
    assert done.code == 2
    assert words in done.err and "Traceback" not in done.err and done.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["verify", "predict"])
def test_a_folder_without_a_model_is_named(run, iris, tmp_path, command):
    extra = ["-o", tmp_path / "p.csv"] if command == "predict" else ["--model", iris.file("iris.skops")]
    done = run(command, tmp_path, "--data", iris.file("iris.npz"), *extra)
    assert done.code == 2 and str(tmp_path) in done.err


def test_a_missing_model_is_named(run, tmp_path):
    done = run("compile", tmp_path / "missing.model", "-o", tmp_path / "out")
    assert done.code == 2 and "missing.model" in done.err


def test_no_compiler_is_exit_code_3(run, iris, compiled, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    done = run("predict", compiled, "--data", iris.file("iris.npz"), "-o", tmp_path / "p.csv")
    assert done.code == 3 and "no-such-compiler" in done.err
    assert not (tmp_path / "p.csv").exists()


def test_default_names_come_from_the_file(run, iris, tmp_path):
    odd = tmp_path / "2 my-model (v1.0).skops"
    odd.write_bytes(iris.file("iris.skops").read_bytes())
    run("compile", odd, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "svm_2_my_model_v1_0.c").exists()


@pytest.mark.slow
def test_demo_ends_in_one_table(run, tmp_path, monkeypatch):
    for name, few in (("ROWS", 2_000), ("TIMED_ROWS", 200), ("REPEATS", 1)):
        monkeypatch.setattr(demo, name, few)
    monkeypatch.setattr("sklearn.datasets.load_digits", partial(load_digits, n_class=4))
    one_method = partial(demo.api.explore, methods="exact")  # test_auto explores others
    monkeypatch.setattr(demo.api, "explore", one_method)
    done = run("demo", "-o", tmp_path / "demo", "--budget", "5m", "--json")
    result = json.loads(done.out)
    assert result["sentence"].startswith("Take ") and (tmp_path / "demo/explore/explore.html").exists()
    assert done.code == 0 and result["ok"] and len(result["table"]) == 13
    assert all(row["agreement"] == 1.0 for row in result["table"] if row["method"] in ("sklearn", "exact"))
    assert all(row["agreement"] > 0.9 for row in result["table"])

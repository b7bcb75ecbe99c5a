"""`bench` end to end: every contender is there, agrees, and is counted if it does not.

No test asserts a time.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

import svmcompile as sc
from svmcompile import cli
from svmcompile.bench import onnx as onnx_runtime
from svmcompile.bench.libsvm import write_model
from svmcompile.bench.peers import PythonPeer
from svmcompile.bench.probe import parse_limits
from svmcompile.bench.result import LocalRunner
from svmcompile.commands import bench as bench_job
from svmcompile.commands import race as bench_race
from svmcompile.commands.options import BenchOptions
from svmcompile.errors import OptionError, ReadError
from svmcompile.read import read

pytestmark = pytest.mark.compile

PACKAGES = {
    "sklearn": "sklearn",
    "onnxruntime": "skl2onnx",
    "libsvm": "libsvm",
    "m2cgen": "m2cgen",
    "intelex": "sklearnex",
    "numpy": "numpy",
}


def installed(*names: str) -> set[str]:
    return {name for name in names if importlib.util.find_spec(PACKAGES[name])}


def keys(result, via=None) -> set[str]:
    return {one["key"] for one in result["contenders"] if via in (None, one["via"])}


@pytest.fixture
def quick(monkeypatch):
    """The processor is not measured."""
    limits = parse_limits("fma 128 10\nread 128 10\n", 1000)
    monkeypatch.setattr(bench_race, "measure_limits", lambda *arguments: limits)


def wrong_peer(subject) -> PythonPeer:
    """Answers the first class, whatever the row."""
    first = subject.program.labels.array()[:1]
    return PythonPeer(
        "wrong", LocalRunner(lambda rows: np.repeat(first, rows.shape[0]), subject.rows, subject.batch)
    )


@pytest.fixture(scope="module")
def command(iris, tmp_path_factory):
    """The command's standard output, and the folder it wrote to."""
    output = tmp_path_factory.mktemp("command") / "charts"
    words = ["bench", iris.folder, "--data", iris.data, "--model", iris.model, "--trust-pickle", "--json"]
    words += ["--batch", "16", "--repeats", "1", "-o", output]
    hostile = tmp_path_factory.mktemp("hostile")  # the current folder, whose modules are not ours
    (hostile / "numpy.py").write_text("raise SystemExit('somebody else ran')")
    safe = ["-P"] * (sys.version_info >= (3, 11))
    done = subprocess.run(
        [sys.executable, *safe, "-m", "svmcompile", *map(str, words)],
        cwd=hostile if safe else None,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, output


def test_all_installed_peers_take_part_and_agree(command):
    result = json.loads(command[0])
    expected = {"ours"} | installed("sklearn", "numpy", "libsvm", "m2cgen", "onnxruntime")
    assert expected <= keys(result)
    assert {"ours"} | installed("libsvm", "m2cgen") == keys(result, "C")
    assert {one["key"]: one["labels_differing"] for one in result["contenders"]} == dict.fromkeys(
        keys(result), 0
    )


def test_every_figure_is_positive_and_ours_is_the_measure(command):
    for one in json.loads(command[0])["contenders"]:
        assert all(one[key] > 0 for key in ("us_single", "us_batch", "ratio_single", "ratio_batch"))
        if one["key"] == "ours":
            assert (one["ratio_single"], one["ratio_batch"]) == (1, 1)


def test_share_of_the_machine(command):
    result = json.loads(command[0])
    n, d = result["n_support_vectors"], result["n_features"]
    assert result["work"]["flops"] == 2 * n * d
    assert all(value > 0 for value in result["share"].values())
    assert result["limits"]["peak_gflops"] > 0 and result["limits"]["read_gb_s"] > 0


def test_files(command):
    printed, folder = command
    assert json.loads((folder / "bench.json").read_text()) == json.loads(printed)
    tree = ET.fromstring((folder / "bench.svg").read_text())
    dots = [shape.get("class") for shape in tree.iter("{http://www.w3.org/2000/svg}circle")]
    assert dots.count("single") == dots.count("batch") == len(json.loads(printed)["contenders"])


def test_latencies_sizes_and_agreement(command):
    result = json.loads(command[0])
    for one in result["contenders"]:
        late = one["latency"]
        assert 0 < late["p50"] <= late["p95"] <= late["p99"] <= late["longest"] and late["calls"] >= 100
        assert one["agreement"] == 1 - one["labels_differing"] / 16
        assert one["key"] == "intelex" or one["bytes"] > 100


def test_threads_from_one_to_many(iris, quick):
    result = bench_job.measure(iris.options(against="", threads=3))
    assert [one["threads"] for one in result["threads"]] == [1, 2, 3]
    for one in result["threads"]:
        assert one["us_batch"] > 0 and 0 < one["latency"]["p50"] <= one["latency"]["longest"]


def test_the_page_holds_every_contender(command):
    printed, folder = command
    html = (folder / "bench.html").read_text()
    for one in json.loads(printed)["contenders"]:
        assert f"<td>{one['name']}</td>" in html
    assert html.count(": time per row") == 2  # the page's title and its heading; the chart repeats neither
    assert "<svg" in html and "p99" in html and "http" not in html.replace("http://www.w3.org/2000/svg", "")


def test_frames_where_names_were_learnt(tmp_path, quick, monkeypatch, capfd):
    """Rows without names made scikit-learn warn at every call, within the clock."""
    import warnings

    import pandas as pd
    from sklearn.svm import SVC

    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    model = SVC().fit(frame, frame.a > 0)
    joblib.dump(model, tmp_path / "m.joblib")
    sc.write(sc.emit(sc.compile(model), "c", "m"), tmp_path / "out")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = BenchOptions(
        folder=tmp_path / "out", data=tmp_path / "rows.csv", model=tmp_path / "m.joblib", trust_pickle=True,
        against="sklearn,numpy", batch=20, repeats=1, as_json=True,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = bench_job.measure(options)
    found = {one["key"]: one for one in result["contenders"] if one["via"] == "Python"}
    assert set(found) == {"ours", "ours-frames", "sklearn", "numpy"}
    ours, theirs = found["ours-frames"], found["sklearn"]
    assert theirs["ratio_single"] == pytest.approx(theirs["us_single"] / ours["us_single"])
    assert found["numpy"]["ratio_single"] == pytest.approx(
        found["numpy"]["us_single"] / found["ours"]["us_single"]
    )


def test_an_output_that_cannot_be_written_ends_the_race_before_it_starts(iris, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(bench_job, "_in_child", lambda options: pytest.fail("measured first"))
    with pytest.raises(OptionError, match="is a file"):
        bench_job.run(iris.options(output=tmp_path / "file"))


def test_json_tells_nothing_about_the_machine_but_its_kind(command):
    text = command[0]
    assert not re.search(rf"\b{re.escape(platform.node())}\b", text)
    assert str(Path.home()) not in text and not re.search(r'"[^"]*/(?:tmp|home|usr|var|root)\b', text)


def test_preprocessing_is_mentioned(command):
    assert any("preprocessed" in note for note in json.loads(command[0])["notes"])


def test_two_classes_from_sparse_rows(pair, quick):
    result = bench_job.measure(pair.options())
    assert installed("sklearn", "numpy", "intelex", "libsvm", "m2cgen", "onnxruntime") <= keys(result)
    assert "sklearn-csr" in keys(result)
    assert {one["labels_differing"] for one in result["contenders"]} == {0}


def test_graphs_are_called_from_c_where_the_library_is_there(pair, quick, monkeypatch):
    pytest.importorskip("skl2onnx", reason="skl2onnx makes the rival's graph")
    pytest.importorskip("onnxruntime", reason="ONNX Runtime runs the graphs")
    graphs = {"onnxruntime", "ours-onnx"}
    result = bench_job.measure(pair.options(against="onnxruntime"))
    via = "C" if onnx_runtime.library() else "Python"
    assert graphs <= keys(result, via)
    monkeypatch.setattr(onnx_runtime, "library", lambda: None)
    assert graphs <= keys(bench_job.measure(pair.options(against="onnxruntime")), "Python")


def test_graph_that_breaks_the_driver_takes_nobody_along(pair, quick, monkeypatch):
    pytest.importorskip("onnxruntime", reason="ONNX Runtime runs the graphs")
    if onnx_runtime.library() is None:
        pytest.skip("this ONNX Runtime has no library that C could open")
    monkeypatch.setattr(
        bench_race, "c_peer", lambda title, graph, *more: onnx_runtime.c_peer(title, b"no graph", *more)
    )
    result = bench_job.measure(pair.options(against="onnxruntime,libsvm"))
    assert {"ours"} | installed("libsvm") == keys(result, "C")
    assert {one["peer"] for one in result["left_out"]} >= {"ours-onnx"}


def test_wrong_peer_is_counted(iris, quick, monkeypatch):
    monkeypatch.setattr("svmcompile.bench.gemm.start", wrong_peer)
    result = bench_job.measure(iris.options(against="numpy", rows=150, batch=150))
    counted = {one["key"]: one["labels_differing"] for one in result["contenders"]}
    expected = int((iris.estimator.predict(iris.X.astype(np.float32)) != "setosa").sum())
    assert counted == {"ours": 0, "numpy": expected}


def test_missing_peers_are_left_out_with_a_reason(iris, quick, monkeypatch):
    def missing(subject):
        raise ImportError("No module named 'elsewhere'", name="elsewhere")

    monkeypatch.setattr("svmcompile.bench.gemm.start", missing)
    result = bench_job.measure(iris.options(against="numpy,intelex"))
    assert keys(result) == {"ours"}
    reasons = {one["peer"]: one["reason"] for one in result["left_out"]}
    assert reasons["numpy"] == "elsewhere is not installed"
    assert set(reasons) == {"numpy", "intelex"}


def test_peer_that_breaks_during_the_race_is_left_out(iris, quick, monkeypatch):
    def broken(subject):
        return PythonPeer("broken", LocalRunner(lambda rows: 1 // 0, subject.rows, subject.batch))

    monkeypatch.setattr("svmcompile.bench.gemm.start", broken)
    result = bench_job.measure(iris.options(against="numpy"))
    assert keys(result) == {"ours"}
    assert "ZeroDivisionError" in result["left_out"][0]["reason"]


def test_without_the_original(iris, quick):
    result = bench_job.measure(iris.options(model=None, against="sklearn,libsvm,numpy"))
    assert result["reference"] == "the interpreter"
    assert keys(result) == {"ours"}
    assert {one["reason"] for one in result["left_out"]} == {"needs the original model (--model)"}


def test_few_rows_fill_a_batch(iris, quick):
    result = bench_job.measure(iris.options(against="", rows=5, batch=12))
    assert (result["rows"], result["batch"]) == (5, 12)
    assert any("repeated to fill a batch" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"against": "abacus"}, "unknown peer 'abacus'; known: sklearn"),
        ({"batch": 0}, "--batch must be at least 1"),
        ({"rows": -3}, "--rows must be at least 1"),
    ],
)
def test_options_that_make_no_sense(iris, changes, words):
    with pytest.raises(OptionError, match=words):
        bench_job.run(iris.options(**changes))


def test_another_model_is_refused(iris, pair):
    with pytest.raises(OptionError, match="is not the model"):
        bench_job.measure(iris.options(model=pair.model, against=""))


def test_errors_cross_the_process(iris, tmp_path):
    np.save(tmp_path / "bad.npy", np.full((3, 4), np.nan))
    options = BenchOptions(folder=iris.folder, data=tmp_path / "bad.npy", as_json=True)
    with pytest.raises(ReadError, match="no row of finite numbers"):
        bench_job.run(options)


def test_table_for_a_person(iris, quick, monkeypatch, capsys):
    monkeypatch.setattr(bench_job, "_in_child", bench_job.measure)
    words = ["svmcompile", "bench", iris.folder, "--data", iris.data, "--model", iris.model]
    words += ["--trust-pickle", "--against", "numpy,intelex", "--batch", "8", "--repeats", "1"]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    printed = capsys.readouterr().out
    assert not stop.value.code
    for expected in (
        "svmcompile C",
        "numpy float32",
        "multiply-add peak",
        "left out: intelex",
        "note: least of 1",
    ):
        assert expected in printed


def test_regressor_in_float64(tmp_path, quick):
    X, y = load_diabetes(return_X_y=True)
    model = SVR(C=10).fit(X * 20, y)
    joblib.dump(model, tmp_path / "model.joblib")
    np.save(tmp_path / "rows.npy", X * 20)
    sc.write(sc.emit(sc.compile(model), "c", "sugar", "f64"), tmp_path / "out")
    options = BenchOptions(
        folder=tmp_path / "out",
        data=tmp_path / "rows.npy",
        model=tmp_path / "model.joblib",
        trust_pickle=True,
        against="sklearn,libsvm,numpy,onnxruntime",
        batch=20,
        repeats=1,
    )
    result = bench_job.measure(options)
    assert result["precision"] == "f64" and result["n_classes"] == 0
    assert {"ours", "sklearn", "numpy"} | installed("libsvm", "onnxruntime") <= keys(result)
    assert {one["labels_differing"] for one in result["contenders"]} == {0}


def test_model_of_libsvm(iris, quick, tmp_path):
    """The original is LIBSVM itself, so scikit-learn has nothing to run."""
    write_model(read(iris.estimator), tmp_path / "flower.model")
    program = sc.compile(tmp_path / "flower.model", n_features=4)
    sc.write(sc.emit(program, "c", "flower"), tmp_path / "out")
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(30, 4)))
    options = BenchOptions(
        folder=tmp_path / "out",
        data=tmp_path / "rows.npy",
        model=tmp_path / "flower.model",
        against="sklearn,libsvm,numpy",
        batch=10,
        repeats=1,
    )
    result = bench_job.measure(options)
    assert keys(result) == {"ours", "numpy"} | installed("libsvm")
    assert {one["peer"] for one in result["left_out"]} >= {"sklearn"}
    assert {one["labels_differing"] for one in result["contenders"]} == {0}

"""verify as a user sees it: per cent with an interval, limits for CI, labels, samples, whole numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from sklearn.svm import SVC, SVR

import svmcompile as sc
from svmcompile.commands import verify as command
from svmcompile.commands.options import VerifyOptions
from svmcompile.progress import showing
from svmcompile.statistics import interval

pytestmark = pytest.mark.compile


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three classes: the model, data, and folders by method."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1])
    model = SVC(C=3).fit(X[:200], y[:200])
    skops.io.dump(model, folder / "m.skops")
    np.savez(folder / "rows.npz", X=X[200:], y=y[200:])
    np.savez(folder / "text.npz", X=X[200:], y=np.array(list("abc"))[y[200:]])
    for method, options in (("exact", {}), ("metric-tree", {"X": X[:200]})):
        sc.write(sc.emit(sc.compile(model, method=method, **options), "c", "m"), folder / method)
    sc.write(sc.emit(sc.compile(model), "c", "m", "q7", X=X[:200]), folder / "q7")
    sc.train(X[:200], y[:200], method="dtsvm").save(folder / "trained.svmc")
    sc.write(sc.emit(sc.compile(folder / "trained.svmc"), "c", "m"), folder / "trained")
    return model, folder, X[200:], y[200:]


@pytest.fixture
def verify(run, made):
    folder = made[1]

    def call(method, *flags, data="rows.npz"):
        model = () if method == "trained" else ("--model", folder / "m.skops")
        return run("verify", folder / method, *model, "--data", folder / data, *flags)

    return call


def test_shares_are_per_cent_with_their_interval(verify, made):
    model, folder, X, _ = made
    found = json.loads(verify("metric-tree", "--json").out)["comparisons"][-1]
    same = int((sc.load(folder / "metric-tree").predict(X) == model.predict(X)).sum())
    assert found["agreement"] == same / 200 < 1
    assert found["agreement_interval"] == list(interval(same, 200))
    low, high = found["agreement_interval"]
    assert low < found["agreement"] < high
    assert f"{found['agreement']:.2%} ({100 * low:.4g}-{100 * high:.4g})" in verify("metric-tree").out


def test_a_regressor_has_no_columns_of_labels(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    skops.io.dump(SVR().fit(X, X[:, 0]), tmp_path / "m.skops")
    np.savez(tmp_path / "rows.npz", X=X)
    sc.write(sc.emit(sc.compile(tmp_path / "m.skops"), "c", "m"), tmp_path / "out")
    done = run("verify", tmp_path / "out", "--model", tmp_path / "m.skops", "--data", tmp_path / "rows.npz")
    assert done.code == 0 and "error" in done.out and "holds" in done.out
    assert "labels" not in done.out and "ties" not in done.out


def test_interval_is_that_of_clopper_and_pearson():
    assert interval(0, 10) == pytest.approx((0, 0.30850), abs=1e-5)
    assert interval(95, 100) == pytest.approx((0.88717, 0.98357), abs=1e-5)


def test_no_bound_is_told_where_nothing_is_promised(verify):
    for method, promised in (("metric-tree", False), ("exact", True)):
        done = verify(method)
        assert done.code == 0 and ("bound" in done.out) is promised and ("holds" in done.out) is promised
        one = json.loads(verify(method, "--json").out)["comparisons"][-1]
        assert (one["max_error_over_bound"] is not None) is promised


def test_min_agreement_ends_in_exit_code_1(verify):
    share = json.loads(verify("metric-tree", "--json").out)["comparisons"][-1]["agreement"]
    assert verify("metric-tree", "--min-agreement", share).code == 0
    done = verify("metric-tree", "--min-agreement", share + 0.001)
    assert done.code == 1 and "not kept by interpreter, c" in done.out
    assert verify("exact", "--min-agreement", "1").code == 0
    done = verify("exact", "--min-agreement", "99.5")
    assert done.code == 2 and "at most 1" in done.err


def test_labels_of_another_kind_are_refused(verify):
    done = verify("exact", data="text.npz")
    assert done.code == 2 and "('a', 'b', 'c', ...) is a class of the model (0, 1, 2, ...)" in done.err


def test_labels_that_are_no_classes_are_counted(verify, made):
    _, folder, X, y = made
    np.savez(folder / "some.npz", X=X, y=np.where(np.arange(200) < 7, 9, y))
    assert "7 labels of the data are not classes of the model" in verify("exact", data="some.npz").out


def test_trained_programs_are_verified_by_labels(verify, made, run):
    _, folder, X, y = made
    found = json.loads(verify("trained", "--json").out)["comparisons"][-1]
    right = int((sc.load(folder / "trained").predict(X) == y).sum())
    assert found["accuracy"] == right / 200 and found["accuracy_interval"] == list(interval(right, 200))
    assert verify("trained", "--min-agreement", right / 200 + 0.001).code == 1
    assert "accuracy" in verify("trained").out
    done = run("verify", folder / "exact", "--data", folder / "rows.npz")
    assert done.code == 2 and "was compiled from a model; give it with --model" in done.err
    np.save(folder / "bare.npy", X)
    done = verify("trained", data="bare.npy")
    assert done.code == 2 and "verified by labels" in done.err


def test_rows_are_drawn_where_the_original_is_slow(verify, made, monkeypatch):
    monkeypatch.setattr(command, "LEAST_ROWS", 50)
    monkeypatch.setattr(command, "MOST_FLOPS", 1)
    done = json.loads(verify("exact", "--json").out)
    assert (done["rows"], done["rows_given"]) == (50, 200) and "50 of 200 rows" in done["notes"][0]
    assert "--rows all" in verify("exact").out
    assert json.loads(verify("exact", "--rows", "all", "--json").out)["rows"] == 200
    assert json.loads(verify("exact", "--rows", "20", "--json").out)["rows"] == 20
    assert verify("exact", "--rows", "few").code == 2


def test_the_original_gets_chunks_and_a_bar_moves(made, monkeypatch):
    from contextlib import contextmanager

    from svmcompile.verification import differential

    _, folder, _, _ = made
    options = VerifyOptions(folder=folder / "exact", model=folder / "m.skops", data=folder / "rows.npz")
    whole, moved = command.run(options), []

    @contextmanager
    def show(what, total):
        yield lambda done, now="": moved.append((what, total, done))

    monkeypatch.setattr(differential, "CHUNK_FLOPS", 100_000)
    with showing(show):
        chunked = command.run(replace(options))
    assert chunked == whole
    assert moved[0][0] == "verifying" and max(done for _, _, done in moved) == 200 and len(moved) > 20
    assert sum(done for _, _, done in moved) <= moved[0][1]


def test_whole_numbers_count_near_ties_by_the_error_on_data(verify, made):
    done = verify("q7")
    report = json.loads(verify("q7", "--json").out)
    one = report["comparisons"][-1]
    assert 0 < one["max_decision_error"] < report["stated_error"]
    assert one["labels_differing"] <= one["rows_within_rounding"] < 150
    assert f"stated error: {report['stated_error']:.3g} at worst" in done.out


def test_compile_tells_the_stated_error(run, made, tmp_path):
    _, folder, _, _ = made
    flags = ("--precision", "q7", "--data", folder / "rows.npz")
    assert "stated error" in run("compile", folder / "m.skops", "-o", tmp_path / "out", *flags).out

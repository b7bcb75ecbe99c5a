"""compile --method auto and explore, as a user types them: searched, chosen, replayed, refused."""

from __future__ import annotations

import json
import shlex
from types import SimpleNamespace

import numpy as np
import pytest
import skops.io
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

import svmcompile as sc
from svmcompile.choose import search
from svmcompile.runtime import toolchain

pytestmark = pytest.mark.compile

QUICK = ("--budget", "5m", "--jobs", "1")
FEW = ("--methods", "reduced-set,certified")
SMALL = ("--minimise", "bytes")  # no time is measured: the choice is always the same


@pytest.fixture(scope="module")
def moons(tmp_path_factory):
    """A model of two classes, rows it has not seen, and where they lie."""
    folder = tmp_path_factory.mktemp("moons")
    X, y = make_moons(2200, noise=0.25, random_state=0)
    model = SVC(C=10).fit(X[:120], np.array(["no", "yes"])[y[:120]])
    skops.io.dump(model, folder / "moons.skops")
    np.savez(folder / "rows.npz", X=X[400:], y=np.array(["no", "yes"])[y[400:]])
    return SimpleNamespace(folder=folder, model=model, X=X[400:], file=lambda name: folder / name)


@pytest.fixture(scope="module")
def explored(moons, tmp_path_factory):
    """One exploration, with what it keeps."""
    from svmcompile.commands import explore
    from svmcompile.commands.options import ExploreOptions

    folder = tmp_path_factory.mktemp("explored")
    report = explore.run(
        ExploreOptions(
            model=moons.file("moons.skops"), data=moons.file("rows.npz"), output=folder / "out",
            agreement=0.98, budget="5m", jobs=1, methods="reduced-set,certified,metric-tree",
            checkpoint=folder / "kept",
        )
    )  # fmt: skip
    return SimpleNamespace(folder=folder, report=report, record=folder / "out" / "explore.json")


@pytest.fixture(scope="module")
def worker():
    """A process for all searches, since each that is started loads every library again."""
    from joblib.externals.loky import ProcessPoolExecutor

    settings = {"initializer": setattr, "initargs": (toolchain, "FLAGS", ("-O0", "-fPIC", "-shared"))}
    with ProcessPoolExecutor(max_workers=1, **settings) as executor:
        yield executor


@pytest.fixture
def quick(worker, monkeypatch, built_at_once):
    """Searches share their process, build without optimising and race for moments."""
    lasting = SimpleNamespace(submit=worker.submit, shutdown=lambda **how: None)
    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", lambda **settings: lasting)
    monkeypatch.setattr(search, "RACE_SECONDS", 0.05)


def auto(run, moons, output, *flags):
    words = ("compile", moons.file("moons.skops"), "-o", output, "--data", moons.file("rows.npz"))
    return run(*words, "--method", "auto", *flags)


def test_the_choice_is_built_and_replayed_byte_for_byte(quick, run, moons, tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    done = auto(run, moons, first, "--agreement", "0.98", *FEW, *SMALL, *QUICK, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    choice = report["choice"]
    assert choice["sentence"].startswith("Take ")
    winner = next(one for one in choice["candidates"] if one["number"] == choice["winner"])
    assert winner["method"] == report["method"]
    assert winner["proven"] or winner["agreement"]["report"]["low"][0] >= 0.98
    assert all(one["reason"] for one in choice["candidates"] if one is not winner), "each says why it lost"
    words = ("compile", moons.file("moons.skops"), "-o", again, "--data", moons.file("rows.npz"))
    done = run(*words, "--replay", first / "choice.json")
    assert done.code == 0, done.err
    told = tmp_path / "told"
    command = shlex.split(winner["command"])
    command[command.index("-o") + 1] = str(told)
    done = run(*command[1:])
    assert done.code == 0, done.err
    for name in ("moons.c", "moons.h", "moons.svmc"):
        assert (first / name).read_bytes() == (again / name).read_bytes() == (told / name).read_bytes()
    fast = sc.load(first)
    assert np.mean(fast.predict(moons.X) == moons.model.predict(moons.X)) >= 0.98


def test_equal_input_gives_an_equal_choice(quick, run, moons, tmp_path):
    reports = []
    for name in ("one", "two"):
        done = auto(run, moons, tmp_path / name, "--max-bytes", "2K", *FEW, *SMALL, *QUICK)
        assert done.code == 0, done.err
        reports.append((tmp_path / name / "choice.json").read_text())
    first, second = (json.loads(text) for text in reports)
    for one in (first, second):
        for candidate in one["candidates"]:
            del candidate["seconds"]
    assert first == second


def test_same_labels_takes_what_promises_them(quick, run, moons, tmp_path):
    done = auto(run, moons, tmp_path, "--same-labels", *FEW, *QUICK, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["claim"] == "SAME_LABEL" or (report["claim"], report["precision"]) == ("EXACT", "f64")
    assert np.array_equal(sc.load(tmp_path).predict(moons.X), moons.model.predict(moons.X))


def test_limits_that_cannot_be_met_write_nothing(quick, run, moons, tmp_path):
    done = auto(run, moons, tmp_path / "out", "--same-labels", "--max-bytes", "100", *SMALL, *QUICK)
    assert done.code == 2
    assert "no candidate" in done.err and "bytes" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--agreement", "0.9999"), "takes 29,956 rows"),
        (("--agreement", "99"), "write 0.99"),
        (("--set", "budget=3"), "--set is what --method auto chooses"),
        (("--tables", "f16"), "--tables is what"),
        (("--cpu", "z80"), "unknown CPU"),
        (("--kit", "arduino"), "add --cpu"),
        (("--input", "u8"), "--input is what"),
        (("--minimise", "energy"), "needs --cpu"),
    ],
)
def test_refusals(run, moons, tmp_path, flags, words):
    done = auto(run, moons, tmp_path / "out", *flags)
    assert done.code == 2 and words in done.err, done.err
    assert not (tmp_path / "out").exists()


def test_auto_needs_rows_and_labels_where_it_compares_with_them(run, moons, tmp_path):
    done = run("compile", moons.file("moons.skops"), "-o", tmp_path / "out", "--method", "auto")
    assert done.code == 2 and "add --data FILE" in done.err
    np.save(tmp_path / "bare.npy", moons.X)
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path / "out", "--data", tmp_path / "bare.npy")
    done = run(*words, "--method", "auto", "--accuracy-loss", "0.01")
    assert done.code == 2 and "--label" in done.err


def test_rows_that_the_model_cannot_score_are_named(run, moons, tmp_path):
    X = moons.X.copy()
    X[41, 1] = np.nan
    np.save(tmp_path / "holes.npy", X)
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path / "out", "--data", tmp_path / "holes.npy")
    done = run(*words, "--method", "auto")
    assert done.code == 2 and "row 42, feature 2 is nan" in done.err


def test_a_replay_wants_the_same_model_and_rows(run, moons, explored, tmp_path):
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path / "out", "--from", explored.record)
    assert "give it with --data" in run(*words).err
    np.savez(tmp_path / "other.npz", X=moons.X[:900])
    done = run(*words, "--data", tmp_path / "other.npz")
    assert done.code == 2 and "has different rows" in done.err
    other = SVC(C=1).fit(moons.X[:50], np.arange(50) % 2)
    skops.io.dump(other, tmp_path / "other.skops")
    done = run("compile", tmp_path / "other.skops", "-o", tmp_path / "out", "--from", explored.record)
    assert done.code == 2 and "a different model" in done.err
    assert "leave one of them out" in run(*words, "--replay", explored.record).err
    assert "--rows is what" in run(*words, "--rows", "5@0").err
    broken = json.loads(explored.record.read_text())
    del broken["candidates"][0]["options"]
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    done = run(*words[:-1], tmp_path / "broken.json", "--pick", "1", "--data", moons.file("rows.npz"))
    assert done.code == 2 and "not a record of a choice" in done.err
    assert not (tmp_path / "out").exists()


def test_wishes_without_auto_are_refused(run, moons, tmp_path):
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path / "out", "--data", moons.file("rows.npz"))
    done = run(*words, "--agreement", "0.99")
    assert done.code == 2 and "--agreement is for --method auto" in done.err
    done = run(*words, "--pick", "3")
    assert done.code == 2 and "--from" in done.err


def test_rows_held_out_report(run, moons, tmp_path):
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path / "out", "--data", moons.file("rows.npz"))
    done = run(*words, "--method", "reduced-set", "--rows", "600@7", "--json")
    report = json.loads(done.out)
    assert report["rows"] == 1200 and report["fitted_to_these_rows"] is False
    for wrong in ("600", "0@1", "9999@1", "x@y"):
        done = run(*words, "--rows", wrong)
        assert done.code == 2 and "COUNT@SEED" in done.err


def test_explore_records_every_candidate(explored):
    record = json.loads(explored.record.read_text())
    states = {one["state"] for one in record["candidates"]}
    assert {"measured"} <= states <= {"measured", "refused", "skipped"}
    assert [one["number"] for one in record["candidates"]] == list(range(1, len(record["candidates"]) + 1))
    for one in record["candidates"]:
        assert one["command"].startswith("svmcompile compile ")
        if one["state"] == "measured":
            assert one["figures"]["time_us"] > 0 and one["figures"]["raced"]
            report = one["agreement"]["report"]
            assert report["low"][0] <= report["share"] <= report["high"]
            assert sum(count for _, _, count in one["confusion"]) == report["rows"] - report["same"]
            margins = [row["margin"] for row in one["differences"]]
            assert margins == sorted(margins) and len(margins) <= 20
        else:
            assert one["reason"]
    assert record["rows"]["fit"] + record["rows"]["choose"] + record["rows"]["report"] == 1800
    assert "<html" in (explored.folder / "out" / "explore.html").read_text()


def test_two_models_lie_over_each_other(quick, run, moons, tmp_path):
    words = ("explore", moons.file("moons.skops"), "--model", moons.file("moons.skops"))
    rows = ("--data", moons.file("rows.npz"), "-o", tmp_path)
    done = run(*words, *rows, "--methods", "exact", *SMALL, *QUICK, "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert [one["name"] for one in record["models"]] == ["moons", "moons 2"]
    assert [one["number"] for one in record["candidates"]] == list(range(1, 9))
    assert {one["model"] for one in record["candidates"]} == {"moons", "moons 2"}


def test_targets_are_compared(quick, run, moons, tmp_path):
    words = ("explore", moons.file("moons.skops"), "--data", moons.file("rows.npz"), "-o", tmp_path)
    done = run(*words, "--methods", "exact", "--targets", "c,onnx", *QUICK, "--json")
    assert done.code == 0, done.err
    built = [one for one in json.loads(done.out)["candidates"] if one["state"] == "measured"]
    assert {one["target"] for one in built} == {"c", "onnx"}
    assert all(one["figures"]["time_us"] > 0 for one in built)


def test_a_device_and_its_energy(quick, run, moons, tmp_path):
    device = ("--cpu", "cortex-m4f", "--flash", "8K", "--clock", "48MHz", "--energy-per-instruction", "50")
    flags = ("--agreement", "0.95", "--methods", "reduced-set", "--minimise", "energy", "--latency", "1ms")
    done = auto(run, moons, tmp_path, *device, *flags, *QUICK, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["profile"] in ("device", "portable") and report["device"]["flash_bytes"] <= 8192
    winner = next(
        one for one in report["choice"]["candidates"] if one["number"] == report["choice"]["winner"]
    )
    assert winner["figures"]["energy_nj"] > 0 and winner["figures"]["time_us"] <= 1000
    assert "at 48 MHz" in report["choice"]["sentence"]


def test_a_picked_candidate_is_built(run, moons, explored, tmp_path):
    record = json.loads(explored.record.read_text())
    one = next(
        one for one in record["candidates"] if one["method"] == "reduced-set" and one["tables"] is None
    )
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path, "--data", moons.file("rows.npz"))
    done = run(*words, "--from", explored.record, "--pick", one["number"], "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["method"], report["options"]["budget"]) == ("reduced-set", one["options"]["budget"])
    done = run(*words, "--from", explored.record, "--pick", "999")
    assert done.code == 2 and "no candidate 999" in done.err
    done = run(*words, "--replay", tmp_path / "none.json")
    assert done.code == 2 and done.err.endswith("none.json: there is no such file\n")
    done = run(*words, "--from", moons.file("rows.npz"))
    assert done.code == 2 and "not a record of a choice" in done.err


def test_a_search_goes_on_where_it_stopped(moons, explored, monkeypatch):
    """With the folder of what was found, nothing is built again."""
    from svmcompile.commands import explore
    from svmcompile.commands.options import ExploreOptions

    class Closed:
        def submit(self, *work):
            raise AssertionError(f"built again: {work[-1]}")

        def shutdown(self, **how):
            pass

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", lambda **settings: Closed())
    report = explore.run(
        ExploreOptions(
            model=moons.file("moons.skops"), data=moons.file("rows.npz"), output=explored.folder / "again",
            agreement=0.98, budget="5m", jobs=1, methods="reduced-set,certified,metric-tree",
            checkpoint=explored.folder / "kept",
        )
    )  # fmt: skip
    assert len(report["candidates"]) == len(explored.report["candidates"])


def test_ctrl_c_keeps_what_was_found(moons, monkeypatch):
    from svmcompile.choose.choice import Rows, choose
    from svmcompile.choose.wishes import read_wishes
    from svmcompile.data import Data
    from svmcompile.flow.program import open_model

    calls = []

    def interrupted(*given, **more):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return waiting(*given, **more)

    waiting = search.wait
    monkeypatch.setattr(search, "wait", interrupted)
    asked = read_wishes({"minimise": "bytes", "methods": "reduced-set", "jobs": 1, "budget": "5m"})
    choice = choose(open_model(moons.model), Rows(Data(moons.X)), asked)
    assert choice.record["stopped"]
    states = [one["state"] for one in choice.record["candidates"]]
    assert states.count("measured") and states.count("skipped")
    assert choice.decision.winner is not None


def test_something_is_built_whatever_the_budget(quick, moons):
    asked = {"minimise": "bytes", "methods": "reduced-set", "jobs": 1, "budget": "1ms"}
    with pytest.raises(sc.OptionError, match="--budget"):
        sc.compile(moons.model, method="auto", X=moons.X, **asked)
    program = sc.compile(moons.model, method="auto", X=moons.X, **asked | {"budget": "0.001s"})
    assert program.origin.method == "exact"


def test_from_python(quick, moons):
    program = sc.compile(
        moons.model, method="auto", X=moons.X, agreement=0.98, minimise="bytes", methods="reduced-set",
        budget="5m", jobs=1,
    )  # fmt: skip
    chosen = program.origin.details["auto"]
    assert chosen["sentence"].startswith("Take ")
    files = sc.emit(program, name="moons")
    report = json.loads(files["moons.json"])
    assert report["precision"] == chosen["precision"] and report["profile"] == chosen["profile"]
    with pytest.raises(sc.OptionError, match="pass X"):
        sc.compile(moons.model, method="auto", agreement=0.98)


def test_regressors_count_values_within_a_tolerance(quick, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(900, 3))
    model = SVR().fit(X[:200], np.sin(X[:200]).sum(axis=1))
    asked = {"X": X[200:], "minimise": "bytes", "methods": "reduced-set", "jobs": 1, "budget": "5m"}
    with pytest.raises(sc.OptionError, match="--tolerance"):
        sc.compile(model, method="auto", agreement=0.9, **asked)
    program = sc.compile(model, method="auto", agreement=0.9, tolerance=0.05, **asked)
    errors = np.abs(program.predict(X[200:]) - model.predict(X[200:]))
    assert np.mean(errors <= 0.05) >= 0.9


def test_proto_is_built_in_the_bytes_it_was_chosen_for(quick, run, moons, tmp_path):
    """Its limit counts bytes of the number type that is emitted: in the search as in what is written."""
    flags = ("--methods", "proto", "--precision", "q7", "--cpu", "cortex-m4f", "--max-bytes", "1K")
    done = auto(run, moons, tmp_path / "out", *flags, "--agreement", "0.9", *SMALL, *QUICK, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    choice = json.loads((tmp_path / "out" / "choice.json").read_text())
    (winner,) = choice["candidates"]
    assert (winner["method"], winner["precision"]) == ("proto", "q7") and winner["title"].endswith("q7")
    assert report["options"]["precision"] == "q7"
    assert report["cost"]["table_bytes"] == winner["figures"]["table_bytes"]
    words = ("compile", moons.file("moons.skops"), "-o", tmp_path / "again")
    data = ("--data", moons.file("rows.npz"))
    assert run(*words, *data, "--replay", tmp_path / "out" / "choice.json").code == 0
    assert (tmp_path / "out" / "moons.c").read_bytes() == (tmp_path / "again" / "moons.c").read_bytes()

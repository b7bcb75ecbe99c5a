"""The command line itself: help, completion, names, checks before work, limits, words about long work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import typer

from svmcompile import api
from svmcompile.accelerate.certified.votes.choose import Chooser
from svmcompile.accelerate.options import parse_options
from svmcompile.accelerate.registry import METHODS, method
from svmcompile.cli import NAMES, app
from svmcompile.commands import helping, show
from svmcompile.commands.limit import limited
from svmcompile.errors import OptionError
from svmcompile.flow import estimate

# methods


@pytest.mark.parametrize("name", METHODS)
def test_a_method_explains_its_options(run, name):
    found = json.loads(run("methods", name, "--json").out)["methods"]
    assert [one["name"] for one in found] == [name]
    text = run("methods", name.upper().replace("-", "_")).out
    for one in (*found[0]["options"], *found[0]["train_options"]):
        default = str(one["default"]).lower() if isinstance(one["default"], bool) else one["default"]
        assert f"  {one['name']}={default if default != '' else 'none'}  (" in text, "whole, not cut"
        assert one["text"] in text and one["range"] in text


def test_the_list_of_methods_cuts_nothing(run):
    out = run("methods").out
    assert "…" not in out and "svmcompile methods NAME" in out
    done = run("methods", "metric-treee")
    assert done.code == 2 and "did you mean 'metric-tree'" in done.err


# help and completion


def test_every_option_of_compile_is_in_a_panel(run):
    out = run("compile", "--help").out
    for panel in helping.PANELS:
        assert f"\n{panel}:\n" in out
    other = out[out.index("\nOther:\n") :]
    assert "--json" in other and "--help" in other and other.count("\n  --") == 2
    command = typer.main.get_command(app).commands["compile"]  # type: ignore[attr-defined]
    assert all(f"{max(one.opts, key=len)}" in out for one in command.params)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(run, name):
    done = run(name, "--help")
    assert done.code == 0 and done.err == "" and "--json" in done.out


def test_summaries_of_commands_are_whole(run):
    out = run("--help").out
    assert "..." not in out.split("Commands:")[1] and "--install-completion" in out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("compile m --method a", ["auto", "anytime"]),
        ("compile m --cpu cortex-m3", ["cortex-m3", "cortex-m33"]),
        ("methods sv", ["sv-tree"]),
    ],
)
def test_a_shell_completes_names(words, wanted):
    line = f"svmcompile {words}"
    given = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    environment = {**os.environ, **given, "_SVMCOMPILE_COMPLETE": "complete_bash"}
    script = "from svmcompile.cli import main; import sys; sys.argv[0] = 'svmcompile'; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == wanted, done.stderr


# checks before work


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cpu", "cortex-m4g"], "did you mean 'cortex-m4"),
        (["--cpu", "uno", "--flash", "much"], "--flash 'much' is not a size"),
        (["--flash", "2K"], "need --cpu"),
        (["--kit", "arduno"], "did you mean 'arduino'"),
        (["--target", "onx"], "did you mean 'onnx'"),
        (["--precision", "float64"], "did you mean 'f64'"),
        (["--method", "metric-tree"], "needs representative rows; add --data FILE"),
        (["--method", "reduced-set", "--set", "seed=-1"], "seed must be at least 0, got -1"),
        (["--method", "sv-tree", "--set", "max-deph=3"], "did you mean 'max_depth'"),
        (["--method", "linear", "--set", "probabilities=maybe"], "'maybe' is neither a number"),
        (["--method", "auto"], "add --data FILE"),
        (["--ranges", "0:1"], "for precisions q15 and q7"),
        (["--time-limit", "soon"], "--time-limit 'soon' is not a number"),
        (["--data", "nowhere.npz"], "nowhere.npz"),
        (["--api", "bogus"], "unknown part of the C interface 'bogus'"),
        (["--kit", "java"], "kit java is made of target blob"),
        (["--kit", "micropython", "--name", "array"], "a Python package cannot be called 'array'"),
        (["--target", "onnx", "--cpu", "uno"], "only C has a cost on a device"),
        (["--target", "blob", "--precision", "q7"], "precisions q15 and q7 are for target c"),
        (["--tables", "sparse", "--profile", "device"], "leave out --tables sparse"),
        (["--kit", "wheel", "--platform", "beos"], "unknown platform 'beos'"),
        (["--cpu", "uno", "--clock", "64X"], "'64X' is not a frequency"),
    ],
)
def test_cheap_checks_come_before_the_model_is_read(run, tmp_path, monkeypatch, arguments, words):
    monkeypatch.setattr(api, "open_model", lambda *args, **more: pytest.fail("the model was read"))
    done = run("compile", tmp_path / "model.skops", "-o", tmp_path / "out", *arguments)
    assert done.code == 2 and words in done.err and not (tmp_path / "out").exists()


def test_options_that_all_approximate_methods_have_pass_the_checks(run, iris, tmp_path):
    words = ("--method", "linear", "--data", iris.file("iris.npz"), "--set", "probabilities=none")
    assert run("compile", iris.file("iris.skops"), "-o", tmp_path / "out", *words).code == 0


def test_an_output_that_is_a_file_is_refused_before_the_model_is_read(run, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = run("compile", tmp_path / "model.skops", "-o", tmp_path / "out")
    assert done.code == 2 and "choose a folder" in done.err


def test_names_of_the_command_line_in_any_case(run, iris, tmp_path):
    words = ("--method", "Exact", "--target", "C", "--kit", "ESP_IDF", "--precision", "F32")
    done = run("compile", iris.file("iris.skops"), "-o", tmp_path / "out", *words)
    assert done.code == 0 and (tmp_path / "out/esp-idf").is_dir(), done.err


# limits, and words about long work


def work(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.005)


def test_work_is_stopped_in_time_or_not_at_all():
    told = r"sv-tree did not finish within 0.05 s \(--time-limit\)"
    with pytest.raises(OptionError, match=told), limited(0.05, "sv-tree"):
        work(60)
    with limited(60, "exact"):
        work(0.01)
    with limited(None, "exact"):
        work(0.01)
    with pytest.raises(KeyboardInterrupt), limited(60, "exact"):
        raise KeyboardInterrupt


def test_nothing_is_written_where_the_time_is_up(run, iris, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "compile", lambda *args, **more: work(60))
    words = ("compile", iris.file("iris.skops"), "-o", tmp_path / "out")
    done = run(*words, "--time-limit", "0.2s")
    assert done.code == 2 and "did not finish within 0.2 s" in done.err and not (tmp_path / "out").exists()
    more = ("--method", "reduced-set", "--data", iris.file("iris.npz"))
    advice = "try --set move=false or --set budget=32 or fewer rows (--rows COUNT@SEED), a longer limit"
    assert advice in run(*words, "--time-limit", "0.2s", *more).err
    done = run(*words, "--method", "auto", "--data", iris.file("iris.npz"), "--time-limit", "9s")
    assert done.code == 2 and "with auto use --budget" in done.err


def test_certified_keeps_what_it_has_when_the_time_is_up(run, iris, tmp_path, monkeypatch):
    monkeypatch.setattr(Chooser, "_search", lambda *all: work(60))
    words = ("compile", iris.file("iris.skops"), "-o", tmp_path / "out", "--method", "certified")
    done = run(*words, "--time-limit", "0.3s", "--json")
    assert done.code == 0 and (tmp_path / "out" / "iris.c").exists()
    assert any("broken off when the time was up" in note for note in json.loads(done.out)["notes"])


def test_long_work_is_announced_on_standard_error(run, iris, tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "LAWS", {"reduced-set": estimate.Law(1e6, 1.0)})
    words = ("compile", iris.file("iris.skops"), "-o", tmp_path / "out", "--method", "reduced-set")
    more = ("--data", iris.file("iris.npz"), "--set", "synthetic_rows=10")
    done = run(*words, *more)
    assert done.code == 0 and "reduced-set: about " in done.err and "about" not in done.out
    assert "quicker with --set move=false or --set budget=32\n" in done.err
    assert run(*words, *more, "--json").err == ""


@pytest.mark.parametrize("name", METHODS)
def test_options_that_save_work_are_options(name):
    found = method(name)
    plain, fast = (
        parse_options(name, found.options, helping.settings(pairs)) for pairs in ([], list(found.quicker))
    )
    assert (plain == fast) == (not found.quicker)


def test_estimates_grow_with_the_work():
    small, large = (SimpleNamespace(n_vectors=count, kernel_width=10, n_sums=1) for count in (100, 5000))
    assert set(estimate.LAWS) <= set(METHODS)
    for law in estimate.LAWS.values():
        assert law.predict(small, 1000) < law.predict(small, 4000) < law.predict(large, 4000)
    assert [estimate.duration(s) for s in (7.6, 44.0, 130.0, 9000.0)] == ["8 s", "40 s", "2 min", "2 h"]


def test_piped_output_has_no_blank_lines(run, iris, tmp_path):
    words = ("-o", tmp_path / "out", "--method", "metric-tree", "--data", iris.file("iris.npz"))
    done = run("compile", iris.file("iris.skops"), *words)
    assert done.code == 0 and done.err == ""
    assert all(line.strip() for line in done.out.splitlines())


def test_long_work_says_now_and_then_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(show, "LINE_SECONDS", 0.0)
    with show.progress("rows", 10, quiet=False) as advance:
        advance(4)
        advance(6, "more rows")
    with show.progress("rows", 0, quiet=True) as advance:
        advance(1)
    assert capsys.readouterr().err.splitlines() == ["rows: 4 of 10", "more rows: 10 of 10"]

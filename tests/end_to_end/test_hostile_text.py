"""Text of models and reports: nothing reaches a terminal that acts on it, JSON is JSON, errors are ours."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands import show
from svmcompile.data.sinks import Chunk, CsvSink
from svmcompile.errors import OptionError, ToolchainError
from svmcompile.files.plain import json_text, read_json, visible
from svmcompile.runtime.toolchain import find_compiler
from svmcompile.targets.templating import VALID, check_name, name_from

LABELS = ("\x1b[31mred\x07", "=1+cmd|' /C calc'!A0", "[bold]x[/]")
ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose labels are hostile, compiled in `out`, with rows."""
    folder = tmp_path_factory.mktemp("hostile")
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 2)) + y[:, None]
    model = SVC().fit(X, np.array(LABELS)[y])
    skops.io.dump(model, folder / "m.skops")
    np.savez(folder / "rows.npz", X=X)
    sc.write(sc.emit(sc.compile(model), "c", "m"), folder / "out")
    return folder


def test_labels_are_spelled_out_on_terminals(run: Any, hostile: Path) -> None:
    for thing in ("m.skops", "out", "out/m.svmc"):
        done = run("inspect", hostile / thing)
        assert done.code == 0 and "[bold]x[/]" in done.out and r"\x1b[31mred" in done.out
        assert not ACTED_ON.search(done.out + done.err)


def test_a_label_like_a_formula_is_noted_and_kept(run: Any, hostile: Path, tmp_path: Path) -> None:
    done = run("predict", hostile / "out", "--data", hostile / "rows.npz", "-o", tmp_path / "p.csv")
    assert done.code == 0 and "may take" in done.out and "for a formula" in done.out
    assert LABELS[1] in (tmp_path / "p.csv").read_text()


def test_predictions_on_a_terminal_are_spelled_out(monkeypatch: Any) -> None:
    written = io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", written)
    sink = CsvSink(Path("-"), False)
    sink.write(Chunk({}, "label", np.array(LABELS)))
    assert not ACTED_ON.search(written.getvalue()) and r"\x1b[31m" in written.getvalue()


def test_errors_are_spelled_out(run: Any, tmp_path: Path) -> None:
    done = run("inspect", tmp_path / "\x1b[2Jno.skops")
    assert done.code == 2 and not ACTED_ON.search(done.err)


def test_what_terminals_act_on() -> None:
    assert visible("a\tb\nc\x1b\u202e\ud800é ü") == "a\\tb\nc\\x1b\\u202e\\ud800é ü"


def test_json_has_no_infinity() -> None:
    text = json_text({"b": [np.inf, -np.inf, np.nan], "a": (1.5, None)})
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [1.5, None], "b": ["Infinity", "-Infinity", "NaN"]
    }  # fmt: skip
    with pytest.raises(ValueError, match="too deep"):
        read_json("[" * 100_000)


@pytest.mark.parametrize(
    "report", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"agreement": "\\ud800", "cost": 1e999}']
)
def test_a_bad_report_is_named(run: Any, hostile: Path, tmp_path: Path, report: bytes) -> None:
    shutil.copytree(hostile / "out", tmp_path / "out")
    (tmp_path / "out" / "m.json").write_bytes(report)
    for words in (
        ("inspect",),
        ("inspect", "--json"),
        ("predict", "--data", hostile / "rows.npz", "-o", "-"),
    ):
        done = run(words[0], tmp_path / "out", *words[1:])
        assert done.code in (0, 2) and not ACTED_ON.search(done.err)
        if words[-1] == "--json":
            json.loads(done.out, parse_constant=pytest.fail)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("file", ["m.json", "m.svmc", "m.c"])
def test_a_pipe_in_a_folder_does_not_hang(run: Any, hostile: Path, tmp_path: Path, file: str) -> None:
    shutil.copytree(hostile / "out", tmp_path / "out")
    (tmp_path / "out" / file).unlink()
    os.mkfifo(tmp_path / "out" / file)
    for words in (("inspect",), ("predict", "--data", hostile / "rows.npz", "-o", "-")):
        done = run(words[0], tmp_path / "out", *words[1:])
        assert done.code == 2 and "is not a plain file" in done.err


@pytest.mark.parametrize(
    "details",
    [
        {"stages": 1},
        {"stages": [{"stage": 1}]},
        {"fixed": 1},
        {"fixed": {"error": "x"}},
        {"pure_share": "x"},
    ],
)
def test_details_of_a_foreign_program_are_left_out(
    run: Any, hostile: Path, tmp_path: Path, details: dict[str, Any]
) -> None:
    with zipfile.ZipFile(hostile / "out" / "m.svmc") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(members["program.json"])
    told["origin"]["details"] = details
    with zipfile.ZipFile(tmp_path / "m.svmc", "w") as archive:
        for name, content in (members | {"program.json": json.dumps(told).encode()}).items():
            archive.writestr(name, content)
    assert run("compile", tmp_path / "m.svmc", "-o", tmp_path / "out").code == 0


def test_an_open_quote_in_cc_is_named(monkeypatch: Any) -> None:
    monkeypatch.setenv("CC", 'gcc "')
    with pytest.raises(ToolchainError, match="a quote that does not end"):
        find_compiler()


@pytest.mark.compile
def test_no_header_of_the_system_can_be_hidden(hostile: Path) -> None:
    """Every header that emitted C includes, at any depth, is a name that no model may have."""
    done = subprocess.run(
        ["cc", "-M", "m.c"], cwd=hostile / "out", capture_output=True, text=True, check=True
    )
    found = {Path(word).stem for word in done.stdout.split() if word.endswith(".h")} - {"m"}
    assert len(found) > 5
    listed = re.compile(r"/(bits|gnu|sys|asm|asm-generic|linux)/")
    inner = {Path(word).stem for word in done.stdout.split() if listed.search(word)}
    for name in sorted(found - inner):
        if VALID.fullmatch(name):
            with pytest.raises(OptionError, match="system header"):
                check_name(name)
    assert name_from("features") == "features_svm"


def test_progress_names_are_spelled_out(capsys: Any) -> None:
    show.say("reading \x1b[31m", quiet=False)
    assert not ACTED_ON.search(capsys.readouterr().err)

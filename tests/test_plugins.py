"""Plugins: the example package works; broken ones name their package and hurt nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVR

import svmcompile as sc
from svmcompile.errors import OptionError, PluginError, ReadError
from svmcompile.read import read

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "plugin"
MODEL = (
    '{"format": "json-svm", "gamma": 0.5, "bias": 1.0, "vectors": [[0, 1], [2, 3]], "weights": [1.5, -0.5]}'
)


def distribution(folder: Path, name: str, entries: dict[str, dict[str, str]]) -> Path:
    """What an installer leaves behind of a package: its metadata with entry points."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, found in entries.items()
        for line in (f"[svmcompile.{group}]", *(f"{key} = {value}" for key, value in found.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def entry_points() -> dict[str, dict[str, str]]:
    """Those of the example's pyproject."""
    found: dict[str, dict[str, str]] = {}
    for line in (EXAMPLE / "pyproject.toml").read_text().splitlines():
        if line.startswith("[project.entry-points."):
            own = found.setdefault(line.split('"')[1].removeprefix("svmcompile."), {})
        elif line.startswith("["):
            own = {}
        elif " = " in line and line.count('"') == 2 and ":" in line:
            key, _, value = line.partition(" = ")
            own[key] = value.strip('"')
    return found


@pytest.fixture
def example(tmp_path, monkeypatch):
    assert sorted(entry_points()) == ["kits", "methods", "readers", "targets"]
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.syspath_prepend(str(distribution(tmp_path / "site", "svmcompile-example", entry_points())))
    return tmp_path


def offered(tmp_path, monkeypatch, source, **entries):
    """A package `odd` of one module with some source."""
    site = distribution(tmp_path / "odd-site", "odd", entries)
    (site / "odd_plugin.py").write_text(source)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "odd_plugin", raising=False)


def test_a_reader(example):
    for name, content in (("a.model", MODEL), ("b.jsvm", MODEL.replace('"json-svm"', '"other"'))):
        (example / name).write_text(content)
        svm = read(example / name)
        assert svm.source.kind == "json-svm" and svm.n_features == 2
    rows = np.random.default_rng(0).normal(size=(10, 2))
    distances = ((rows[:, None] - np.array([[0, 1], [2, 3]])) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * distances) @ [1.5, -0.5] + 1
    np.testing.assert_allclose(sc.compile(example / "a.model").predict(rows), expected)
    (example / "c.jsvm").write_text("{")
    with pytest.raises(ReadError, match=r"c.jsvm: is not a json-svm file"):
        read(example / "c.jsvm")
    with pytest.raises(OptionError, match=r"unknown format 'x'; known: libsvm.*json-svm"):
        read(example / "a.model", format="x")


def test_a_method_a_target_and_a_kit(example):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = SVR().fit(X, X[:, 0])
    program = sc.compile(model, method="Heaviest", vectors=7)
    assert program.origin.method == "heaviest" and len(program.tables["vectors"]) == 7
    with pytest.raises(OptionError, match="heaviest: vectors"):
        sc.compile(model, method="heaviest", vectors=0)
    files = sc.emit(program, target=("c", "listing"), name="m", kit="make")
    assert "kernel_sum" in files["m.txt"] and files["make/m/m.c"] == files["m.c"]
    assert "m.o: m.c m.h" in files["make/m/Makefile"]
    sc.write(files, example / "out")
    assert sc.load(example / "out").predict(X[:5]) == pytest.approx(program.predict(X[:5]), abs=1e-5)
    assert sc.verify(example / "out", model, X).ok
    with pytest.raises(OptionError, match="a kit needs C"):
        sc.emit(program, target="listing", name="m", kit="make")
    alone = sc.emit(program, target="listing", name="m")
    assert "m.c" not in alone and "m.txt" in alone and "m.svmc" in alone


def test_from_the_command_line(example):
    (example / "m.json").write_text(MODEL)
    path = [str(ROOT), *(one for one in sys.path if "site" in one or one == str(EXAMPLE))]
    environment = {"PYTHONPATH": ":".join(path), "PATH": "/usr/bin:/bin", "HOME": str(example)}

    def run(*arguments):
        command = [sys.executable, "-m", "svmcompile", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=example, env=environment)

    listed = json.loads(run("methods", "--json").stdout)
    assert [one["package"] for one in listed["methods"] if one["name"] == "heaviest"] == [
        "svmcompile-example 1.0"
    ]
    assert {(one["what"], one["name"], one["problem"]) for one in listed["plugins"]} == {
        ("method", "heaviest", ""), ("reader", "json-svm", ""), ("target", "listing", ""),
        ("kit", "make", ""),
    }  # fmt: skip
    table = run("methods").stdout
    assert "heaviest" in table and "plugin: kit make of svmcompile-example 1.0" in table
    assert "How many support vectors are kept" in run("methods", "heaviest").stdout
    done = run(
        "compile", "m.json", "-o", "out", "--method", "heaviest", "--set", "vectors=1", "--target", "c",
        "--target", "listing", "--kit", "make",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (example / "out" / "make" / "m" / "Makefile").exists()
    unknown = run("compile", "m.json", "-o", "out", "--method", "heavyest")
    assert unknown.returncode == 2 and "did you mean 'heaviest'?" in unknown.stderr


@pytest.mark.install
def test_the_package_installs(tmp_path):
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(tmp_path), str(EXAMPLE)]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = tmp_path.glob("svmcompile_example-1.0.dist-info/entry_points.txt")
    assert all(
        f"{key} = {value}" in found.read_text()
        for own in entry_points().values()
        for key, value in own.items()
    )


BROKEN = {
    "import nothing_like_this": "cannot be loaded .ModuleNotFoundError",
    "raise SystemError('no')": "cannot be loaded .SystemError: no",
    "": "cannot be loaded .AttributeError",
    "THING = 3": "is a int, not a svmcompile",
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_broken_plugin_is_named_and_hurts_nobody_else(tmp_path, monkeypatch, source):
    thing = {"broken": "odd_plugin:THING"}
    offered(tmp_path, monkeypatch, source, methods=thing, targets=thing, kits=thing, readers=thing)
    model = SVR().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5])
    files = sc.emit(sc.compile(model), target=("c", "onnx"), name="m", kit="cmake")
    assert "m.c" in files
    told = f"'broken' of package odd 1.0 {BROKEN[source]}"
    with pytest.raises(PluginError, match=f"method {told}"):
        sc.compile(model, method="broken")
    with pytest.raises(PluginError, match=f"target {told}"):
        sc.emit(sc.compile(model), target="broken", name="m")
    with pytest.raises(PluginError, match=f"kit {told}"):
        sc.emit(sc.compile(model), target="c", name="m", kit="broken")
    (tmp_path / "x.unknown").write_text("?")
    with pytest.raises(ReadError, match=f"not a model file that is known.*reader {told}"):
        read(tmp_path / "x.unknown")
    from svmcompile.commands import methods
    from svmcompile.commands.options import MethodsOptions

    report = methods.run(MethodsOptions())
    assert "broken" not in [one["name"] for one in report["methods"]]
    assert len(report["plugins"]) == 4 and all("odd 1.0" in one["problem"] for one in report["plugins"])


def test_names_that_clash_are_refused(tmp_path, monkeypatch):
    source = "raise AssertionError('this must not be loaded')"
    names = {
        "Exact": "odd_plugin:A",
        "auto": "odd_plugin:A",
        "two words": "odd_plugin:A",
        "twice": "odd_plugin:A",
    }
    offered(tmp_path, monkeypatch, source, methods=names, targets={"c": "odd_plugin:A"})
    other = distribution(tmp_path / "other-site", "other", {"methods": {"twice": "odd_plugin:B"}})
    monkeypatch.syspath_prepend(str(other))
    from svmcompile.commands.methods import plugged

    problems = {(one["what"], one["name"]): one["problem"] for one in plugged()}
    assert "built-in" in problems["target", "c"] and "built-in" in problems["method", "auto"]
    assert "lower-case" in problems["method", "Exact"] and "lower-case" in problems["method", "two words"]
    assert "packages share (odd 1.0, other 1.0)" in problems["method", "twice"]
    model = SVR().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5])
    assert sc.compile(model, method="exact").origin.method == "exact"
    with pytest.raises(PluginError, match="packages share"):
        sc.compile(model, method="twice")


FAULTY = """
from svmcompile.plugins import Kit, Reader, Target
TARGET = Target(emit=lambda program, name, precision: {files})
KIT = Kit(emit=lambda program, name, precision, files: {files})
READER = Reader(read=lambda content, where, n_features: 1 / 0, suffixes=(".odd",))
"""


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("1 / 0", "failed .ZeroDivisionError"),
        ("3", "gave a int, not a mapping"),
        ("{name + '.x': 3}", "gave m.x as a int"),
        ("{'../m': ''}", "names a file '../m'; paths are relative"),
        ("{'/etc/m': ''}", "names a file '/etc/m'"),
        ("{name + '/../../m': ''}", "names a file"),
        ("{name + '.c': ''}", "writes m.c, which svmcompile itself writes"),
        ("{'other.txt': ''}", "begin with 'm'"),
    ],
)
def test_what_a_plugin_gives_is_checked(tmp_path, monkeypatch, files, message):
    offered(
        tmp_path, monkeypatch, FAULTY.replace("{files}", files), targets={"odd": "odd_plugin:TARGET"},
        kits={"odd-kit": "odd_plugin:KIT"}, readers={"odd": "odd_plugin:READER"},
    )  # fmt: skip
    program = sc.compile(SVR().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5]))
    with pytest.raises(PluginError, match=message):
        sc.emit(program, target="odd", name="m")
    if "writes" not in message and "begin with" not in message:
        with pytest.raises(PluginError, match=message):
            sc.emit(program, target="c", name="m", kit="odd-kit")
    (tmp_path / "a.odd").write_text("?")
    with pytest.raises(PluginError, match=r"reader 'odd' of package odd 1.0 failed .ZeroDivisionError"):
        read(tmp_path / "a.odd")


def test_help_stays_quick(example):
    path = [str(ROOT), *(one for one in sys.path if "site" in one or one == str(EXAMPLE))]
    environment = {"PYTHONPATH": ":".join(path), "PATH": "/usr/bin:/bin"}
    times = []
    for _ in range(3):
        begun = time.monotonic()
        command = [sys.executable, "-X", "importtime", "-m", "svmcompile", "compile", "--help"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        times.append(time.monotonic() - begun)
        assert "svmcompile_example" not in done.stderr and "importlib.metadata" not in done.stdout
    assert min(times) < 2  # half a second on a quiet machine; plugins are not looked for at all

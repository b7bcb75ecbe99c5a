"""The flow: a program is lowered once for each file of C, and the report tells of what was emitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.svm import SVC
from typer.testing import CliRunner

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.flow import emission
from svmcompile.ir import program as programs
from svmcompile.lower import lower
from svmcompile.lower.sums import round_vectors
from svmcompile.optimise.centre import uncentre

NAME = "m"


def fitted(shift: float = 0.0) -> tuple[SVC, Any, Any]:
    """Two clouds, perhaps far from the origin, where sums in float lose digits."""
    X = np.random.default_rng(0).normal(size=(300, 3)) + shift
    y = (np.sin(3 * (X - shift)).sum(axis=1) > 0).astype(int)
    return SVC(gamma=0.5, C=10).fit(X, y), X, y


def report_of(files: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files[f"{NAME}.json"])
    return found


@pytest.mark.parametrize(
    ("target", "options", "count"),
    [
        ("c", {}, 1),
        ("c", {"tables": "f16"}, 1),
        ("c", {"profile": "device"}, 1),
        ("c", {"profile": "device", "kit": ("arduino", "cmake")}, 1),
        (("c", "onnx"), {}, 1),
        ("onnx", {}, 1),
        ("c", {"precision": "q15"}, 0),  # made of whole numbers already
    ],
)
def test_one_lowering(
    target: Any, options: dict[str, Any], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, y = fitted()
    program, calls = sc.compile(model), []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return lower(*arguments)

    monkeypatch.setattr(emission, "lower", counted)
    report = report_of(sc.emit(program, target, NAME, X=X, y=y, model=model, **options))
    assert len(calls) == count
    assert report["rows"] == len(X) and report["accuracy"]["compiled"] > 0.9


@pytest.mark.parametrize("profile", ["portable", "host", "device"])
def test_the_report_runs_what_is_emitted(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lowering that spoils its tables shows in the errors and in the notes."""
    model, X, _ = fitted()
    program = sc.compile(model)

    def spoilt(*arguments: Any) -> Any:
        machine = lower(*arguments)
        (weights,) = (node.weights for node in machine.body if hasattr(node, "weights"))
        return machine.replace(
            tables={**machine.tables, weights: machine.tables[weights] * np.float32(1.01)}
        )

    sound = report_of(sc.emit(program, "c", NAME, profile=profile, X=X, model=model))
    monkeypatch.setattr(emission, "lower", spoilt)
    report = report_of(sc.emit(program, "c", NAME, profile=profile, X=X, model=model))
    assert report["max_decision_error"] > 0.01 > 100 * sound["max_decision_error"]
    assert any("rounding moves decision values" in note for note in report["notes"])
    assert not any("rounding moves" in note for note in sound["notes"])


def test_errors_are_those_of_profile_and_tables() -> None:
    """Support vectors in f16 err more than portable code does, and so do rows that are not centred."""
    model, X, _ = fitted(shift=3.0)
    program = sc.compile(model)
    rows = X.astype(np.float32)
    meant = model.decision_function(rows.astype(np.float64))

    def error(machine: sc.Program) -> float:
        return float(np.abs(machine.decision_function(rows) - meant).max())

    def told(**options: Any) -> float:
        report = report_of(sc.emit(program, "c", NAME, X=X, model=model, **options))
        return float(report["max_decision_error"])

    portable = error(lower(program, "f32"))
    assert told(profile="portable") == pytest.approx(portable)
    halves = error(lower(round_vectors(program), "f32", "host", True))
    assert told(tables="f16") == pytest.approx(halves) and halves > 100 * portable
    device = error(lower(uncentre(program), "f32", "device"))
    assert told(profile="device") == pytest.approx(device, rel=0.5) and device > 3 * portable


@pytest.mark.compile
def test_the_report_agrees_with_the_c_that_runs(tmp_path: Path) -> None:
    model, X, _ = fitted()
    program = sc.compile(model)
    for tables in (None, "f16"):
        files = sc.emit(program, "c", NAME, tables=tables, X=X, model=model)
        sc.write(files, tmp_path / str(tables))
        rows = X.astype(np.float32)
        found = sc.load(tmp_path / str(tables)).decision_function(rows)
        worst = float(np.abs(found - model.decision_function(rows.astype(np.float64))).max())
        assert report_of(files)["max_decision_error"] == pytest.approx(worst, rel=0.2 if tables else 0.9)


def test_the_command_reads_once_and_lists_nothing_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, y = fitted()
    path = tmp_path / "m.joblib"
    joblib.dump(model, path)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    opened, listed = [], []
    read_bytes, text = Path.read_bytes, programs.Program.text
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened.append(self) or read_bytes(self))
    monkeypatch.setattr(programs.Program, "text", lambda self: listed.append(self) or text(self))
    words = ["compile", str(path), "-o", str(tmp_path / "out"), "--trust-pickle", "--json"]
    done = CliRunner().invoke(app, [*words, "--data", str(tmp_path / "rows.npz")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["agreement"] == 1.0
    assert opened.count(path) == 1 and not listed
    done = CliRunner().invoke(app, [*words, "--dump-ir", str(tmp_path / "ir")])
    assert done.exit_code == 0 and len(listed) == len(list((tmp_path / "ir").iterdir())) > 2

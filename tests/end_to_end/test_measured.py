"""Programs that are chosen by their time in C: what is measured, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from typer.testing import CliRunner

import svmcompile as sc
from svmcompile.bench.result import Times
from svmcompile.cli import app
from svmcompile.errors import OptionError
from svmcompile.flow import measured
from svmcompile.ir import nodes as ir

pytestmark = pytest.mark.compile


def fitted() -> tuple[Any, SVC]:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :8]
    return X, SVC(gamma=0.02, C=2.0).fit(X, y)


def test_all_contenders_are_built_and_timed() -> None:
    X, model = fitted()
    program = sc.compile(model, method="certified", X=X, measure=True, order=1)
    told = program.origin.details["measured"]
    assert told[0]["options"] == {"method": "exact", "labels": "certain"}
    assert {"order": 1, "leaves": 1} in [one["options"] for one in told]
    assert all(one["single_ns"] > 0 and one["batch_ns"] > 0 for one in told)
    assert "times as fast as the exact sum" in program.origin.notes[-1]
    assert (program.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("slow", [False, True])
def test_the_exact_sum_is_kept_where_it_is_quicker(slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, model = fitted()

    def made_up(programs: Any, rows: Any, profile: str) -> list[Times]:
        return [Times(2.0, 2.0), *(Times(1.0, 3.0 if slow else 1.0) for _ in programs[1:])]

    monkeypatch.setattr(measured, "times_in_c", made_up)
    program = sc.compile(model, method="certified", X=X, measure=True, order=2, leaves=1, force=True)
    assert any(isinstance(node, ir.TaylorSum) for node in program.body) is not slow
    assert program.origin.method == "certified"


def test_rows_are_needed() -> None:
    with pytest.raises(OptionError, match="measuring needs rows"):
        sc.compile(fitted()[1], method="certified", measure=True)


def test_the_command_measures(tmp_path: Path) -> None:
    X, model = fitted()
    joblib.dump(model, tmp_path / "model.joblib")
    np.savez(tmp_path / "rows.npz", X=X)
    words = ["compile", str(tmp_path / "model.joblib"), "--trust-pickle", "--method", "certified"]
    words += ["--measure", "--set", "order=1", "--data", str(tmp_path / "rows.npz"), "--json"]
    words += ["-o", str(tmp_path / "out")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert "measured on 569 rows" in found.output

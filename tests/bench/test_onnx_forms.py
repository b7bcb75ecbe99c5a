"""The examples that run our ONNX graphs beside skl2onnx's, and in the run times at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from peers import onnx_forms, onnx_runs


def test_graphs_race_and_give_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("skl2onnx")
    monkeypatch.setattr(onnx_forms, "ROUNDS", 1)
    monkeypatch.setattr(onnx_forms, "SECONDS", 0.001)
    monkeypatch.setitem(onnx_forms.MODELS, "coupled", (60, 4, 3, True))
    onnx_forms.main(["--write", str(tmp_path), "tiny", "coupled"])
    onnx_forms.main([str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[-2:]] == ["| tiny", "| coupled"]
    assert all(line.endswith("| 0 |") for line in lines[-2:])


def test_every_graph_runs_in_onnxruntime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx_runs.main(["--write", str(tmp_path)])
    onnx_runs.main([str(tmp_path)])
    ours = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| onnxruntime"))
    assert ours.split(" | ")[1:] == ["yes"] * (len(onnx_runs.GRAPHS) - 1) + ["yes |"]

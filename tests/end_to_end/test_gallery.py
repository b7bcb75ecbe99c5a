"""The gallery draws without a data folder, its page is what it writes, and no picture is too large."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "examples" / "papers"
PNG = b"\x89PNG\r\n"


def run(script: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("SVMCOMPILE_DATA", None)
    command = [sys.executable, str(PAPERS / script), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def papers(monkeypatch: Any) -> Any:
    """The modules of examples/papers, by name."""
    monkeypatch.syspath_prepend(str(PAPERS))
    return import_module


def test_pictures_of_generated_rows_need_no_data_folder(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    done = run("gallery.py", tmp_path, "h1-tree", "certified", "certified-stages", "-o", "pictures")
    assert done.returncode == 0, done.stderr
    assert "two moons take its place" in done.stderr and "certified-stages: needs the sets" in done.stderr
    found = sorted((tmp_path / "pictures").iterdir())
    assert [path.name for path in found] == ["certified.png", "h1-tree.png"]
    assert all(path.read_bytes().startswith(PNG) and path.stat().st_size > 5000 for path in found)


def test_an_unknown_picture_is_named(papers: Any, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        papers("gallery").main(["h1tree"])
    assert "no picture 'h1tree'; there are metric-tree, " in capsys.readouterr().err


def test_the_page_is_what_the_script_writes(papers: Any) -> None:
    gallery = papers("gallery")
    assert (ROOT / "docs/gallery.md").read_text(encoding="utf-8") == gallery.page(list(gallery.PICTURES))
    pictures = [ROOT / "docs" / "gallery" / f"{name}.png" for name in gallery.PICTURES]
    assert sorted(pictures) == sorted((ROOT / "docs" / "gallery").iterdir())
    assert sum(path.stat().st_size for path in (ROOT / "docs").rglob("*.png")) < 1.5e6


def test_four_digits_stop_early(tmp_path: Path) -> None:
    done = run("anytime_figure.py", tmp_path)
    assert done.stdout == "certain after [30, 23, 13, 8] of 42 kernel values\n", done.stderr


def test_no_plane_is_left_out_where_all_fit(papers: Any) -> None:
    shown = papers("h1_figure").shown
    assert shown(6) == [1, 2, 3, 4, 5, 6] and shown(2) == [1, 2]
    assert shown(14)[0] == 1 and shown(14)[-1] == 14


@pytest.mark.parametrize("classes", [2, 3])
def test_a_flat_kernel_is_nearly_quadratic(papers: Any, classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes] - X.mean(axis=0), y[y < classes]
    svm = SVC(C=1000.0, gamma=0.005).fit(X, y)
    quadratic = papers("beyond_quadratic").Quadratic(svm)
    assert svm.gamma < quadratic.limit(X)  # where the paper's bound holds
    assert np.array_equal(quadratic.predict(X), svm.predict(X))
    assert quadratic.bytes == 4 * len(quadratic.biases) * (10 + 4 + 2)
    far = papers("beyond_quadratic").Quadratic(SVC(C=1000.0, gamma=20.0).fit(X, y))
    assert far.svm.gamma > far.limit(X) and (far.predict(X) != far.svm.predict(X)).any()

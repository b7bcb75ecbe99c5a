"""Wheel, sdist and bare checkout all find their templates; the editable install runs these tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.install, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SCRIPT = """
import pathlib, sys
import svmcompile as sc
from svmcompile.targets.templating import template_folder
from sklearn.svm import SVC

home = pathlib.Path(sys.argv[1]).resolve()
assert home in pathlib.Path(sc.__file__).resolve().parents, sc.__file__
assert home in template_folder().parents, template_folder()
model = SVC().fit([[0, 0], [1, 1], [0, 2], [3, 1]], ["a", "b", "a", "b"])
sc.write(sc.emit(sc.compile(model), name="tiny"), "out")
assert sc.load("out").predict([[0, 1]])[0] == model.predict([[0, 1]])[0]
print("works")
"""

USER = """
import svmcompile as sc

program: sc.Program = sc.compile("model.skops", method="certified")
sc.write(sc.emit(program, name="model"), "out")
wrong: int = sc.compile("model.skops")  # type: ignore[assignment]
sc.load("out", nmae="model")  # type: ignore[call-arg]
sc.emit(program, nmae="model")  # type: ignore[call-arg]
sc.emit(program, target="onnx", opset="17")  # type: ignore[arg-type]
reveal_type(sc.train([[0.0]], [1]))
reveal_type(program.claim)
reveal_type(sc.DTSVMClassifier().fit)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source") / "svmcompile"
    for name in ("pyproject.toml", *_included()):
        _copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def _included() -> list[str]:
    """What pyproject.toml puts into the sdist."""
    (listed,) = re.findall(r"sdist]\ninclude = (\[.*\])", (ROOT / "pyproject.toml").read_text())
    return [name.lstrip("/") for name in json.loads(listed)]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    else:
        shutil.copy(source, target)


def _works(home: Path, folder: Path) -> None:
    """Compile and load a model with the svmcompile found in `home`, from another folder."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(home)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "works", done.stderr


def test_wheel(packages, tmp_path):
    with zipfile.ZipFile(packages[0]) as archive:
        archive.extractall(tmp_path / "site")
    _works(tmp_path / "site", tmp_path / "elsewhere")


def test_types_of_the_installed_wheel(packages, tmp_path):
    """mypy --strict follows `import svmcompile` into the installed package, as it does with py.typed."""
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, str(packages[0])], check=True, capture_output=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))  # numpy and its like
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r'Revealed type is "(.*)"', done.stdout) == [
        "svmcompile.ir.program.Program",
        "svmcompile.ir.program.Claim",
        "def (X: Any, y: Any) -> svmcompile.estimator.DTSVMClassifier",
    ]


def test_wheel_holds_no_tests(packages):
    with zipfile.ZipFile(packages[0]) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"svmcompile"}


def test_sdist(packages, tmp_path):
    with tarfile.open(packages[1]) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
    (home,) = (tmp_path / "sdist").iterdir()
    assert (home / "tests").is_dir() and (home / "Makefile").is_file() and (home / "LICENSE").is_file()
    _works(home, tmp_path / "elsewhere")


def test_bare_checkout(tmp_path):
    for name in ("svmcompile", "templates"):
        _copy(ROOT / name, tmp_path / "checkout" / name)
    _works(tmp_path / "checkout", tmp_path / "elsewhere")

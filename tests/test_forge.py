"""The forge tests the Pythons that pyproject.toml promises, and hooks run what `make test` runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
PROJECT, MAKEFILE = ((ROOT / name).read_text() for name in ("pyproject.toml", "Makefile"))
JOBS = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]


def commands(job: str) -> str:
    """What a job runs, line by line."""
    return "\n".join(step.get("run", "") for step in JOBS[job]["steps"])


@pytest.mark.parametrize("job", JOBS)
def test_pythons_are_those_of_the_package(job):
    pythons = JOBS[job]["strategy"]["matrix"]["python"]
    assert pythons == re.findall(r"Python :: (3\.\d+)", PROJECT)
    assert re.findall(r'requires-python = ">=(.*)"', PROJECT) == pythons[:1]
    assert re.findall(r'^python_version = "(.*)"', PROJECT, re.MULTILINE) == pythons[:1]
    numbers = [int(python.partition(".")[2]) for python in pythons]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    (setup,) = (step for step in JOBS[job]["steps"] if "setup-python" in step.get("uses", ""))
    assert setup["with"]["python-version"] == "${{ matrix.python }}"


def test_jobs_run_the_tests_with_both_compilers_and_build_the_wheel():
    assert JOBS["test"]["strategy"]["matrix"]["compiler"] == ["gcc", "clang"]
    assert JOBS["test"]["env"]["CC"] == "${{ matrix.compiler }}"
    assert "make test" in commands("test")
    assert "python -m build" in commands("wheel") and "pip install dist/*.whl" in commands("wheel")
    assert all((ROOT / name).is_file() for name in re.findall(r"examples/\w+\.py", commands("wheel")))


def test_hooks_are_the_checks_of_make_test():
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [one["repo"] for one in repositories] == ["local"]  # nothing is fetched
    hooks = repositories[0]["hooks"]
    entries = [hook["entry"].removesuffix(" --force-exclude") for hook in hooks]
    checks = re.findall(r"^\t\$\(BIN\)/((?:ruff \w+|mypy)).*$", MAKEFILE, re.MULTILINE)
    assert entries == checks
    assert all(hook["language"] == "system" for hook in hooks)

"""Shared by all tests: golden files and the option that rewrites them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from golden_files import compare_with_golden
from hypothesis import settings
from programs.files_cases import swaps

from svmcompile.runtime import toolchain

GOLDEN = Path(__file__).parent / "golden"

# The same examples on every run; HYPOTHESIS_PROFILE=random looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("random")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden instead of comparing"
    )


@pytest.fixture(scope="session", autouse=True)
def _disks_need_not_keep_what_tests_write() -> Iterator[None]:
    """Each wait for a disk takes milliseconds, and every file that is written waits for one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which also wants an open file
        yield


@pytest.fixture
def built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are built without optimisation, in a third of the time: for tests of something else."""
    flags = tuple(flag.replace("-O2", "-O0") for flag in toolchain.FLAGS)
    monkeypatch.setattr(toolchain, "FLAGS", flags)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(name, text)`: the text must be the bytes of tests/golden/<name>."""
    update = bool(request.config.getoption("--update-golden"))
    return lambda name, text: compare_with_golden(GOLDEN / name, text, update)


@pytest.fixture
def swappable(tmp_path: Path) -> Path:
    if not swaps(tmp_path):
        pytest.skip("this file system cannot swap folders, so a kill may leave a mixture, as documented")
    return tmp_path

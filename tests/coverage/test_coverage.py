"""A short run of `make coverage`: the test that C ships takes every branch, or the reason is known."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.coverage.run import PROGRAMS, emissions, measure, reason
from tests.replay.cases import CASES


@pytest.mark.compile
@pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("gcov")), reason="gcc and gcov count branches"
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "words"), [("three-ovr", "q15"), ("certified-two", "portable"), ("svr", "device")]
)
def test_the_shipped_test_takes_every_branch(name: str, words: str, tmp_path: Path) -> None:
    files = next(files for how, files in emissions(name) if how.startswith(words))
    branches, missing = measure(files, tmp_path)
    assert len(missing) < branches / 8
    assert not [branch for branch in missing if reason(branch) is None]


def test_reasons_are_for_some_branches_only() -> None:
    assert reason("model_predict: if (x[0] > 1.0f) [0]") is None
    assert set(PROGRAMS) <= set(CASES)
    assert {CASES[name].method for name in PROGRAMS} == {case.method for case in CASES.values()}

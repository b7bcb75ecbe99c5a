"""Generated C before it runs: proofs by Frama-C, gcc's analyzer, rules of MISRA C that have a reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from static_checks import (
    FEWEST_GCC,
    Case,
    analyse,
    cases,
    departures,
    driver,
    gcc_version,
    prove,
    write_case,
)

pytestmark = pytest.mark.compile
CHECKED = {
    "exact_two_classes": ("f32", "q15"),
    "metric_tree": ("f32",),
    "h1_tree": ("f32",),
}  # the script: all


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Case, Path]]:
    root, found = tmp_path_factory.mktemp("static"), {}
    for case in cases():
        if case.name not in CHECKED or case.precision not in CHECKED[case.name]:
            continue
        found[case.title] = case, root / case.kind / case.name
        write_case(*found[case.title])
    return found


@pytest.mark.skipif(shutil.which("frama-c") is None, reason="no Frama-C is installed")
def test_no_run_time_error_is_possible(folders: dict[str, tuple[Case, Path]]) -> None:
    for case, folder in folders.values():
        assert prove(folder) == [], case.title


@pytest.mark.skipif(shutil.which("frama-c") is None, reason="no Frama-C is installed")
def test_the_proof_can_fail(folders: dict[str, tuple[Case, Path]], tmp_path: Path) -> None:
    """Numbers that grow beyond float are found, and so is a step beyond a table."""
    case, folder = folders["metric tree, portable"]
    shutil.copytree(folder, tmp_path / "wide")
    (tmp_path / "wide" / "driver.c").write_text(driver(case.program, case.name, limit=3e38))
    assert any("non-finite" in alarm for alarm in prove(tmp_path / "wide"))
    shutil.copytree(folder, tmp_path / "short")
    text = (folder / "driver.c").read_text()
    (tmp_path / "short" / "driver.c").write_text(text.replace("x[METRIC_TREE_N_FEATURES]", "x[3]"))
    assert prove(tmp_path / "short")


@pytest.mark.skipif(gcc_version() < FEWEST_GCC, reason=f"no gcc from version {FEWEST_GCC} on is installed")
def test_the_analyzer_of_gcc_finds_nothing(folders: dict[str, tuple[Case, Path]]) -> None:
    for case, folder in folders.values():
        assert analyse(folder, case.name) == [], case.title


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="no cppcheck is installed")
def test_every_departure_from_misra_is_on_record(folders: dict[str, tuple[Case, Path]]) -> None:
    """Of the required rules, only shifts of signed numbers are not kept."""
    for case, folder in folders.values():
        if case.profile == "device":
            found = set(departures(folder, case.name))
            record = (folder / f"{case.name}.misra.md").read_text()
            assert found and found <= set(re.findall(r"^\| ([\d.]+) \|", record, re.MULTILINE)), case.title
            assert re.findall(r"^\| ([\d.]+) \| required", record, re.MULTILINE) in ([], ["10.1"])

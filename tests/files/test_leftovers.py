"""What killed runs left is cleared up, and what others made is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs.files_cases import NEW, OLD, as_text, content, furnish, held

from svmcompile.files import recover, staging, write_file, write_files
from svmcompile.files.exchange import exchange


def test_write_file_removes_what_killed_runs_left(tmp_path: Path) -> None:
    left, used, foreign = (tmp_path / f".a.svmcompile-{end}" for end in ("0" * 16, "1" * 16, "notes"))
    for path in (left, used, foreign):
        path.touch()
    with held(used):
        write_file(tmp_path / "a", "x")
        assert not left.exists() and used.exists() and foreign.exists()
    write_file(tmp_path / "a", "x")  # also where the content is there already
    assert not used.exists() and foreign.exists()


def test_clearing_up_never_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    for name, target in ((".out.svmcompile-", "mine"), (".a.svmcompile-", "mine/file")):
        (tmp_path / (name + "0" * 16)).symlink_to(target)
    write_files(OLD, tmp_path / "out")
    stage = tmp_path / (".out.svmcompile-" + "1" * 16)
    stage.mkdir()
    (stage / "tree").symlink_to("../mine")
    inside = tmp_path / "out" / (".files.svmcompile-" + "2" * 16)
    inside.mkdir()
    (inside / "new").symlink_to("../../mine")
    (inside / "forward").write_text('{"paths": ["m.c"], "had": [true], "made": []}')
    write_files(NEW, tmp_path / "out")
    write_file(tmp_path / "a", "x")
    assert content(tmp_path / "mine") == {"file": "mine"}
    assert not stage.exists() and as_text(NEW).items() <= content(tmp_path / "out").items()


@pytest.mark.parametrize("path", ["../mine", "link/mine", "/mine"])
def test_a_stage_from_elsewhere_leads_nowhere(tmp_path: Path, path: str) -> None:
    """An output folder may come from anybody, with a stage that was made up."""
    write_files(OLD, tmp_path / "out")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out" / "link").symlink_to("..")
    stage = tmp_path / "out" / (".files.svmcompile-" + "0" * 16)
    (stage / "new").mkdir(parents=True)
    (stage / "new" / "0").write_text("bad")
    (stage / "forward").write_text(json.dumps({"paths": [path], "had": [False], "made": []}))
    recover(tmp_path / "out")
    assert (tmp_path / "mine").read_text() == "mine"


def leftover(tmp_path: Path) -> Path:
    path = tmp_path / (".out.svmcompile-" + "a" * 16)
    (path / "tree").mkdir(parents=True)
    (path / "tree" / "m.c").write_text("half")
    return path


def test_stages_of_killed_runs_are_removed(tmp_path: Path) -> None:
    path = leftover(tmp_path)
    other = tmp_path / (".other.svmcompile-" + "a" * 16)
    other.mkdir()
    with held(path):
        write_files(OLD, tmp_path / "out")
        assert path.exists()
    write_files(OLD, tmp_path / "out")
    assert not path.exists() and other.exists()


def test_files_of_others_in_a_folder_swapped_out_come_back(tmp_path: Path) -> None:
    """A run was killed right after the swap, and somebody had written just before it."""
    write_files(OLD, tmp_path / "out")
    path = leftover(tmp_path)
    (path / "tree" / "late" / "deep").mkdir(parents=True)
    (path / "tree" / "late" / "deep" / "file").write_text("theirs")
    (path / "seen").write_text(json.dumps({"inode": 0, "replaced": ["m.c"], "seen": {}}))
    write_files(OLD, tmp_path / "out")
    assert content(tmp_path) == {f"out/{name}": text for name, text in as_text(OLD).items()} | {
        "out/late/deep/file": "theirs"
    }


def test_files_written_by_others_meanwhile_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    write_files(OLD, folder)
    furnish(folder)

    def busy_exchange(one: Path, other: Path) -> None:
        (folder / "late").write_text("late")
        (folder / "replacement").write_text("theirs")
        (folder / "replacement").replace(folder / "notes.txt")
        exchange(one, other)

    monkeypatch.setattr(staging, "exchange", busy_exchange)
    write_files(NEW, folder)
    assert {**as_text(NEW), "late": "late", "notes.txt": "theirs"}.items() <= content(folder).items()

"""Folders with subfolders: all files or none, and nothing of others is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs.files_cases import ROOT, content

from svmcompile.errors import EmitError, OptionError
from svmcompile.files import tree
from svmcompile.files.tree import write_tree

OLD = {"CMakeLists.txt": "old", "src/m.c": "old c", "include/m.h": "old h"}
NEW = {"CMakeLists.txt": "new", "src/m.c": "new c", "include/m.h": "new h", "examples/one/x.c": "new x"}


def furnished(folder: Path) -> dict[str, str]:
    """The old files, and some that a user put there."""
    write_tree(OLD, folder)
    (folder / "build" / "deep").mkdir(parents=True)
    (folder / "build" / "deep" / "m.o").write_text("object")
    (folder / "src" / "own.c").write_text("own")
    (folder / "link").symlink_to("src/own.c")
    return {"build/deep/m.o": "object", "src/own.c": "own", "link": "own"}


def test_a_new_folder_and_the_same_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "kit"
    write_tree(OLD, folder)
    assert content(tmp_path / "a") == {f"kit/{path}": text for path, text in sorted(OLD.items())}
    before = folder.stat()
    write_tree(OLD, folder)
    assert folder.stat() == before, "nothing is touched where the content is there already"


def test_files_of_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    others = furnished(folder)
    (folder / "src" / "m.c").chmod(0o640)
    write_tree(NEW, folder)
    assert content(tmp_path) == {f"kit/{path}": text for path, text in sorted((others | NEW).items())}
    assert (folder / "link").is_symlink() and (folder / "src" / "m.c").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("step", ["write_synced", "link_or_copy", "keep_mode", "sync_folder"])
def test_a_step_that_fails_leaves_the_old_tree(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = furnished(tmp_path / "kit")
    calls = []

    def failing(*arguments: object, **options: object) -> None:
        calls.append(arguments)
        if len(calls) == (1 if step == "sync_folder" else 2):
            raise OSError(28, "no space")
        real(*arguments, **options)

    real = getattr(tree, step)
    monkeypatch.setattr(tree, step, failing)
    with pytest.raises(EmitError, match="no space"):
        write_tree(NEW, tmp_path / "kit")
    assert content(tmp_path) == {f"kit/{path}": text for path, text in sorted((others | OLD).items())}


def test_without_swapping_each_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(one: Path, other: Path) -> None:
        raise OSError(38, "no such call")

    others = furnished(tmp_path / "kit")
    monkeypatch.setattr(tree, "exchange", refuse)
    write_tree(NEW, tmp_path / "kit")
    assert content(tmp_path) == {f"kit/{path}": text for path, text in sorted((others | NEW).items())}


def test_a_file_that_comes_during_the_swap_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(one: Path, other: Path) -> None:
        (other / "late.txt").write_text("late")
        real(one, other)

    real = tree.exchange
    furnished(tmp_path / "kit")
    monkeypatch.setattr(tree, "exchange", late)
    write_tree(NEW, tmp_path / "kit")
    assert (tmp_path / "kit" / "late.txt").read_text() == "late"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["kit"]


def test_stale_leftovers_go_but_unknown_files_stay(tmp_path: Path) -> None:
    write_tree(OLD, tmp_path / "kit")
    for token, name in (("0" * 16, "src/m.c"), ("1" * 16, "precious")):
        leftover = tmp_path / f".kit.svmcompile-{token}"
        (leftover / name).parent.mkdir(parents=True)
        (leftover / name).write_text("x")
        os.utime(leftover, (time.time() - 9999,) * 2)
    write_tree(NEW, tmp_path / "kit")
    assert sorted(item.name for item in tmp_path.iterdir()) == [f".kit.svmcompile-{'1' * 16}", "kit"]


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/../b", ".", "", "a\\b", "a\0b"])
def test_paths_stay_inside(path: str, tmp_path: Path) -> None:
    with pytest.raises(EmitError, match="plain names"):
        write_tree({path: ""}, tmp_path / "kit")
    assert not list(tmp_path.iterdir())


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="is a file"):
        write_tree(OLD, tmp_path / "file")
    (tmp_path / "kit" / "src" / "m.c").mkdir(parents=True)
    with pytest.raises(EmitError, match="is a folder"):
        write_tree(OLD, tmp_path / "kit")


KILLED = """
import os, sys
from pathlib import Path
from svmcompile.files import tree
folder, at = Path(sys.argv[1]), int(sys.argv[2])
count = 0
def hook(event, arguments):
    global count
    if event in ("os.mkdir", "os.link", "os.rename", "os.remove", "os.rmdir", "open", "os.chmod"):
        if str(arguments[0]).startswith(str(folder.parent)):
            count += 1
            if count == at:
                os._exit(9)
sys.addaudithook(hook)
tree.write_tree({"CMakeLists.txt": "new", "src/m.c": "new c", "include/m.h": "new h"}, folder)
"""


def test_killed_anywhere_it_is_the_old_tree_or_the_new(swappable: Path) -> None:
    new = {path: NEW[path] for path in OLD}
    seen = set()
    for at in range(1, 60, 6):
        folder = swappable / f"run{at}" / "kit"
        write_tree(OLD, folder)
        (folder / "own.txt").write_text("own")
        done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(at)], cwd=ROOT)
        found = content(folder)
        assert found.pop("own.txt") == "own"
        assert found in (OLD, new), f"killed at step {at}"
        seen.add((done.returncode, found == new))
    assert seen >= {(9, False), (0, True)}

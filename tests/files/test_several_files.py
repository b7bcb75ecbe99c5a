"""Several files and folders: all or nothing, and what is not ours stays."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from programs.files_cases import NEW, OLD, as_text, check_furniture, content, furnish

from svmcompile.errors import EmitError, OptionError
from svmcompile.files import write_files


def test_write_files_creates_and_replaces(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    write_files(OLD, folder)
    assert content(folder) == as_text(OLD)
    write_files(NEW, folder)
    assert content(folder) == as_text(NEW)
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_new_folder_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    write_files(OLD, tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_equal_content_is_not_touched(tmp_path: Path) -> None:
    write_files(OLD, tmp_path / "out")
    paths = [tmp_path / "out", *(tmp_path / "out" / name for name in OLD)]
    for path in reversed(paths):
        os.utime(path, ns=(7, 7))
    before = [path.stat().st_ino for path in paths]
    write_files(OLD, tmp_path / "out")
    assert [path.stat().st_ino for path in paths] == before
    assert all(path.stat().st_mtime_ns == 7 for path in paths)


def test_unchanged_files_keep_their_time(tmp_path: Path) -> None:
    write_files(OLD, tmp_path / "out")
    os.utime(tmp_path / "out" / "m.h", ns=(7, 7))
    write_files({**NEW, "m.h": OLD["m.h"]}, tmp_path / "out")
    assert (tmp_path / "out" / "m.h").stat().st_mtime_ns == 7
    assert content(tmp_path / "out") == as_text({**NEW, "m.h": OLD["m.h"]})


def test_other_entries_and_permission_bits_stay(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_files(OLD, folder)
    furnish(folder)
    folder.chmod(0o750)
    (folder / "m.c").chmod(0o600)
    inode = (folder / "notes.txt").stat().st_ino
    write_files(NEW, folder)
    check_furniture(folder)
    assert as_text(NEW).items() <= content(folder).items()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "m.c").stat().st_mode) == 0o600
    assert (folder / "notes.txt").stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_without_hard_links_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(OLD, tmp_path / "out")
    furnish(tmp_path / "out")

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    write_files(NEW, tmp_path / "out")
    check_furniture(tmp_path / "out")
    assert as_text(NEW).items() <= content(tmp_path / "out").items()


@pytest.mark.parametrize("name", ["", ".", "..", "a//b", "a/../b", "/a", "a\\b", "a\0b", "../a"])
def test_names_must_be_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(EmitError, match="plain file name"):
        write_files({"ok": "x", name: "x"}, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OptionError, match="is a file"):
        write_files(OLD, tmp_path / "out")
    with pytest.raises(EmitError):
        write_files(OLD, tmp_path / "out" / "below")
    assert content(tmp_path) == {"out": "mine"}


def test_a_folder_in_the_way_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "out" / "m.c").mkdir(parents=True)
    with pytest.raises(EmitError, match=r"m\.c: is a folder"):
        write_files(OLD, tmp_path / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "m.c"]


def test_nothing_to_write(tmp_path: Path) -> None:
    write_files({}, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_folders_within_and_files_of_others_there(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "kit"
    write_files({"src/m.c": "old"}, folder)
    (folder / "src" / "own.c").write_text("own")
    (folder / "build" / "deep").mkdir(parents=True)
    (folder / "src" / "m.c").chmod(0o640)
    (folder / "build").chmod(0o750)
    write_files({"src/m.c": "new", "examples/one/x.c": "x"}, folder)
    found = {"src/m.c": "new", "src/own.c": "own", "examples/one/x.c": "x"}
    assert content(tmp_path) == {f"a/kit/{path}": text for path, text in sorted(found.items())}
    assert (folder / "build" / "deep").is_dir() and stat.S_IMODE((folder / "build").stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "src" / "m.c").stat().st_mode) == 0o640


def test_what_stands_in_the_way_within(tmp_path: Path) -> None:
    write_files({"src": "a file", "m.c": "c"}, tmp_path / "out")
    with pytest.raises(EmitError, match=r"src: is a file, and a folder is to be made"):
        write_files({"src/m.c": "x", "m.c": "new"}, tmp_path / "out")
    assert content(tmp_path / "out") == {"src": "a file", "m.c": "c"}

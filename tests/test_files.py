"""Writing: one file or several, all or nothing, and where the folder is not swapped."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs.files_cases import NEW, OLD, ROOT, as_text, check_furniture, content, furnish

from svmcompile.errors import EmitError, OptionError
from svmcompile.files import staging, write_file, write_files
from svmcompile.files.staging import exchange

# one file


def test_write_file_creates_replaces_and_keeps(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    write_file(path, "één\n")
    assert path.read_bytes() == "één\n".encode()
    write_file(path, b"\r\n")
    assert path.read_bytes() == b"\r\n"
    os.utime(path, ns=(1, 1))
    write_file(path, b"\r\n")
    assert path.stat().st_mtime_ns == 1
    assert [file.name for file in path.parent.iterdir()] == ["c.txt"]


def test_write_file_permission_bits(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_file(path, "1")
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    write_file(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_write_file_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/file")
    write_file(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "file").read_text() == "x"


def test_write_file_refuses_what_is_no_plain_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is a folder"):
        write_file(tmp_path, "x")
    with pytest.raises(OptionError, match="not a plain file"):
        write_file(Path(os.devnull), "x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(EmitError, match="loop"):
        write_file(tmp_path / "loop", "x")
    (tmp_path / "file").touch()
    with pytest.raises(EmitError, match="file"):
        write_file(tmp_path / "file" / "below", "x")


def test_write_file_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "a", "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EmitError, match=r"a: cannot be written: No space left on device"):
        write_file(tmp_path / "a", "new")
    with pytest.raises(EmitError):
        write_file(tmp_path / "x" / "y", "new")
    assert content(tmp_path) == {"a": "old"} and not (tmp_path / "x").exists()


def test_write_file_removes_stale_leftovers_only(tmp_path: Path) -> None:
    stale, fresh, foreign = (tmp_path / f".a.svmcompile-{end}" for end in ("0" * 16, "1" * 16, "notes"))
    for path in (stale, fresh, foreign):
        path.touch()
    for path in (stale, foreign):
        os.utime(path, (0, 0))
    write_file(tmp_path / "a", "x")
    assert not stale.exists() and fresh.exists() and foreign.exists()


# several files


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


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a\\b", "a\0b", "../a"])
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


# where a swap would surprise


def inode_after_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    write_files(OLD, folder)
    furnish(folder.resolve())
    before = folder.stat().st_ino
    write_files(NEW, folder)
    check_furniture(folder)
    assert as_text(NEW).items() <= content(folder).items()
    return before, folder.stat().st_ino


def test_a_usual_folder_is_swapped(swappable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = inode_after_write(swappable / "out", monkeypatch)
    assert before != after


@pytest.mark.parametrize("below", ["", "sub"])
def test_the_current_folder_is_not_swapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    (tmp_path / "out" / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / "out" / below)
    write_files(OLD, tmp_path / "out")
    before = (tmp_path / "out").stat().st_ino
    write_files(NEW, tmp_path / "out")
    assert (tmp_path / "out").stat().st_ino == before
    assert content(tmp_path / "out") == as_text(NEW)
    assert Path("m.c" if not below else "../m.c").read_text() == "new c"


def test_the_home_folder_is_not_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "out"))
    before, after = inode_after_write(tmp_path / "out", monkeypatch)
    assert before == after


def test_a_mount_point_is_not_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == tmp_path / "out")
    before, after = inode_after_write(tmp_path / "out", monkeypatch)
    assert before == after


def test_a_shared_folder_is_not_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(0o1777)
    before, after = inode_after_write(tmp_path / "out", monkeypatch)
    assert before == after and stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o1777


def test_a_folder_with_a_socket_is_not_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("out/socket")
    before, after = inode_after_write(tmp_path / "out", monkeypatch)
    assert before == after and (tmp_path / "out" / "socket").is_socket()


def test_a_full_folder_is_not_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MAX_ENTRIES", 5)
    before, after = inode_after_write(tmp_path / "out", monkeypatch)
    assert before == after


def test_a_link_to_the_folder_stays_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    inode_after_write(tmp_path / "out", monkeypatch)
    assert (tmp_path / "out").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "real"]


def test_without_exchange_files_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(one: Path, other: Path) -> None:
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(staging, "exchange", unsupported)
    before, after = inode_after_write(tmp_path / "out", monkeypatch)
    assert before == after and [path.name for path in tmp_path.iterdir()] == ["out"]


AS_NOBODY = """
import fcntl, os, sys
from pathlib import Path
from svmcompile.errors import EmitError
from svmcompile.files import write_files
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    write_files({"a": "new", "b": "new"}, Path(sys.argv[1]))
except EmitError as error:
    print(error)
"""


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder another user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.parametrize(("outer", "inner", "written"), [(0o777, 0o555, False), (0o555, 0o777, True)])
def test_folders_without_write_permission(
    public_folder: Path, outer: int, inner: int, written: bool
) -> None:
    outside, folder = public_folder / "x", public_folder / "x" / "out"
    write_files({"a": "old", "b": "old"}, folder)
    folder.chmod(inner)
    outside.chmod(outer)
    result = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(folder)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    outside.chmod(0o777)
    folder.chmod(0o777)
    assert content(outside) == {"out/a": "new" if written else "old", "out/b": "new" if written else "old"}
    assert ("Permission denied" in result.stdout and str(folder) in result.stdout) is not written


# leftovers of killed runs


def leftover(tmp_path: Path, age: float) -> Path:
    path = tmp_path / (".out.svmcompile-" + "a" * 16)
    path.mkdir()
    (path / "m.c").write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize(("age", "stays"), [(60, True), (3700, False)])
def test_stale_stages_are_removed(tmp_path: Path, age: float, stays: bool) -> None:
    path = leftover(tmp_path, age)
    other = tmp_path / (".other.svmcompile-" + "a" * 16)
    other.mkdir()
    os.utime(other, (0, 0))
    write_files(OLD, tmp_path / "out")
    assert path.exists() is stays and other.exists()


def test_stale_stage_inside_the_folder(tmp_path: Path) -> None:
    write_files(OLD, tmp_path / "out")
    path = tmp_path / "out" / (".files.svmcompile-" + "a" * 16)
    path.mkdir()
    (path / "new-m.c").touch()
    os.utime(path, (0, 0))
    write_files(NEW, tmp_path / "out")
    assert content(tmp_path / "out") == as_text(NEW) and not path.exists()


def test_subfolders_of_a_killed_run_come_back(tmp_path: Path) -> None:
    write_files(OLD, tmp_path / "out")
    path = leftover(tmp_path, 3700)
    for name in ("lost", "clash"):
        (path / name).mkdir()
        (path / name / "mine").write_text("left")
    (tmp_path / "out" / "clash").mkdir()
    os.utime(path, (0, 0))
    write_files(OLD, tmp_path / "out")
    assert (tmp_path / "out" / "lost" / "mine").read_text() == "left"
    assert content(path) == {"clash/mine": "left"}, "what cannot come back is kept"


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

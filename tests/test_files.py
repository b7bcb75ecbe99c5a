"""Writing: one file or several, all or nothing, and where the folder is not swapped."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from programs.files_cases import NEW, OLD, ROOT, as_text, check_furniture, content, furnish

from svmcompile.data import PredictionWriter
from svmcompile.errors import EmitError, OptionError
from svmcompile.files import atomic, recover, staging, write_file, write_files
from svmcompile.files.cache import scratch
from svmcompile.files.exchange import exchange

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


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The lock that a process holds on what it made, for as long as it lives."""
    handle = os.open(path, os.O_RDONLY)
    try:
        assert atomic.lock(handle)
        yield
    finally:
        os.close(handle)


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


def test_a_private_file_is_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, modes = tmp_path / "p.csv", []
    path.write_text("old")
    path.chmod(0o600)

    def watched(file: Path) -> None:
        modes.append(stat.S_IMODE(file.stat().st_mode))
        real(file)

    real = atomic.sync_file
    monkeypatch.setattr(atomic, "sync_file", watched)
    with PredictionWriter(path) as sink:
        sink.write([1, 2])
        modes += [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()]
    assert len(modes) == 3 and set(modes) == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


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
from svmcompile.data import PredictionWriter
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


# folders within


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


def test_a_folder_that_a_process_works_in_is_not_swapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(OLD, tmp_path / "out")
    (tmp_path / "out" / "sub").mkdir()
    before = (tmp_path / "out").stat().st_ino
    waiting = subprocess.Popen(
        [sys.executable, "-c", "input()"], cwd=tmp_path / "out" / "sub", stdin=subprocess.PIPE
    )
    try:
        write_files(NEW, tmp_path / "out")
    finally:
        waiting.communicate(b"\n")
    assert (tmp_path / "out").stat().st_ino == before or sys.platform != "linux"


def test_files_are_written_into_a_scratch_folder_without_waiting_for_its_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(atomic.time, "sleep", lambda seconds: pytest.fail("waited for a lock"))
    with scratch() as folder:
        write_file(folder / "a.c", "int a;")
        assert (folder / "a.c").read_text() == "int a;"
    assert not folder.exists()

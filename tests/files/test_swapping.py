"""Where the folder is swapped for a new one, and where that would surprise."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs.files_cases import NEW, OLD, ROOT, as_text, check_furniture, content, furnish

from svmcompile.errors import EmitError
from svmcompile.files import staging, write_files


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


@pytest.mark.parametrize("inside", ["npm", "npm/src"])
@pytest.mark.parametrize("others", [{}, {"m.c": "new"}])
def test_a_folder_inside_that_is_a_link_is_refused(
    tmp_path: Path, inside: str, others: dict[str, str]
) -> None:
    """Nothing is written behind a link; one in the place of a file is replaced."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.js").write_text("mine")
    link = tmp_path / "out" / inside
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "mine")
    for given in ("new", "mine"):  # though that would change nothing
        with pytest.raises(EmitError, match=f"{inside}: is a link, .* remove the link"):
            write_files({**others, f"{inside}/index.js": given}, tmp_path / "out")
    assert [path.read_text() for path in (tmp_path / "mine").iterdir()] == ["mine"]
    assert not (tmp_path / "out" / "m.c").exists()
    link.unlink()
    link.symlink_to(tmp_path / "mine" / "index.js")
    write_files({inside: "new"}, tmp_path / "out")
    assert not link.is_symlink() and (tmp_path / "mine" / "index.js").read_text() == "mine"


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

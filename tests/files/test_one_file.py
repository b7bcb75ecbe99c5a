"""One file: created or replaced, never half-written."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from programs.files_cases import content

from svmcompile.data import PredictionWriter
from svmcompile.errors import EmitError, OptionError
from svmcompile.files import atomic, write_file
from svmcompile.files.cache import scratch


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


def test_files_are_written_into_a_scratch_folder_without_waiting_for_its_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(atomic.time, "sleep", lambda seconds: pytest.fail("waited for a lock"))
    with scratch() as folder:
        write_file(folder / "a.c", "int a;")
        assert (folder / "a.c").read_text() == "int a;"
    assert not folder.exists()

"""Two versions of four files, and what a folder holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from svmcompile.files import atomic
from svmcompile.files.exchange import exchange

OLD = {"m.c": "old c", "m.h": "old h", "m.json": "old json", "m.onnx": b"old onnx"}
NEW = {"m.c": "new c", "m.h": "new h", "m.json": "new json", "m.onnx": b"new onnx"}
ROOT = Path(__file__).resolve().parents[2]


def content(folder: Path) -> dict[str, str]:
    """Everything below the folder, hidden things too."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def as_text(stored: dict[str, str | bytes]) -> dict[str, str]:
    return {name: item if isinstance(item, str) else item.decode() for name, item in stored.items()}


def swaps(tmp_path: Path) -> bool:
    """Can this file system swap folders? Without that the kill tests would test the wrong thing."""
    one, other = tmp_path / "swap-1", tmp_path / "swap-2"
    one.mkdir()
    other.mkdir()
    try:
        exchange(one, other)
    except OSError:
        return False
    finally:
        one.rmdir()
        other.rmdir()
    return True


def furnish(folder: Path) -> None:
    """Things of the user's in the folder, which no write may lose."""
    (folder / "notes.txt").write_text("mine")
    (folder / "link").symlink_to("notes.txt")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "sub" / "deep" / "x").write_text("x")
    (folder / ".hidden").mkdir()


def check_furniture(folder: Path) -> None:
    assert (folder / "notes.txt").read_text() == "mine"
    assert str((folder / "link").readlink()) == "notes.txt"
    assert str((folder / "dangling").readlink()) == "nowhere"
    assert (folder / "sub" / "deep" / "x").read_text() == "x"
    assert (folder / ".hidden").is_dir()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The lock that a process holds on what it made, for as long as it lives."""
    handle = os.open(path, os.O_RDONLY)
    try:
        assert atomic.lock(handle)
        yield
    finally:
        os.close(handle)

"""Several files in one step: a new folder is staged beside the old one, then the two swap names.

A process killed before the swap leaves the old folder, one killed after it the new one. Subfolders cannot
be linked, so they move over right after the swap; a run killed in between leaves them in the hidden old
folder, from which the next write brings them back. Nothing that was not staged here is ever deleted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from svmcompile.files import atomic

MAX_ENTRIES = 1000  # a fuller folder is somebody's working folder, not an output folder
Signature = tuple[int, int, int]
AT_FDCWD = -100
RENAME_EXCHANGE = 2  # linux/fs.h
RENAME_SWAP = 2  # macOS sys/stdio.h
RENAMEAT2_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276}  # for C libraries without the function


class CannotSwap(Exception):
    """The folder cannot be swapped here; nothing was changed."""


def create_folder(contents: Mapping[str, bytes], folder: Path) -> None:
    """A new folder with these files, all at once."""
    stage = atomic.free_name(folder)
    try:
        stage.mkdir()
        for name, data in contents.items():
            atomic.write_synced(stage / name, data)
        atomic.sync_folder(stage)
        stage.rename(folder)
    finally:
        discard(stage)
    atomic.sync_folder(folder.parent)


def swap_folder(changed: Mapping[str, bytes], folder: Path) -> None:
    """These files into an existing folder, all at once; `CannotSwap` where that is impossible."""
    try:
        allowed = may_swap(folder)
    except OSError as error:
        raise CannotSwap from error
    if not allowed:
        raise CannotSwap
    stage = atomic.free_name(folder)
    try:
        seen = _stage_others(changed, folder, stage)
        for name, data in changed.items():
            atomic.write_synced(stage / name, data)
            atomic.keep_mode(folder / name, stage / name)
        _swap(changed, seen, folder, stage)
    finally:
        discard(stage)
    atomic.sync_folder(folder.parent)


def may_swap(folder: Path) -> bool:
    """Would nobody be surprised if the folder became another one of the same name?"""
    if sys.platform not in ("linux", "darwin") or os.path.ismount(folder):
        return False
    if _is_inside(Path.cwd, folder) or _is_inside(Path.home, folder):
        return False
    status = folder.stat()
    if status.st_mode & stat.S_ISVTX:  # shared by users, like a folder for temporary files
        return False
    with os.scandir(folder) as entries:
        kinds = [entry.stat(follow_symlinks=False) for entry in entries]
    return len(kinds) <= MAX_ENTRIES and all(
        stat.S_IFMT(kind.st_mode) in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)
        and kind.st_dev == status.st_dev
        for kind in kinds
    )


def _is_inside(place: Callable[[], Path], folder: Path) -> bool:
    """Is that place the folder or somewhere below it?"""
    try:
        found = place().resolve()
    except (OSError, RuntimeError):
        return False
    return found == folder or folder in found.parents


def _stage_others(changed: Mapping[str, bytes], folder: Path, stage: Path) -> dict[str, Signature]:
    """Make the stage, with everything in the folder that stays as it is; subfolders come later."""
    seen = {}
    try:
        stage.mkdir()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name not in changed and not entry.is_dir(follow_symlinks=False):
                    seen[entry.name] = _signature(Path(entry.path))
                    link_or_copy(Path(entry.path), stage / entry.name)
        _adopt_folder(folder, stage)
    except OSError as error:
        raise CannotSwap from error
    return seen


def _signature(path: Path) -> Signature:
    status = path.lstat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def link_or_copy(source: Path, target: Path, *, any_owner: bool = False) -> None:
    """The same file or link under another name; a copy would be ours, so by default only ours are."""
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        if not any_owner and sys.platform != "win32" and source.lstat().st_uid != os.geteuid():
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def _adopt_folder(old: Path, new: Path) -> None:
    """Owner, permission bits and attributes of the old folder, the time of now."""
    before, made = old.stat(), new.stat()
    if sys.platform != "win32" and (before.st_uid, before.st_gid) != (made.st_uid, made.st_gid):
        os.chown(new, before.st_uid, before.st_gid)
    shutil.copystat(old, new)
    os.utime(new)


def _swap(changed: Mapping[str, bytes], seen: dict[str, Signature], folder: Path, stage: Path) -> None:
    atomic.sync_folder(stage)
    try:
        exchange(stage, folder)
    except OSError as error:
        raise CannotSwap from error
    moved: list[str] = []
    try:
        _carry_over(changed, seen, folder, stage, moved)
    except BaseException as error:
        for name in reversed(moved):
            (folder / name).rename(stage / name)
        exchange(stage, folder)
        if isinstance(error, OSError):
            raise CannotSwap from error
        raise


def _carry_over(
    changed: Mapping[str, bytes], seen: dict[str, Signature], folder: Path, old: Path, moved: list[str]
) -> None:
    """Move subfolders, and files that others wrote since the staging, from the old folder to the new."""
    for name in sorted(os.listdir(old)):  # noqa: PTH208 (names are what is compared)
        if name in changed:
            continue
        with suppress(FileNotFoundError):
            if seen.get(name) != _signature(old / name):
                (old / name).rename(folder / name)
                moved.append(name)


def replace_each(changed: Mapping[str, bytes], folder: Path) -> None:
    """These files into the folder one by one; an error, but not a kill, brings all old ones back."""
    inside = atomic.free_name(folder / "files")
    try:
        inside.mkdir()
        for name, data in changed.items():
            atomic.write_synced(inside / f"new-{name}", data)
            atomic.keep_mode(folder / name, inside / f"new-{name}")
            if os.path.lexists(folder / name):
                link_or_copy(folder / name, inside / f"old-{name}", any_owner=True)
        _replace_all(list(changed), folder, inside)
    finally:
        discard(inside)
    atomic.sync_folder(folder)


def _replace_all(names: list[str], folder: Path, inside: Path) -> None:
    try:
        for name in names:
            (inside / f"new-{name}").replace(folder / name)
    except BaseException:
        for name in names:
            _restore(folder / name, inside / f"new-{name}", inside / f"old-{name}")
        raise


def _restore(path: Path, new: Path, old: Path) -> None:
    if new.exists():  # was never put in place
        return
    if os.path.lexists(old):
        old.replace(path)
    else:
        path.unlink()


def recover(folder: Path) -> None:
    """Clear up after killed runs: their subfolders come back, their stale files go."""
    for leftover in atomic.leftovers(folder) + atomic.leftovers(folder / "files"):
        if leftover.is_symlink() or not leftover.is_dir():
            continue
        stale = atomic.is_stale(leftover)
        with suppress(OSError):
            _bring_back(leftover, folder)
        if stale:
            discard(leftover)


def _bring_back(leftover: Path, folder: Path) -> None:
    with os.scandir(leftover) as entries:
        subfolders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in subfolders:
        if folder.is_dir() and not os.path.lexists(folder / name):
            (leftover / name).rename(folder / name)


def discard(stage: Path) -> None:
    """Remove a stage and the files in it; subfolders are never ours, so they keep it alive."""
    with suppress(OSError):
        with os.scandir(stage) as entries:
            files = [Path(entry.path) for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for path in files:
            atomic.remove_file(path)
        stage.rmdir()


def exchange(one: Path, other: Path) -> None:
    """Swap the two names; `OSError` if the system or the file system cannot."""
    if sys.platform == "linux":
        _exchange_linux(os.fsencode(one), os.fsencode(other))
    elif sys.platform == "darwin":
        _exchange_macos(os.fsencode(one), os.fsencode(other))
    else:
        raise _unsupported()


def _exchange_linux(one: bytes, other: bytes) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    arguments = (AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
    if hasattr(library, "renameat2"):
        _check(library.renameat2(*arguments))
    elif platform.machine() in RENAMEAT2_NUMBERS and sys.maxsize > 2**32:
        library.syscall.restype = ctypes.c_long
        number = ctypes.c_long(RENAMEAT2_NUMBERS[platform.machine()])
        _check(library.syscall(number, *arguments))
    else:
        raise _unsupported()


def _exchange_macos(one: bytes, other: bytes) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renamex_np"):
        raise _unsupported()
    _check(library.renamex_np(one, other, RENAME_SWAP))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unsupported() -> OSError:
    return OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

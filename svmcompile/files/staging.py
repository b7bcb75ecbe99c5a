"""Several files in one step: a complete folder is staged beside the old one, then the two swap names.

The stage is a private hidden folder:

    .NAME.svmcompile-TOKEN/
        tree/   the new folder: new files, and links to all that stays; after the swap the old folder
        seen    written just before the swap: which files are replaced, and what the others looked like

A process killed before the swap leaves the old folder, one killed after it the new one; in neither is
anything missing. The next writer removes the stage: before the swap all of it, after it what `seen`
accounts for. A file that somebody else wrote into the old folder during the swap goes back to the new one.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from svmcompile.files import atomic
from svmcompile.files.exchange import exchange
from svmcompile.files.plain import read_json
from svmcompile.files.removal import open_folder, remove_tree

LEVELS = 4  # folders above an output folder that are looked at for leftovers
MAX_ENTRIES = 1000  # a fuller folder is somebody's working folder, not an output folder
KINDS = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)
TREE, SEEN = "tree", "seen"
PROCESSES = Path("/proc")
Signature = list[int]


class CannotSwap(Exception):
    """The folder cannot be swapped here; nothing was changed."""


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """A folder that nobody else may enter, locked for as long as this process lives."""
    path.mkdir(mode=0o700)
    handle = None
    try:
        if sys.platform != "win32":
            handle = open_folder(path)
            atomic.lock(handle)
        yield path
    except OSError:
        with suppress(OSError):
            path.rmdir()  # if it is still empty
        raise
    finally:
        if handle is not None:
            os.close(handle)


def create_folder(contents: Mapping[str, bytes], folder: Path) -> None:
    """A new folder with these files, and those above it that are missing, all at once."""
    top = highest_missing(folder)
    below = "".join(f"{part}/" for part in folder.relative_to(top).parts)
    with private_folder(atomic.free_name(top)) as stage:
        tree = stage / TREE
        try:
            _write_all({below + path: data for path, data in contents.items()}, tree, top)
            tree.rename(top)
        finally:
            remove_tree(stage)
    atomic.sync_folder(top.parent)


def highest_missing(folder: Path) -> Path:
    """The folder, or the one above it that does not exist while the next one does."""
    return [path for path in (folder, *folder.parents) if not path.exists()][-1]


def swap_folder(changed: Mapping[str, bytes], folder: Path) -> None:
    """These files into an existing folder, all at once; `CannotSwap` where that is impossible."""
    try:
        allowed = may_swap(folder)
    except OSError as error:
        raise CannotSwap from error
    if not allowed:
        raise CannotSwap
    with private_folder(atomic.free_name(folder)) as stage:
        try:
            _stage(changed, folder, stage)
            try:
                exchange(stage / TREE, folder)
            except OSError as error:
                raise CannotSwap from error
        finally:
            _clear(stage, folder)
    atomic.sync_folder(folder.parent)


def may_swap(folder: Path) -> bool:
    """Would nobody be surprised if the folder became another one of the same name?"""
    if sys.platform not in ("linux", "darwin") or os.path.ismount(folder):
        return False
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        return False
    if _is_inside(Path.cwd, folder) or _is_inside(Path.home, folder) or _is_used(folder):
        return False
    status = folder.stat()
    if status.st_mode & stat.S_ISVTX:  # shared by users, like a folder for temporary files
        return False
    for count, (_, kind) in enumerate(_entries(folder), start=1):
        plain = stat.S_IFMT(kind.st_mode) in KINDS and kind.st_dev == status.st_dev
        if count > MAX_ENTRIES or not plain:
            return False
    return True


def _entries(folder: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Paths and status of everything under a folder, outer folders first; links are not followed."""
    with os.scandir(folder / below) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        yield f"{below}{entry.name}", status
        if stat.S_ISDIR(status.st_mode):
            yield from _entries(folder, f"{below}{entry.name}/")


def _is_inside(place: Callable[[], Path], folder: Path) -> bool:
    """Is that place the folder or somewhere below it?"""
    try:
        found = place().resolve()
    except (OSError, RuntimeError):
        return False
    return found == folder or folder in found.parents


def _is_used(folder: Path) -> bool:
    """Is the folder, or one below it, the current folder of a process? Known on Linux only."""
    start = f"{folder}/"
    for process in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):  # of other users
            if f"{os.readlink(process / 'cwd')}/".startswith(start):  # noqa: PTH115 (text is what is compared)
                return True
    return False


def _stage(changed: Mapping[str, bytes], folder: Path, stage: Path) -> None:
    """The new tree: new files, and everything in the folder that stays as it is."""
    tree, seen = stage / TREE, {}
    _write_all(changed, tree, folder)
    folders = [""]
    try:
        for path, status in _entries(folder):
            if stat.S_ISDIR(status.st_mode):
                (tree / path).mkdir(exist_ok=True)
                folders.append(path)
            elif path not in changed:
                seen[path] = _signature(status)
                link_or_copy(folder / path, tree / path)
        for path in reversed(folders):
            _adopt_folder(folder / path, tree / path)
    except OSError as error:
        raise CannotSwap from error
    record = {"inode": tree.stat().st_ino, "replaced": sorted(changed), "seen": seen}
    atomic.write_synced(stage / SEEN, json.dumps(record).encode())
    atomic.sync_folder(tree)
    atomic.sync_folder(stage)


def _write_all(contents: Mapping[str, bytes], tree: Path, folder: Path) -> None:
    tree.mkdir()
    for path, data in contents.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        atomic.write_synced(tree / path, data)
        atomic.keep_access(folder / path, tree / path)


def _signature(status: os.stat_result) -> Signature:
    return [status.st_ino, status.st_mtime_ns, status.st_size]


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


def remove_leftovers(folder: Path) -> None:
    """Remove what killed runs left in the folder, beside it, and beside those above it."""
    for path in (folder, *folder.parents[:LEVELS]):
        if atomic.leftovers(path):
            with atomic.locked(path.parent) as alone:
                for stage in atomic.leftovers(path):
                    _remove_abandoned(stage, path, alone)
    if atomic.hidden_in(folder):
        with atomic.locked(folder.parent) as alone:
            for file in atomic.hidden_in(folder):
                atomic.remove_abandoned_file(file, alone)


def _remove_abandoned(stage: Path, folder: Path, alone: bool) -> None:
    with suppress(OSError), claimed(stage, alone) as is_free:
        if is_free:
            _clear(stage, folder)


@contextmanager
def claimed(stage: Path, alone: bool) -> Iterator[bool]:
    """Whether the process that made a stage has ended; if so, the stage is locked for us meanwhile."""
    handle = open_folder(stage)
    try:
        yield atomic.is_abandoned(handle, alone)
    finally:
        os.close(handle)


def _clear(stage: Path, folder: Path) -> None:
    """Remove a stage; of a folder that was swapped out only what the new one has, or has replaced."""
    with suppress(OSError, KeyError, TypeError, AttributeError):
        record = _record(stage)
        if record and (stage / TREE).is_dir() and (stage / TREE).lstat().st_ino != record["inode"]:
            _give_back(stage / TREE, folder, record)
            remove_tree(stage / TREE, lambda path, status: _is_ours(path, status, record))
            if os.path.lexists(stage / TREE):
                return
        remove_tree(stage)


def _record(stage: Path) -> dict[str, Any] | None:
    """What was noted just before the swap; None where it did not come to that."""
    try:
        found: dict[str, Any] = read_json((stage / SEEN).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return found


def _is_ours(path: str, status: os.stat_result, record: dict[str, Any]) -> bool:
    return path in record["replaced"] or record["seen"].get(path) == _signature(status)


def _give_back(old: Path, folder: Path, record: dict[str, Any]) -> None:
    """Move to the new folder what others wrote into the old one between staging and swapping."""
    for path, status in list(_entries(old)):
        if path in record["replaced"] or record["seen"].get(path) == _signature(status):
            continue
        with suppress(OSError):  # a file may have left with the folder that holds it
            if os.path.lexists(folder / path) and os.path.samestat(status, (folder / path).lstat()):
                record["seen"][path] = _signature(status)  # written to, and the same file in both
            elif not (stat.S_ISDIR(status.st_mode) and (folder / path).is_dir()):
                (old / path).rename(folder / path)

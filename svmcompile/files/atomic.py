"""One file in one step: a temporary file beside the target, then a rename. One writer at a time.

A reader sees the old content or the new, never a part of it, and a write that fails leaves no trace.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from svmcompile.errors import EmitError, OptionError

STALE_SECONDS = 3600  # leftovers of killed runs are removed once they are older than this
MARK = ".svmcompile-"
TOKEN = re.compile(r"[0-9a-f]{16}")
WAIT_SECONDS = 30.0
PAUSE_SECONDS = 0.005


def write_file(path: Path, content: bytes | str) -> None:
    """Write one file atomically; does nothing if the content is there already.

    Missing parent folders are created, and an existing file's permission bits are kept. A link is
    followed: the file it points to is replaced.
    """
    data = as_bytes(content)
    with as_emit_error(path):
        if not has_content(real_path(path), data):
            with replacing(path) as temporary:
                temporary.write_bytes(data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A free path beside `path`; the file written there replaces `path` if the block ends well."""
    target = real_path(path)
    check_plain(target)
    with with_parents(target):
        sweep(target)
        temporary = free_name(target)
        try:
            yield temporary
            sync_file(temporary)
            keep_mode(target, temporary)
            temporary.replace(target)
        finally:
            remove_file(temporary)
        sync_folder(target.parent)


@contextmanager
def with_parents(path: Path) -> Iterator[None]:
    """The folders above `path` exist inside the block; those it made go again if the block fails."""
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def as_emit_error(path: Path) -> Iterator[None]:
    """Turn what the system reports into an `EmitError` with the path and the reason."""
    try:
        yield
    except OSError as error:
        raise EmitError(
            f"{path}: cannot be written: {error.strerror or error}; nothing was changed"
        ) from None


def real_path(path: Path) -> Path:
    """The absolute path behind all links."""
    with suppress(RuntimeError):  # raised before Python 3.13 for links in a loop
        found = Path(path).resolve()
        if not found.is_symlink():  # later versions leave such links as they are
            return found
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def check_plain(path: Path) -> None:
    """Only a plain file may be replaced: never a folder, a device or a pipe."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a plain file"
        raise OptionError(f"{path}: is {kind}; choose another file name")


def check_output(path: Path) -> None:
    """Refuse a file that could not be written in the end, before long work; no folder is made for it."""
    with as_emit_error(path):
        target = real_path(path)
    check_plain(target)
    if not target.parent.is_dir():
        raise OptionError(f"{path}: the folder {path.parent} does not exist; make it first")
    _check_writable(path, target.parent)


def check_output_folder(folder: Path) -> None:
    """Refuse a folder that could not be made or written to in the end."""
    with as_emit_error(folder):
        target = real_path(folder)
    nearest = next(above for above in (target, *target.parents) if above.exists())
    if not nearest.is_dir():
        raise OptionError(
            f"{folder}: {'is' if nearest == target else f'{nearest} is'} a file; choose a folder"
        )
    _check_writable(folder, nearest)


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise EmitError(f"{path}: cannot be written: the folder {folder} is read-only; choose another")


def as_bytes(content: bytes | str) -> bytes:
    """Text as UTF-8 with the line ends it has."""
    return content.encode() if isinstance(content, str) else content


def has_content(path: Path, data: bytes) -> bool:
    """Is this plain file there with this content?"""
    try:
        status = path.lstat()
        return stat.S_ISREG(status.st_mode) and status.st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def write_synced(path: Path, data: bytes) -> None:
    """A file whose content is on the disk when this returns."""
    path.write_bytes(data)
    sync_file(path)


def sync_file(path: Path) -> None:
    """Put a file's content on the disk."""
    with path.open("r+b") as stream:
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def keep_mode(old: Path, new: Path) -> None:
    """Give `new` the permission bits of `old`, if that is a plain file."""
    with suppress(FileNotFoundError):
        status = old.lstat()
        if stat.S_ISREG(status.st_mode):
            new.chmod(stat.S_IMODE(status.st_mode))


def free_name(path: Path) -> Path:
    """A hidden name beside `path` that nobody uses."""
    return path.parent / f".{path.name}{MARK}{secrets.token_hex(8)}"


def leftovers(path: Path) -> list[Path]:
    """What killed runs left beside `path`: everything `free_name` could have made."""
    start = f".{path.name}{MARK}"
    try:
        names = os.listdir(path.parent)  # noqa: PTH208 (plain names are all that is needed, and cheap)
    except OSError:
        return []
    return [
        path.parent / name
        for name in names
        if name.startswith(start) and TOKEN.fullmatch(name[len(start) :])
    ]


def is_stale(path: Path) -> bool:
    """Too old to belong to a run that is still going on."""
    try:
        return time.time() - path.lstat().st_mtime > STALE_SECONDS
    except OSError:
        return False


def sweep(path: Path) -> None:
    """Remove stale temporary files beside `path`."""
    for leftover in leftovers(path):
        if is_stale(leftover):
            remove_file(leftover)


def remove_file(path: Path) -> None:
    """Remove a file or link if it can be removed; a folder stays."""
    with suppress(OSError):
        path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's own lock, which leaves no file behind and ends with the process.

    Without lock support, or if another program keeps the lock for long, work goes on unlocked: each
    step is safe by itself, and the lock only keeps one writer from undoing another's.
    """
    handle = _acquire(folder)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _acquire(folder: Path) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    if _wait(handle):
        return handle
    os.close(handle)
    return None


def _wait(handle: int) -> bool:
    """Was the lock won in time?"""
    import fcntl

    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(PAUSE_SECONDS)
        except OSError:
            return False
    return False

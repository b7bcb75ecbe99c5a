"""One file in one step: a temporary file beside the target, then a rename. One writer at a time.

A reader sees the old content or the new, never a part of it, and a write that fails leaves no trace. What a
killed run left behind is removed by the next one: whoever makes something temporary holds a lock on it,
which ends with the process.
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

STALE_SECONDS = 3600  # where locks do not work, leftovers are removed once they are older than this
MARK = ".svmcompile-"
LEFTOVER = re.compile(rf"\..+{re.escape(MARK)}[0-9a-f]{{16}}")
WAIT_SECONDS = 30.0
PAUSE_SECONDS = 0.005
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
PRIVATE = 0o600


class HalfDone(OSError):
    """Some files were replaced and could not be put back; the text says what to do."""


def write_file(path: Path, content: bytes | str) -> None:
    """Write one file atomically; does nothing if the content is there already.

    Missing parent folders are created, and an existing file's permission bits are kept. A link is
    followed: the file it points to is replaced.
    """
    data = as_bytes(content)
    with as_emit_error(path):
        target = real_path(path)
        if has_content(target, data):
            sweep(target)
        else:
            with replacing(path) as temporary:
                temporary.write_bytes(data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, which replaces it if the block ends well.

    Nobody else can read it before that, unless `path` is new: then it has the bits of a new file.
    """
    target = real_path(path)
    check_plain(target)
    with with_parents(target):
        temporary, handle = _create_beside(target)
        try:
            yield temporary
            sync_file(temporary)
            keep_access(target, temporary)
            temporary.replace(target)
        finally:
            remove_file(temporary)
            os.close(handle)
        sync_folder(target.parent)


def _create_beside(target: Path) -> tuple[Path, int]:
    """A temporary file, and the handle that locks it for as long as this process lives."""
    with locked(target.parent) as alone:
        _sweep(target, alone)
        temporary = free_name(target)
        mode = PRIVATE if target.exists() else 0o666
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW, mode)
        lock(handle)
    return temporary, handle


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
    except HalfDone as error:
        raise EmitError(f"{path}: {error}") from None
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


def check_path(path: str) -> str:
    """The path, if it stays inside: plain names with slashes between."""
    for part in path.split("/"):
        if part in ("", ".", "..") or any(character in "\\\0" for character in part):
            raise EmitError(f"{path!r} is not a path of plain file names: no . or .., nothing empty")
    return path


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


def keep_access(old: Path, new: Path) -> None:
    """Give `new` the owner and the permission bits of `old`, if that is a plain file."""
    try:
        status = old.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        return
    mode, made = stat.S_IMODE(status.st_mode), new.stat()
    if sys.platform != "win32" and (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.chown(new, status.st_uid, status.st_gid)
        except OSError:
            mode &= ~0o070  # the bits were meant for another group
    new.chmod(mode)


def free_name(path: Path) -> Path:
    """A hidden name beside `path` that nobody uses."""
    return path.parent / f".{path.name}{MARK}{secrets.token_hex(8)}"


def leftovers(path: Path) -> list[Path]:
    """What killed runs may have left beside `path`: everything `free_name` could have made."""
    start = f".{path.name}{MARK}"
    return [found for found in hidden_in(path.parent) if found.name.startswith(start)]


def hidden_in(folder: Path) -> list[Path]:
    """What killed runs may have left in a folder."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 (plain names are all that is needed, and cheap)
    except OSError:
        return []
    return [folder / name for name in names if LEFTOVER.fullmatch(name)]


def sweep(path: Path) -> None:
    """Remove temporary files of killed runs beside `path`."""
    if leftovers(path):
        with locked(path.parent) as alone:
            _sweep(path, alone)


def _sweep(path: Path, alone: bool) -> None:
    for leftover in leftovers(path):
        remove_abandoned_file(leftover, alone)


def remove_abandoned_file(path: Path, alone: bool) -> None:
    """Remove a plain file whose maker has ended; links and folders stay, and so do other users' files."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
        try:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode) and is_abandoned(handle, alone):
                path.unlink()
        finally:
            os.close(handle)


def is_abandoned(handle: int, alone: bool) -> bool:
    """Has the process that made this ended?

    While it lived it held the lock. One that has not locked yet is kept out by the lock of the folder,
    unless we are not `alone`.
    """
    status = os.fstat(handle)
    if sys.platform != "win32" and status.st_uid != os.geteuid():
        return False
    stale = time.time() - status.st_mtime > STALE_SECONDS
    won = lock(handle)
    return stale if won is None or not alone else won


def lock(handle: int) -> bool | None:
    """Lock what is open until it is closed: True if that succeeds, None where there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def remove_file(path: Path) -> None:
    """Remove a file or link if it can be removed; a folder stays."""
    with suppress(OSError):
        path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the folder's own lock, which leaves no file behind and ends with the process; was it to be had?

    Without lock support, or if another program keeps the lock for long, work goes on unlocked: each
    step is safe by itself, and the lock only keeps one writer from undoing another's.
    """
    handle = _acquire(folder)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _acquire(folder: Path) -> int | None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # always so on Windows
        return None
    end = time.monotonic() + WAIT_SECONDS
    while (won := lock(handle)) is False and time.monotonic() < end:
        time.sleep(PAUSE_SECONDS)
    if won:
        return handle
    os.close(handle)
    return None

"""The private cache: folders of built libraries and of work in progress that nobody else may enter.

A library that is loaded runs, so it is taken from a folder of our own alone: not one that others can write
to, nor a file of theirs. Scratch folders of killed runs are removed by the next one.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from svmcompile.errors import ToolchainError
from svmcompile.files import atomic
from svmcompile.files.removal import remove_tree
from svmcompile.files.staging import claimed, private_folder

OTHERS = 0o022  # who may write beside the owner


def cache_folder() -> Path:
    """Where built libraries are kept: $SVMCOMPILE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("SVMCOMPILE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "svmcompile"
    try:
        return Path.home() / ".cache" / "svmcompile"
    except RuntimeError:
        raise ToolchainError(
            "there is no home folder to keep built libraries in; set SVMCOMPILE_CACHE to a folder of yours"
        ) from None


def private_cache() -> Path:
    """The cache folder, made if it is missing; an error if others may write to it."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_private(folder)
    except OSError as error:
        raise ToolchainError(
            f"cannot build in {folder}: {error.strerror}; set SVMCOMPILE_CACHE to a writable folder"
        ) from None
    return folder


def find_kept(stem: str, end: str) -> Path | None:
    """What the cache has under a name, if it is whole: names end in the digest of the content.

    A library that was damaged would kill the process that loads it, so it is removed.
    """
    place = cache_folder()
    for path in sorted(place.glob(f"{stem}-*.{end}")):
        check_private(place)
        check_private(path)
        if path == kept_path(stem, end, path.read_bytes()):
            return path
        with suppress(OSError):  # another process may hold it, or be as quick
            path.unlink()
    return None


def kept_path(stem: str, end: str, content: bytes) -> Path:
    """Where the cache keeps a file."""
    return cache_folder() / f"{stem}-{hashlib.sha256(content).hexdigest()[:32]}.{end}"


def check_private(path: Path) -> None:
    """Refuse a folder or library that another user made, or could change."""
    if sys.platform == "win32":
        return
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise ToolchainError(
            f"{path}: belongs to another user, who could make you run any code; remove it, or set "
            "SVMCOMPILE_CACHE to a folder of yours"
        )
    if status.st_mode & OTHERS and not _only_in_group(status):
        raise ToolchainError(
            f"{path}: others may write to it and so make you run any code; run: chmod go-w {path}"
        )


def _only_in_group(status: os.stat_result) -> bool:
    """Whether the bits are for a group of one: on many systems each user has a group of the same number."""
    mode, own = stat.S_IMODE(status.st_mode), status.st_gid == status.st_uid
    return own and not mode & 0o002


@contextmanager
def scratch() -> Iterator[Path]:
    """A private folder for work in progress, in the cache where that can be; gone when the block ends."""
    try:
        place = private_cache()
    except ToolchainError:
        with tempfile.TemporaryDirectory(prefix="svmcompile-") as name:  # private as well
            yield Path(name)
        return
    with atomic.locked(place) as alone:
        _sweep(place, alone)
        opened = private_folder(atomic.free_name(place / "work"))
        folder = opened.__enter__()
        inner = folder / "work"  # the outer one is locked, and who writes a file locks its folder
        inner.mkdir(mode=0o700)
    try:
        yield inner
    finally:
        remove_tree(folder)
        opened.__exit__(None, None, None)


def _sweep(place: Path, alone: bool) -> None:
    for path in atomic.hidden_in(place):
        with suppress(OSError), claimed(path, alone) as is_free:
            if is_free:
                remove_tree(path)

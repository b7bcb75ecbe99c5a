"""Removing hidden folders that svmcompile made. A link is removed or left, never followed.

Folders are opened, and their entries removed by name inside what is open: whoever puts a link in the
place of a folder at the wrong moment gains nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Wanted = Callable[[str, os.stat_result], bool]  # may this file, named from the top, go?


def open_folder(path: Path | str, inside: int | None = None) -> int:
    """A handle of a folder; an error for anything else, also for a link to one."""
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, dir_fd=inside)


def remove_tree(path: Path, wanted: Wanted = lambda path, status: True) -> None:
    """Remove a folder with the files that may go; it stays where others are left, or removing fails."""
    if sys.platform == "win32":
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        handle = open_folder(path)
        try:
            _empty(handle, "", wanted)
        finally:
            os.close(handle)
        path.rmdir()


def _empty(handle: int, below: str, wanted: Wanted) -> None:
    for name in os.listdir(handle):
        with suppress(OSError):
            status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                if wanted(below + name, status):
                    os.unlink(name, dir_fd=handle)
                continue
            _open_up(name, handle, status)
            inner = open_folder(name, handle)
            try:
                _empty(inner, f"{below}{name}/", wanted)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=handle)


def _open_up(name: str, handle: int, status: os.stat_result) -> None:
    """A folder that was read-only must let its entries go."""
    if status.st_mode & 0o700 != 0o700:
        inner = open_folder(name, handle)
        try:
            os.fchmod(inner, stat.S_IMODE(status.st_mode) | 0o700)
        finally:
            os.close(inner)

"""Swapping the names of two folders in one step, where the system can."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # linux/fs.h
RENAME_SWAP = 2  # macOS sys/stdio.h
RENAMEAT2_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276}  # for C libraries without the function


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

"""locked: one writer at a time below a folder, where the system has such locks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT_SECONDS = 30.0
PAUSE_SECONDS = 0.005


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

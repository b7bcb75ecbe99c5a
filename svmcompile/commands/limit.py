"""A limit on the time of work that cannot keep half of what it does: it is stopped, nothing is written."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from svmcompile.errors import OptionError


@contextmanager
def limited(seconds: float | None, what: str) -> Iterator[None]:
    """Work within is interrupted, as by Ctrl-C, when the time is up; a call of LIBSVM ends first."""
    if seconds is None:
        yield
        return
    over, done, turn = threading.Event(), threading.Event(), threading.Lock()

    def stop() -> None:
        with turn:  # never after the work is done
            if not done.is_set():
                over.set()
                _thread.interrupt_main()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
        with turn:
            done.set()
    except KeyboardInterrupt:
        if not over.is_set():
            raise
        raise OptionError(
            f"{what} did not end within {seconds:g} s (--time-limit), and nothing was written; give it "
            "fewer rows (--rows 2000@0), or use --method auto --budget, which keeps the best it found"
        ) from None
    finally:
        done.set()
        timer.cancel()

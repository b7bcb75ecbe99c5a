"""A limit on the time of work that cannot keep half of what it does: it is stopped, nothing is written."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from svmcompile.errors import OptionError

ALARM = getattr(signal, "SIGALRM", signal.SIGINT)  # Windows has no alarms


class TimeIsUp(BaseException):
    """Raised within the work, which must not take it for an error of its own."""


@contextmanager
def limited(seconds: float | None, what: str, advice: str = "") -> Iterator[None]:
    """Work within is interrupted when the time is up; a call of LIBSVM ends first. For the main thread.

    `advice` names options that make the work less.
    """
    if seconds is None:
        yield
        return
    before = signal.signal(ALARM, _stop)
    cancel = _set_alarm(seconds)
    try:
        try:
            yield
        finally:
            cancel()
    except TimeIsUp:
        raise OptionError(
            f"{what} did not finish within {seconds:g} s (--time-limit), and nothing was written; "
            f"try {advice + ', ' if advice else ''}a longer limit, or --method auto with --budget, which "
            "keeps the best it found"
        ) from None
    finally:
        signal.signal(ALARM, before)


def _stop(*about: Any) -> None:
    raise TimeIsUp


def _set_alarm(seconds: float) -> Callable[[], Any]:
    """Sets it; what is given back cancels it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return lambda: signal.setitimer(signal.ITIMER_REAL, 0)
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
    return timer.cancel

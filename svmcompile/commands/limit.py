"""A limit on the time of work: a search ends with the best so far, other work writes nothing."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from svmcompile.errors import OptionError
from svmcompile.progress import Limit, TimeIsUp, kept_within

ALARM = getattr(signal, "SIGALRM", signal.SIGINT)  # Windows has no alarms
KEEPING = ("certified", "anytime")  # methods whose searches keep what they have found


@contextmanager
def limited(seconds: float | None, what: str, advice: str = "") -> Iterator[None]:
    """Work within is interrupted when the time is up; a call of LIBSVM ends first. For the main thread.

    A method that keeps what it has found ends its search instead, and goes on to what is written. `advice`
    names options that make the work less.
    """
    if seconds is None:
        yield
        return
    limit = Limit() if what in KEEPING else None
    before = signal.signal(ALARM, limit.stop if limit else _stop)
    cancel = _set_alarm(seconds)
    try:
        try:
            with kept_within(limit):
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

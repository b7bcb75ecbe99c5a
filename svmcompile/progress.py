"""Progress of long work: a stage says how far it is, and whoever runs it may show that, or limit its time.

Stages call `steps`; without `showing` around them nothing happens. A search that can end with what it has
found so far goes on in `attempt`: when the time of `--time-limit` is up, it is broken off there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol


class Advance(Protocol):
    """Moves on by so many steps, and may say what goes on now."""

    def __call__(self, done: int, now: str = "", /) -> None: ...


Show = Callable[[str, int], AbstractContextManager[Advance]]  # (what, total) -> moves on

_show: ContextVar[Show | None] = ContextVar("show", default=None)
_say: ContextVar[Callable[[str], None] | None] = ContextVar("say", default=None)


@contextmanager
def showing(show: Show, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Long work within is shown, and what it has to say beforehand."""
    token, other = _show.set(show), _say.set(say)
    try:
        yield
    finally:
        _show.reset(token)
        _say.reset(other)


class TimeIsUp(BaseException):
    """Raised within the work, which must not take it for an error of its own."""


@dataclass(slots=True)
class Limit:
    """Whether the time is up, and whether the work of this moment can be broken off."""

    is_up: bool = False
    can_stop: bool = False

    def stop(self, *about: Any) -> None:
        """The handler of an alarm."""
        self.is_up = True
        if self.can_stop:
            raise TimeIsUp


_limit: ContextVar[Limit | None] = ContextVar("limit", default=None)


@contextmanager
def kept_within(limit: Limit | None) -> Iterator[None]:
    """Searches within end when the time is up, if there is a limit."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def attempt(search: Callable[[], Any]) -> bool:
    """Runs a search that keeps what it finds; False if it was broken off, or the time was up before."""
    limit = _limit.get()
    if limit is None or limit.can_stop:  # one around it sees to that
        search()
        return True
    try:
        limit.can_stop = True
        if not limit.is_up:
            search()
    except TimeIsUp:
        pass
    finally:
        limit.can_stop = False
    return not limit.is_up


def time_is_up() -> bool:
    """Whether a search was broken off, or would be."""
    limit = _limit.get()
    return limit is not None and limit.is_up


def say(text: str) -> None:
    """Something to know while the work goes on, such as how long it takes."""
    found = _say.get()
    if found is not None:
        found(text)


@contextmanager
def steps(what: str, total: int) -> Iterator[Advance]:
    """Work of so many steps, 0 where that is not known; the function given tells that some are done."""
    show = _show.get()
    if show is None:
        yield lambda done, now="": None
        return
    with show(what, total) as advance:
        yield advance

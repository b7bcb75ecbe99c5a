"""Progress of long work: a stage says how far it is, and whoever runs it may show that.

Stages call `steps`; without `showing` around them nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol


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

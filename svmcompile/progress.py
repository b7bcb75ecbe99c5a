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


@contextmanager
def showing(show: Show) -> Iterator[None]:
    """Long work within is shown."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


@contextmanager
def steps(what: str, total: int) -> Iterator[Advance]:
    """Work of so many steps, 0 where that is not known; the function given tells that some are done."""
    show = _show.get()
    if show is None:
        yield lambda done, now="": None
        return
    with show(what, total) as advance:
        yield advance

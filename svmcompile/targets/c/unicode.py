"""What C must know of Unicode to cut text as Python does: ends of ranges of characters, lower case."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

LAST = 0x110000
HALVES = range(0xD800, 0xE000)  # of surrogate pairs, which are no characters
SIGMA, FINAL, PLAIN = 0x3A3, 0x3C2, 0x3C3  # capital, at the end of a word, elsewhere
Ends = NDArray[np.uint32]


def ends_of(is_in: Callable[[str], bool]) -> Ends:
    """Where characters begin to be some, and where they cease to be, in turn."""
    flags = np.array([at not in HALVES and is_in(chr(at)) for at in range(LAST)], dtype=np.int8)
    return np.flatnonzero(np.diff(flags, prepend=0, append=0)).astype(np.uint32)


@cache
def words() -> Ends:
    r"""What `\w` matches."""
    return ends_of(lambda one: one.isalnum() or one == "_")


@cache
def spaces() -> Ends:
    r"""What `\s` matches, and `split` splits at."""
    return ends_of(str.isspace)


@cache
def cased() -> Ends:
    """Letters after which a sigma is at the end of a word, if no letter follows."""
    return ends_of(lambda one: f"{one}\u03a3".lower().endswith("\u03c2"))


@cache
def cased_or_skipped() -> Ends:
    """The same, and what does not part a sigma from such a letter."""
    return ends_of(lambda one: f"A{one}\u03a3".lower().endswith("\u03c2"))


@cache
def _lower_cases() -> dict[int, int]:
    known = ((at, chr(at).lower()) for at in range(128, LAST) if at not in HALVES)
    return {at: ord(low) for at, low in known if len(low) == 1 and low != chr(at)}


def lower_cases(wanted: set[str] | None) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Characters beyond ASCII and their lower case, of all or of those that are wanted; never empty."""
    pairs = [(at, low) for at, low in _lower_cases().items() if wanted is None or chr(low) in wanted]
    found = np.array(pairs or [(LAST, LAST)], dtype=np.uint32)
    return found[:, 0].copy(), found[:, 1].copy()

"""Text as rows of counts: what tokens and terms a text has, and which feature each term is.

A `Vectorizer` counts as scikit-learn's CountVectorizer and HashingVectorizer do. Words are runs of
characters that Python's `\\w` matches, lower case is Python's: both as Unicode has them. Generated C counts
the same, from tables of this Python's version of Unicode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError

Analyzer = Literal["word", "char", "char_wb"]
SPACES = re.compile(r"\s\s+")
MOST_TOKENS, MOST_SHORTEST = 64, 1000  # of a term, and characters of its shortest word
SAMPLE_TERMS, MOST_SAMPLE = 12, 400  # of a text for tests: its terms, and its characters
SOME_WORDS = "some words that a text may have and others may not: one two three many".split()
MOST_CELLS = 1 << 27  # of rows with all their zeros


@dataclass(frozen=True)
class Vectorizer:
    """How text becomes counts of terms: n-grams of words, of characters, or of characters within words."""

    analyzer: Analyzer
    lowercase: bool
    shortest: int  # characters of a word; shorter ones are no tokens
    fewest: int  # tokens or characters of a term
    most: int
    binary: bool  # 1 for every term that occurs, however often
    terms: tuple[str, ...] = ()  # in the order of their features; none where terms are hashed
    stop_words: tuple[str, ...] = ()
    hashed: int = 0  # features that terms are hashed to
    signed: bool = False  # a hash below zero counts down

    @property
    def width(self) -> int:
        """How many features it gives."""
        return self.hashed or len(self.terms)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.terms)}

    @cached_property
    def _words(self) -> re.Pattern[str]:
        return re.compile(rf"\w{{{self.shortest},}}")

    @cached_property
    def _stopped(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    def terms_of(self, text: str) -> Iterator[str]:
        """Every term of a text, as often as it occurs."""
        text = text.lower() if self.lowercase else text
        if self.analyzer == "word":
            tokens = [token for token in self._words.findall(text) if token not in self._stopped]
            yield from _slices(tokens, self.fewest, self.most, " ".join)
        elif self.analyzer == "char":
            yield from _slices(SPACES.sub(" ", text), self.fewest, self.most, str)
        else:
            for word in text.split():
                padded = f" {word} "
                yield from _slices(padded, self.fewest, min(self.most, len(padded) - 1), str)
                if len(padded) <= self.most:
                    yield padded  # a short word counts once

    def entries(self, text: str) -> dict[int, int]:
        """The count of each feature that occurs; hashes of both signs may add up to zero."""
        found: dict[int, int] = {}
        for term in self.terms_of(text):
            place, count = self._hash(term) if self.hashed else (self._places.get(term, -1), 1)
            if place >= 0:
                found[place] = 1 if self.binary else found.get(place, 0) + count
        return found

    def _hash(self, term: str) -> tuple[int, int]:
        """The feature of a term and its sign, as scikit-learn's FeatureHasher has them."""
        from sklearn.utils import murmurhash3_32

        value = int(murmurhash3_32(term.encode()))
        return abs(value) % self.hashed, -1 if self.signed and value < 0 else 1


def _slices(items: Any, fewest: int, most: int, joined: Any) -> Iterator[str]:
    for size in range(fewest, min(most, len(items)) + 1):
        for at in range(len(items) - size + 1):
            yield joined(items[at : at + size])


@dataclass(frozen=True)
class Text:
    """One vectorizer or several, whose features stand side by side."""

    parts: tuple[Vectorizer, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def problems(self) -> Iterator[str]:
        """What no text can be counted by, in words."""
        for part in self.parts:
            sizes = 1 <= part.fewest <= part.most <= MOST_TOKENS and 1 <= part.shortest <= MOST_SHORTEST
            if not sizes or not 0 <= part.hashed < 1 << 31 or bool(part.hashed) == bool(part.terms):
                yield f"text is counted by {part.fewest} to {part.most} tokens, {part.hashed} hashes"
            if len({*part.terms}) != len(part.terms):
                yield "a term of the vocabulary stands in it twice"
            if not all(map(is_unicode, (*part.terms, *part.stop_words))):
                yield "a term of the vocabulary is not valid Unicode"

    def counts(self, texts: Iterable[Any]) -> Any:
        """The counts of many texts, as a scipy matrix in compressed rows."""
        from scipy.sparse import csr_matrix

        starts, places, values = [0], list[int](), list[int]()
        for text in as_texts(texts):
            first = 0
            for part in self.parts:
                found = part.entries(text)
                order = sorted(found)
                places += [first + place for place in order]
                values += [found[place] for place in order]
                first += part.width
            starts.append(len(places))
        shape = (len(starts) - 1, self.width)
        return csr_matrix((np.array(values, np.float64), places, starts), shape=shape)

    def rows(self, texts: Iterable[Any]) -> NDArray[np.float64]:
        """The counts with all their zeros."""
        found = self.counts(texts)
        if found.shape[0] * found.shape[1] > MOST_CELLS:
            raise OptionError(
                f"{found.shape[0]} texts of {found.shape[1]} features take more than {MOST_CELLS >> 17} MB "
                "with all their zeros; pass fewer texts"
            )
        return np.asarray(found.toarray())

    def chunks(self, texts: Any) -> Iterator[slice]:
        """Parts of many texts whose rows take little memory."""
        step = max(1, MOST_CELLS // 8 // max(1, self.width))
        return (slice(at, at + step) for at in range(0, len(texts), step))

    def samples(self, count: int) -> list[str]:
        """Texts that have some of its terms, for tests: in capitals and with marks between them."""
        part = self.parts[0]
        terms = [term for term in part.terms if "\0" not in term] or SOME_WORDS
        step = max(1, len(terms) // (count * SAMPLE_TERMS))
        texts = []
        for at in range(count):
            chosen = terms[at * step :: count * step][:SAMPLE_TERMS]
            texts.append(", ".join(one.upper() if at % 2 else one for one in [*chosen, *chosen[:2]]))
        return [text[:MOST_SAMPLE] for text in texts]


NO_TEXT = Text()


class Texts:
    """Texts as C takes them."""

    def __init__(self, contents: list[bytes]) -> None:
        self.contents = contents

    @classmethod
    def of(cls, data: Iterable[Any]) -> Texts:
        return cls([text.encode() for text in as_texts(data)])

    def __len__(self) -> int:
        return len(self.contents)

    def __getitem__(self, part: slice) -> Texts:
        return Texts(self.contents[part])


def is_text(data: Any) -> bool:
    """Whether data is a list, an array or a column of texts."""
    if isinstance(data, (str, bytes)):
        raise OptionError("expected many texts, got one; pass it as [text]")
    if hasattr(data, "columns") or hasattr(data, "tocsr") or getattr(data, "ndim", 1) != 1:
        return False
    first = next(iter(data), None) if isinstance(data, Iterable) else None
    return isinstance(first, (str, bytes))


def as_texts(data: Iterable[Any]) -> list[str]:
    """Texts as a list; bytes are UTF-8."""
    found = [str(one, "utf-8", "replace") if isinstance(one, bytes) else one for one in data]
    for at, one in enumerate(found):
        if not isinstance(one, str):
            raise OptionError(f"text {at} is {type(one).__name__}, not text; leave it out or fill it in")
        if not is_unicode(one):
            raise OptionError(f"text {at} is not valid Unicode: it holds half of a surrogate pair")
    return found


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: surrogates cannot."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False

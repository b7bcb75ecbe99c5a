"""Text before an SVM: vectorizers become counts of terms, and a front that weighs them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from svmcompile.data.text import Analyzer, Text, Vectorizer
from svmcompile.errors import UnsupportedError
from svmcompile.model import front
from svmcompile.model.front import IDENTITY, Front
from svmcompile.read.kernels import MAX_FEATURES
from svmcompile.read.sklearn.fitted import Fitted

# Runs of word characters, of so many at least: (?u)\b\w\w+\b and what means the same.
WORDS = re.compile(r"(?:\(\?u\))?(?:\\b)?((?:\\w)*)\\w(?:\+|\{(\d{1,3}),\})(?:\\b)?")
ANALYZERS: dict[str, Analyzer] = {"word": "word", "char": "char", "char_wb": "char_wb"}
NUMBERS = ("int64", "float64")
LEAST = float(np.finfo(np.float32).tiny)  # of a norm: that of a text without known terms is zero
WAY_OUT = "vectorize the text yourself, and compile the steps behind it"
# Parameters that would have to run code or change characters, and the one value that does not.
IDLE = {"input": "content", "strip_accents": None, "preprocessor": None, "tokenizer": None}


def count_vectorizer(fitted: Fitted) -> Front:
    """Counts of the terms of a vocabulary."""
    fitted.require("vocabulary_")
    return _counted(_vectorizer(fitted, terms=_terms(fitted)))


def tfidf_vectorizer(fitted: Fitted) -> Front:
    """The same, weighed."""
    counted = count_vectorizer(fitted)
    inner = Fitted(fitted.get("_tfidf"), "TfidfTransformer", fitted.where)
    return counted.then(tfidf_transformer(inner))


def hashing_vectorizer(fitted: Fitted) -> Front:
    """Counts of terms by their hashes, divided by their norm."""
    width = fitted.count("n_features")
    hashed = _vectorizer(fitted, hashed=width, signed=fitted.flag("alternate_sign"))
    return _counted(hashed).then(_norm(fitted))


def tfidf_transformer(fitted: Fitted) -> Front:
    """Counts or their logarithms, times the weight of each term, divided by their norm."""
    found = front.log_counts() if fitted.flag("sublinear_tf") else IDENTITY
    if fitted.flag("use_idf"):
        fitted.require("idf_")
        factor = fitted.numbers("idf_", 1)
        found = found.then(front.scale(np.zeros_like(factor), factor))
    return found.then(_norm(fitted))


def _norm(fitted: Fitted) -> Front:
    norm = fitted.get("norm")
    if norm is None:
        return IDENTITY
    if norm not in ("l1", "l2"):
        raise fitted.damaged(f"norm is {norm!r:.40}, none of l1, l2 and None")
    return front.normalize(norm, LEAST)


def _counted(vectorizer: Vectorizer) -> Front:
    text = Text((vectorizer,))
    return Front(takes=text.width, gives=text.width, text=text)


def _vectorizer(fitted: Fitted, **own: Any) -> Vectorizer:
    """How the text is cut into terms; whatever runs Python code is refused."""
    for name, value in IDLE.items():
        if fitted.get(name) != value:
            raise UnsupportedError(
                f"{fitted.place}: {name}={fitted.get(name)!r:.60} cannot be compiled; fit it with "
                f"{name}={value!r}, or {WAY_OUT}"
            )
    analyzer = fitted.get("analyzer")
    if not isinstance(analyzer, str) or analyzer not in ANALYZERS:
        raise UnsupportedError(
            f"{fitted.place}: analyzer={analyzer!r:.60} cannot be compiled; fit it with "
            f"{', '.join(ANALYZERS)}, or {WAY_OUT}"
        )
    number = fitted.get("dtype")  # a type or its name
    kind = number if isinstance(number, str) else getattr(number, "__name__", type(number).__name__)
    if kind not in NUMBERS:
        raise UnsupportedError(f"{fitted.place}: dtype={kind:.40}; fit it with {' or '.join(NUMBERS)}")
    fewest, most = _range(fitted)
    is_word = analyzer == "word"
    shortest = _shortest(fitted) if is_word else 1
    words = _stop_words(fitted) if is_word else ()
    cut = (ANALYZERS[analyzer], fitted.flag("lowercase"), shortest, fewest, most, fitted.flag("binary"))
    found = Vectorizer(*cut, stop_words=words, **own)
    for problem in Text((found,)).problems():
        raise UnsupportedError(f"{fitted.place}: {problem}; fit it with another vocabulary or ngram_range")
    return found


def _range(fitted: Fitted) -> tuple[int, int]:
    value = fitted.get("ngram_range")
    try:
        fewest, most = (int(one) for one in value)
    except (TypeError, ValueError):
        raise fitted.damaged(f"ngram_range is {value!r:.40}") from None
    return fewest, most


def _shortest(fitted: Fitted) -> int:
    """The characters that a word has at least."""
    pattern = fitted.get("token_pattern")
    found = WORDS.fullmatch(pattern) if isinstance(pattern, str) else None
    if found is None or (found[2] and not int(found[2])):
        raise UnsupportedError(
            rf"{fitted.place}: token_pattern={pattern!r:.80} cannot be compiled; fit it with the default, "
            rf"with (?u)\b\w+\b or another number of \w, or {WAY_OUT}"
        )
    return len(found[1]) // 2 + int(found[2] or 1)


def _stop_words(fitted: Fitted) -> tuple[str, ...]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    given = fitted.get("stop_words")
    words = ENGLISH_STOP_WORDS if given == "english" else given
    if not isinstance(words, (list, tuple, set, frozenset, type(None))):
        raise fitted.damaged(f"stop_words is {words!r:.40}")
    if not all(isinstance(word, str) for word in words or ()):
        raise fitted.damaged("stop_words holds something else than text")
    return tuple(sorted({str(word) for word in words or ()}))


def _terms(fitted: Fitted) -> tuple[str, ...]:
    """The vocabulary, in the order of the features."""
    found = fitted.get("vocabulary_")
    if not isinstance(found, dict) or not all(isinstance(term, str) for term in found):
        raise fitted.damaged("vocabulary_ is not a dictionary of text")
    if not 0 < len(found) <= MAX_FEATURES:
        raise UnsupportedError(f"{fitted.place}: has {len(found)} terms, not 1 to {MAX_FEATURES}")
    try:
        places = {int(place): str(term) for term, place in found.items()}
    except (TypeError, ValueError):
        raise fitted.damaged("vocabulary_ has places that are not whole numbers") from None
    if sorted(places) != list(range(len(found))):
        raise fitted.damaged(f"vocabulary_ does not number its terms from 0 to {len(found) - 1}")
    return tuple(places[place] for place in range(len(found)))


VECTORIZERS = {
    "CountVectorizer": count_vectorizer,
    "TfidfVectorizer": tfidf_vectorizer,
    "HashingVectorizer": hashing_vectorizer,
}

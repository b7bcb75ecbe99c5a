# ruff: noqa: RUF001
"""Texts in several scripts, strings of odd characters, and vectorizers of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

TEXTS = [
    "The quick brown fox, and the dog",
    "A café in Straße 12",
    "ΣΊΣΥΦΟΣ Και ο ΟΔΥΣΣΕΑΣ",
    "ЖУК и жуки x_1",
] * 4
LABELS = np.arange(16) % 4
ODD = "aB cé\u0301ß İIıΣσςΑ.'Жж_1\n\t\u00a0\u2028\x1c日\U00010400K\0😀"
ANY_TEXT = st.text(alphabet=ODD, max_size=40) | st.text(max_size=40)
KINDS = {
    "default": CountVectorizer(),
    "one-character": CountVectorizer(token_pattern=r"(?u)\b\w+\b", binary=True),
    "three-characters": TfidfVectorizer(token_pattern=r"\w{3,}", norm="l1"),
    "cased": TfidfVectorizer(lowercase=False, norm=None, use_idf=False),
    "words": TfidfVectorizer(ngram_range=(1, 3), stop_words=["the", "и"], sublinear_tf=True),
    "english": TfidfVectorizer(ngram_range=(2, 2), stop_words="english"),
    "characters": TfidfVectorizer(analyzer="char", ngram_range=(1, 4)),
    "in-words": CountVectorizer(analyzer="char_wb", ngram_range=(2, 6)),
    "hashed": HashingVectorizer(n_features=37, ngram_range=(1, 2)),
    "hashed-counts": HashingVectorizer(n_features=64, alternate_sign=False, norm=None, stop_words=["fox"]),
    "hashed-characters": HashingVectorizer(
        n_features=50, analyzer="char_wb", ngram_range=(3, 5), binary=True
    ),
}

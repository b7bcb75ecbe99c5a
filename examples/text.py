"""Text into labels: pipelines of every vectorizer, compiled to C that takes UTF-8.

    python examples/text.py             10,000 texts for each pipeline
    python examples/text.py 1000        so many texts
    python examples/text.py --quick     100 texts of few words, by pipelines that learnt from few

Made-up texts of 30,000 words, as frequent as words are; each kind of text prefers some of them. The table
holds C (f32, portable profile) against scikit-learn: labels that differ, the worst error of a decision
value, the size of the C, and the time for a text of 150 words, alone.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc

LENGTH = 150
KINDS = ("sports", "weather", "markets")
LETTERS = "aaabcdeeeefghiiijklmnoooprstuuvyäéßñжлиωσ"  # noqa: RUF001
PIPELINES: dict[str, tuple[Any, ...]] = {
    "TfidfVectorizer, LinearSVC": (TfidfVectorizer(), LinearSVC()),
    "TfidfVectorizer of two words, LinearSVC": (
        TfidfVectorizer(ngram_range=(1, 2), max_features=50_000, sublinear_tf=True), LinearSVC(),
    ),
    "CountVectorizer, SVC(kernel='linear')": (CountVectorizer(stop_words="english"), SVC(kernel="linear")),
    "characters, SelectKBest, LinearSVC": (
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)), SelectKBest(k=5000), LinearSVC(),
    ),
    "HashingVectorizer, SGDClassifier": (
        HashingVectorizer(n_features=1 << 18), SGDClassifier(random_state=0),
    ),
    "TfidfVectorizer of 500 words, SVC": (TfidfVectorizer(max_features=500), SVC()),
}  # fmt: skip


def make_texts(count: int, seed: int, known: int) -> tuple[list[str], list[str]]:
    """Texts and their kinds; words of a kind are ten times as frequent in its texts."""
    letters, chosen = random.Random(0), np.random.default_rng(seed)
    words = np.array(["".join(letters.choices(LETTERS, k=letters.randrange(2, 10))) for _ in range(known)])
    frequency = 1.0 / np.arange(10, known + 10)
    texts, labels = [], []
    for at in range(count):
        kind = at % len(KINDS)
        own = np.where(np.arange(known) % 40 == kind, 10.0, 1.0) * frequency
        some = words[chosen.choice(known, size=LENGTH, p=own / own.sum())].tolist()
        texts.append(
            " ".join(word.capitalize() if i % 9 == 0 else word for i, word in enumerate(some)) + "."
        )
        labels.append(KINDS[kind])
    return texts, labels


def alone(predict: Any, texts: list[str]) -> float:
    """Microseconds for a text."""
    start = time.perf_counter()
    for text in texts:
        predict([text])
    return (time.perf_counter() - start) / len(texts) * 1e6


def main() -> None:
    quick, asked = "--quick" in sys.argv, [word for word in sys.argv[1:] if word.isdigit()]
    count, known = int(asked[0]) if asked else 100 if quick else 10_000, 3_000 if quick else 30_000
    texts, labels = make_texts(known // 30, 0, known)
    unseen, _ = make_texts(count, 1, known)
    print(
        "| pipeline | features | texts | labels differ | worst error | C | alone, C | alone, scikit-learn |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, steps in PIPELINES.items():
        model = make_pipeline(*steps).fit(texts, labels)
        program = sc.compile(model)
        code = sc.emit(program, "c", "text", profile="portable")["text.c"]
        fast = sc.build(model, profile="portable")
        differ = int((fast.predict(unseen) != model.predict(unseen)).sum())
        error = np.abs(fast.decision_function(unseen) - model.decision_function(unseen)).max()
        times = [alone(one.predict, unseen[:200]) for one in (fast, model)]
        print(
            f"| {name} | {program.n_features:,} | {count:,} | {differ} | {error:.1e} | "
            f"{len(code) / 1e6:.1f} MB | {times[0]:.0f} us | {times[1]:.0f} us |"
        )


if __name__ == "__main__":
    main()

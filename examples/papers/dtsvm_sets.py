"""The sets of "Tree Decomposition for Large-Scale SVM Problems" and the figures published for them.

Four sixths of the rows to train with, one to validate with, one to test with, as published; at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from common import dense
from numpy.typing import NDArray
from sets import load
from sklearn.datasets import load_digits

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Paper:
    """One set as the paper has it (pairs: 1A1 and 1AO), None where it says nothing."""

    ceiling: int  # Tables 7 and 11
    pure: float  # percent
    vectors: tuple[int, int]  # Tables 3 and 5: DTSVM's total
    vectors_libsvm: tuple[int, int] | None
    test_seconds: tuple[float, float]  # Tables 4 and 6
    test_seconds_libsvm: tuple[float, float] | None
    test_seconds_cart: float


PAPER = {
    "pendigits": Paper(1500, 0, (7694, 1775), (8073, 1210), (0.047, 0.062), (0.265, 0.328), 0.063),
    "letter": Paper(24000, 0, (183450, 16200), (183450, 16201), (3.844, 7.344), (4.078, 7.328), 0.125),
    "shuttle": Paper(1500, 98.42, (181, 195), (1134, 266), (0.0, 0.0), (0.187, 0.25), 0.36),
    "poker": Paper(1500, 0, (88935, 42775), (140990, 39024), (0.406, 1.125), (7.406, 17.313), 0.157),
    "adult": Paper(1500, 15.76, (8975, 8975), (10451, 10451), (0.219, 0.219), (8.453, 8.453), 0.204),
    "kdd": Paper(1500, 97.35, (1638, 1580), (2287, 1566), (0.063, 0.063), (7.344, 19.875), 2.187),
    "forest": Paper(1500, 5.55, (140008, 114958), None, (2.485, 3.859), None, 0.109),
}
SOURCES = {"kdd": "kddcup10", "forest": "covtype"}  # files of another name
BOUNDS = {  # Tables 13 and 14: T1, T2, S, R, R over leaves; 1A1 and 1AO
    "pendigits": ((1699, 55, 74, 133, 17), (5769, 55, 326, 450, 56)),
    "shuttle": ((1152495, 110, 114786, 75630, 5402), (2756183, 110, 593967, 180990, 12928)),
    "adult": ((202354, 481, 16422, 13599, 257), (202354, 481, 16422, 13599, 257)),
    "poker": ((12253, 139, 370, 874, 49), (48893, 139, 2328, 3486, 194)),
    "kdd": ((1297678, 287, 100227, 70796, 2212), (64238, 287, 5089, 3505, 110)),
}
LETTER_SECONDS = {
    "1a1": {1500: 633, 6000: 45, 24000: 90},
    "1ao": {1500: 2730, 6000: 178, 24000: 373},
}  # Table 9
LETTER_ACCURACY = {  # Table 10
    "1a1": {1500: 95.35, 6000: 96.61, 24000: 97.60},
    "1ao": {1500: 95.71, 6000: 96.91, 24000: 97.66},
}
ATTACKS = {  # KDD's five classes; everything else is a denial of service
    "normal": "normal",
    **dict.fromkeys(("ipsweep", "nmap", "portsweep", "satan"), "probe"),
    **dict.fromkeys(("buffer_overflow", "loadmodule", "perl", "rootkit"), "u2r"),
    **dict.fromkeys(
        ("ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"), "r2l"
    ),
}


@dataclass(frozen=True, eq=False)
class Sixths:
    """Training, validation and test rows; labels are class numbers."""

    X: NDArray[Any]
    y: Indices
    held_X: NDArray[Any]
    held_y: Indices
    test_X: NDArray[Any]
    test_y: Indices
    n_classes: int


def sixths(name: str, seed: int, most: int = 0) -> Sixths:
    """The set of that name, or `most` of its rows by lot, divided at random."""
    X, y = rows(source(name))
    return divided(X, y, seed, most)


def divided(X: NDArray[Any], y: Indices, seed: int, most: int = 0) -> Sixths:
    order = np.random.default_rng(seed).permutation(len(y))[: most or None]
    _, y = np.unique(y[order], return_inverse=True)  # rare classes may be gone
    X, y = X[order], y.astype(np.intp)
    (a, b), n_classes = (len(y) * 4 // 6, len(y) * 5 // 6), int(y.max()) + 1
    return Sixths(X[:a], y[:a], X[a:b], y[a:b], X[b:], y[b:], n_classes)


def source(name: str) -> str:
    """The file of a set."""
    return SOURCES.get(name, name)


@lru_cache(maxsize=1)
def rows(source: str) -> tuple[NDArray[Any], Indices]:
    """All rows of a set, and their classes as numbers."""
    if source == "digits":  # scikit-learn's own
        X, y = load_digits(return_X_y=True)
        return X, y.astype(np.intp)
    found = load(source)
    X, labels = dense(found["X"]), np.asarray(found["y"])
    if "X_test" in found:
        X = np.concatenate([X, dense(found["X_test"])])
        labels = np.concatenate([labels, np.asarray(found["y_test"])])
    if "class_names" in found:
        labels = np.array([ATTACKS.get(str(name), "dos") for name in found["class_names"]])[labels]
    return X, np.unique(labels, return_inverse=True)[1].astype(np.intp)

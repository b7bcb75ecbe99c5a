"""How long a method takes, roughly, said before it begins: times of some sizes, scaled to this machine.

The work of fitting is taken as rows * vectors * (features + 20): a kernel value costs its features and an
exponential. Times grow with a power of it. Right within a factor of two or three on a machine that is idle.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.registry import method
from svmcompile.model.svm import SVM
from svmcompile.progress import say

LEAST = 5.0  # seconds that are worth a word
FEW_ROWS = 2000  # are often enough to fit to
EXPONENTIAL = 20  # what one costs, in features
PROBE = 9e-3  # seconds of the probe where times were taken
PROBE_ROWS, PROBE_FEATURES, TURNS = 600, 64, 3


@dataclass(frozen=True, slots=True)
class Law:
    """Seconds for 3e7 units of work, and how they grow; rows made up, and rows used at most."""

    seconds: float
    power: float
    made_up: int = 0
    most: int = 50_000
    per_pair: bool = False  # every pair of classes is fitted apart

    def predict(self, svm: SVM, rows: int) -> float:
        used = min(rows, self.most) + self.made_up
        pairs = max(1, svm.n_sums) if self.per_pair else 1
        work = used * svm.n_vectors * (svm.kernel_width + EXPONENTIAL) * pairs
        return float(self.seconds * (work / 3e7) ** self.power)


LAWS = {
    "anytime": Law(0.5, 0.6, made_up=1000, most=2000),
    "certified": Law(0.7, 0.65, made_up=2000, most=4000),
    "linear": Law(0.007, 1.0, made_up=30_000, most=20_000),  # mostly what every program needs at its end
    "metric-tree": Law(1.1, 0.7),
    "h1-tree": Law(5.0, 0.6, per_pair=True),
    "proto": Law(3.5, 0.3, made_up=30_000, most=60_000),
    "reduced-set": Law(0.06, 0.9, made_up=4000, most=8000),
    "sv-tree": Law(1.1, 0.8, made_up=3000, per_pair=True),
    "dtsvm": Law(0.25, 0.9),
}


def announce(svm: SVM, name: str, rows: int) -> None:
    """Says how long a method will take, and what makes it quicker, if that is long."""
    law = LAWS.get(name)
    if law is None or svm.is_sparse:
        return
    if law.predict(svm, rows) < LEAST / 10:  # not even ten times that is worth a word
        return
    seconds = law.predict(svm, rows) * speed()
    if seconds >= LEAST:
        ways = quicker(name, f"--rows {FEW_ROWS}@0" if rows > FEW_ROWS else "")
        say(f"{name}: about {duration(seconds)}{ways and f'; quicker with {ways}'}")


def quicker(name: str, rows: str = "") -> str:
    """Options that make a method less work, and what is said of rows."""
    ways = [f"--set {one}" for one in method(name).quicker]
    return " or ".join([*ways, *filter(None, [rows])])


def speed() -> float:
    """How many times as long as where times were taken this machine needs for kernel values."""
    rows = np.random.default_rng(0).random((PROBE_ROWS, PROBE_FEATURES))
    times = []
    for _ in range(TURNS):
        begin = time.perf_counter()
        np.exp(-(rows @ rows.T)).sum()
        times.append(time.perf_counter() - begin)
    return min(times) / PROBE


def duration(seconds: float) -> str:
    """A time to one digit: 8 s, 40 s, 3 min, 2 h."""
    unit, size = ("s", 1) if seconds < 90 else ("min", 60) if seconds < 5400 else ("h", 3600)
    count = seconds / size
    step = 10 ** int(np.floor(np.log10(max(count, 1))))
    return f"{max(1, round(count / step)) * step} {unit}"

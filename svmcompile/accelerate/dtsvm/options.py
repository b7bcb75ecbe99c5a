"""Options of DTSVM, trained or in front of a given SVM, and what of them makes no sense."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.accelerate.options import check_options, option
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import KERNEL_KINDS

MODES = ("1a1", "1ao")
KERNELS = tuple(kind for kind in KERNEL_KINDS if kind != "precomputed")


@dataclass(frozen=True, slots=True, init=False)
class Numbers:
    """One number or several to try: `10`, `1,10,100`, or powers of ten `0.1..1e5`."""

    values: tuple[float, ...]

    def __init__(self, given: Any) -> None:
        object.__setattr__(self, "values", _numbers(given))

    def __str__(self) -> str:
        return ",".join(f"{value:g}" for value in self.values)


def _numbers(given: Any) -> tuple[float, ...]:
    if isinstance(given, Numbers):
        return given.values
    try:
        if isinstance(given, str):
            found = [number for part in given.split(",") for number in _range(part)]
        else:
            found = [float(value) for value in (given if isinstance(given, Iterable) else (given,))]
    except (TypeError, ValueError):
        found = []
    if not found or not np.isfinite(found).all():
        raise OptionError(f"{given!r} is not a list of numbers; write 10, or 1,10,100, or 0.1..1e5")
    return tuple(dict.fromkeys(found))


def _range(part: str) -> list[float]:
    ends = re.split(r"\.\.(?=[^.])", part.strip())
    if len(ends) == 1:
        return [float(part)]
    low, high = (np.log10(float(end)) for end in ends)
    return [float(f"1e{power}") for power in range(round(low), round(high) + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """A tree with an SVM in every mixed leaf; ceiling and parameters chosen on held-out rows."""

    mode: str = option(
        "1a1", "1a1: the pairs of a leaf's classes vote; 1ao: each class against the others.",
        among=MODES,
    )  # fmt: skip
    kernel: str = option("rbf", "Kernel of the SVMs in the leaves.", among=KERNELS)
    C: Numbers = option(Numbers("1..1e3"), "Values of C to try, as 10, 1,10,100 or 0.1..1e5.", above=0)
    gamma: Numbers = option(Numbers("0.01..10"), "Values of the kernel's gamma to try, likewise.", above=0)
    coef0: float = option(0.0, "The constant in polynomial and sigmoid kernels.")
    degree: int = option(3, "The degree of a polynomial kernel.", least=1)
    ceiling: int = option(1500, "Split leaves that hold more rows than this.", least=1)
    growth: int = option(4, "Each further ceiling to try is this many times the one before.", least=2)
    max_ceiling: int = option(0, "Try no ceiling above this; 0 means up to all rows.", least=0)
    top: int = option(5, "How many of the best parameters to try again with larger ceilings.", least=1)
    gain: float = option(
        0.005, "Go on to larger ceilings only while accuracy gains this much.", least=0, infinite=True
    )
    validation: float = option(0.2, "Share of the rows held out to choose with.", above=0, below=1)
    refit: bool = option(True, "Train the parameters that were chosen again on all rows.")
    scale: bool = option(True, "Scale features to 0..1 before the kernel.")
    min_leaf: int = option(20, "Join mixed leaves with fewer rows to the leaf beside them.", least=0)
    iterations: int = option(
        0, "Iterations of LIBSVM for each problem at most; 0 means 100 times its rows, at least 100,000.",
        least=0,
    )  # fmt: skip
    risk: bool = option(False, "Report the terms of the paper's error bound: R, T1, T2.")
    seed: int = option(0, "Seed of the holdout, and of ties between splits.", least=0)
    jobs: int = option(
        0, "Processes to train with; 0 leaves it to joblib, -1 takes all cores.", least=-1, recorded=False
    )
    checkpoint: str = option("", "Folder for finished leaves, to resume training.", recorded=False)

    def check(self) -> None:
        """Refuses what makes no sense."""
        if self.kernel not in KERNELS:
            raise OptionError(
                f"dtsvm: kernel={self.kernel!r} cannot be trained; known: {', '.join(KERNELS)}"
            )
        check_options("dtsvm", self)


DELTAS = Numbers("0,0.2,0.5")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseOptions:
    """An axis-parallel tree with a small SVM of the same kernel in every mixed leaf."""

    mode: str = option(
        "reuse", "reuse: leaves use the SVM's kernel and C; search: try values around them, for given "
        "labels.",
        among=("reuse", "search"),
    )  # fmt: skip
    labels: str = option(
        "model", "What leaves learn: the SVM's predictions, or the labels of the data.",
        among=("model", "given"),
    )  # fmt: skip
    target: float = option(
        0.98, "Agreement with the original that the choice of ceiling and overlap aims at.",
        above=0, below=1,
    )  # fmt: skip
    confidence: float = option(
        0.8, "Confidence with which held-out rows must prove the target.", above=0, below=1
    )
    ceiling: int = option(
        0, "Split leaves with more rows; 0 picks the cheapest of 100, 200, 400, ... that reaches the "
        "target.",
        least=0,
    )  # fmt: skip
    delta: Numbers = option(
        DELTAS, "Overlaps of training cells to try, in standard deviations of a feature.", least=0
    )
    C: float = option(0.0, "C of the SVMs in the leaves; 0 means the SVM's largest coefficient.", least=0)
    validation: float = option(0.2, "Share of the rows held out to choose with.", above=0, below=1)
    min_leaf: int = option(20, "Join mixed leaves with fewer rows to the leaf beside them.", least=0)
    iterations: int = option(
        0, "Iterations of LIBSVM for each problem at most; 0 means 100 times its rows, at least 100,000.",
        least=0,
    )  # fmt: skip
    seed: int = option(0, "Seed of the holdout, and of ties between splits.", least=0)
    jobs: int = option(
        0, "Processes to train with; 0 leaves it to joblib, -1 takes all cores.", least=-1, recorded=False
    )

    def check(self) -> None:
        """Refuses what makes no sense."""
        check_options("dtsvm", self)
        if self.mode == "search" and (self.ceiling or self.C):
            raise OptionError("dtsvm: mode=search finds ceiling and C itself; leave them out")

"""Options of DTSVM, trained or in front of a given SVM, and what of them makes no sense."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmcompile.accelerate.registry import check_options
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import KERNEL_KINDS

MODES = ("1a1", "1ao")
HOW = {"recorded": False}  # options that say how the work is done, not what comes out
KNOWN = {"mode": ("reuse", "search"), "labels": ("model", "given")}  # in front of a given SVM


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
        raise OptionError(f"{given!r} is no list of numbers; write 10, or 1,10,100, or 0.1..1e5")
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

    mode: str = "1a1"  # 1a1: pairs of classes vote; 1ao: each class against the others
    kernel: str = "rbf"  # linear | poly | rbf | sigmoid
    C: Numbers = Numbers("1..1e3")
    gamma: Numbers = Numbers("0.01..10")
    coef0: float = 0.0
    degree: int = 3
    ceiling: int = 1500  # leaves of more rows are split
    growth: int = 4  # the next ceiling is so many times the last
    max_ceiling: int = 0  # no ceiling above is tried; 0: up to all rows
    top: int = 5  # parameters that larger ceilings are tried with
    gain: float = 0.005  # accuracy a larger ceiling must gain
    validation: float = 0.2  # share of rows held out to choose with
    refit: bool = True  # what was chosen is trained again on all rows
    scale: bool = True  # features to 0..1 before the kernel
    min_leaf: int = 20  # smaller mixed leaves join the leaf beside them
    iterations: int = 0  # of LIBSVM for each problem; 0: 100 times its rows, at least 100,000
    risk: bool = False  # report the terms of the paper's error bound: R, T1, T2
    seed: int = 0  # of the holdout and of ties between splits
    jobs: int = field(default=0, metadata=HOW)  # processes; 0: joblib's own setting; -1: all cores
    checkpoint: str = field(default="", metadata=HOW)  # folder that keeps finished leaves

    def check(self) -> None:
        """Refuses what makes no sense."""
        kernels = [kind for kind in KERNEL_KINDS if kind != "precomputed"]
        if self.kernel not in kernels:
            raise OptionError(
                f"dtsvm: kernel={self.kernel!r} cannot be trained; known: {', '.join(kernels)}"
            )
        least = {"ceiling": 1, "growth": 2, "max_ceiling": 0, "top": 1, "gain": 0, "min_leaf": 0}
        least |= {"iterations": 0, "degree": 1, "seed": 0, "jobs": -1}
        check_options("dtsvm", self, {"mode": MODES}, least, shares=("validation",), infinite=("gain",))
        for name, grid in (("C", self.C), ("gamma", self.gamma)):
            if min(grid.values) <= 0:
                raise OptionError(f"dtsvm: {name} must be above 0, got {grid}")


DELTAS = Numbers("0,0.2,0.5")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseOptions:
    """An axis-parallel tree with a small SVM of the same kernel in every mixed leaf."""

    mode: str = "reuse"  # reuse: the SVM's kernel and C; search: others around them, on the given labels
    labels: str = "model"  # model: leaves learn what the SVM predicts; given: the labels of the data
    target: float = 0.98  # agreement with the original that the choice of ceiling and overlap aims at
    confidence: float = 0.8  # with which the held-out rows must prove the target
    ceiling: int = 0  # leaves of more rows are split; 0: the cheapest of 100, 200, 400, ... that will do
    delta: Numbers = DELTAS  # overlap of training cells, in standard deviations of a feature
    C: float = 0.0  # 0: the largest coefficient of the SVM
    validation: float = 0.2  # share of rows held out to choose with
    min_leaf: int = 20  # smaller mixed leaves join the leaf beside them
    iterations: int = 0  # of LIBSVM for each problem; 0: 100 times its rows, at least 100,000
    seed: int = 0  # of the holdout and of ties between splits
    jobs: int = field(default=0, metadata=HOW)  # processes; 0: joblib's own setting; -1: all cores

    def check(self) -> None:
        """Refuses what makes no sense."""
        least = dict.fromkeys(("ceiling", "C", "min_leaf", "iterations", "seed"), 0)
        check_options("dtsvm", self, KNOWN, least, shares=("target", "confidence", "validation"))
        if min(self.delta.values) < 0:
            raise OptionError(f"dtsvm: delta must be at least 0, got {self.delta}")
        if self.mode == "search" and (self.ceiling or self.C):
            raise OptionError("dtsvm: mode=search finds ceiling and C itself; leave them out")

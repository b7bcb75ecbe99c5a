"""Options of DTSVM in front of a given SVM, and what of them makes no sense."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from svmcompile.accelerate.dtsvm.options import HOW, Numbers
from svmcompile.errors import OptionError

MODES = ("reuse", "search")
LABELS = ("model", "given")
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
        for name, known in (("mode", MODES), ("labels", LABELS)):
            value = getattr(self, name)
            if value not in known:
                raise OptionError(f"dtsvm: {name}={value!r} is unknown; known: {', '.join(known)}")
        for name in ("target", "confidence", "validation"):
            if not 0 < getattr(self, name) < 1:
                raise OptionError(f"dtsvm: {name} must lie between 0 and 1, got {getattr(self, name)}")
        for name in ("ceiling", "C", "min_leaf", "iterations", "seed"):
            value = getattr(self, name)
            if not (value >= 0 and np.isfinite(value)):
                raise OptionError(f"dtsvm: {name} must be at least 0, got {value}")
        if min(self.delta.values) < 0:
            raise OptionError(f"dtsvm: delta must be at least 0, got {self.delta}")
        if self.mode == "search" and (self.ceiling or self.C):
            raise OptionError("dtsvm: mode=search finds ceiling and C itself; leave them out")

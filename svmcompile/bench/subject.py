"""Subject: the model that is raced, in every form a rival may start from, and the rows."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM


class LeftOut(Exception):
    """A rival cannot take part; the message says why, for the person who reads the table."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What a rival is made from.

    `rows` are float64 numbers that the model's number type holds exactly, so
    that all see the same input. `work` is a folder for files on the way, gone
    after the race; `cache` one for what is worth keeping.
    """

    program: Program
    svm: SVM | None  # None where the original model was not given
    estimator: Any | None  # of scikit-learn, where the original is one
    number: Number
    rows: NDArray[np.float64]
    n_given: int  # how many of them the data has; the rest repeat these
    batch: int
    work: Path
    cache: Path

    @property
    def is_regressor(self) -> bool:
        return self.program.labels is None

    def original(self) -> SVM:
        """The SVM, or a reason."""
        if self.svm is None:
            raise LeftOut("needs the original model (--model)")
        return self.svm

    def machine(self) -> Any:
        """The SVM estimator of scikit-learn, taken out of its pipeline, or a reason."""
        self.original()
        if self.estimator is None:
            raise LeftOut("needs a model of scikit-learn")
        steps = getattr(self.estimator, "steps", None)
        return steps[-1][1] if steps else self.estimator

    def dense_machine(self) -> Any:
        """The same with its sparse arrays made dense, for rivals that know dense models only."""
        machine = copy.copy(self.machine())
        for name, value in vars(machine).items():
            if hasattr(value, "toarray"):
                setattr(machine, name, value.toarray())
        if getattr(machine, "_sparse", False):
            machine._sparse = False
        return machine

    def prepared(self) -> NDArray[np.float64]:
        """The rows after the model's preprocessing, for rivals that know the kernel machine only."""
        return self.original().prepared(self.rows)

    def named(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Answers in the original's type: labels from class indices, a regressor's values as they are."""
        labels = self.program.labels
        return indices if labels is None else labels.array()[np.asarray(indices).astype(np.intp)]

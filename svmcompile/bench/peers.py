"""The model that is raced, in every form a rival may start from, and the rivals, each in a module."""

from __future__ import annotations

import copy
import importlib
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.bench.result import Runner
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

# A function that makes a peer of a subject, to be called from Python or from C. ONNX Runtime is called from
# C where its library can be opened.
PEERS = {
    "sklearn": "svmcompile.bench.sklearn:start",
    "sklearn-csr": "svmcompile.bench.sklearn:start_csr",
    "onnxruntime": "svmcompile.bench.onnx:start",
    "intelex": "svmcompile.bench.intelex:start",
    "numpy": "svmcompile.bench.gemm:start",
    "libsvm": "svmcompile.bench.libsvm:start",
    "m2cgen": "svmcompile.bench.m2cgen:start",
}
# Asked for together with another, where it applies.
COMPANIONS = {"sklearn-csr": "sklearn"}


@dataclass(frozen=True, eq=False)
class PythonPeer:
    """A rival that is called from Python."""

    title: str
    runner: Runner
    version: str = ""
    bytes: int | None = None  # what has to be shipped of the model
    like: str = "ours"  # the line of ours that gets rows of the same kind


@dataclass(frozen=True, slots=True)
class CPeer:
    """A rival that the C driver opens: its kind there, its library (or the code of one) and an argument."""

    title: str
    kind: str
    argument: str
    version: str = ""
    library: Path | None = None
    source: str = ""
    gives_labels: bool = False  # else the numbers of classes


@dataclass(frozen=True, slots=True)
class Absent:
    """A rival that is left out, and why."""

    peer: str
    reason: str


def choose_peers(against: tuple[str, ...] | None) -> tuple[str, ...]:
    """The rivals asked for, all if none is named; an error for one that is not known."""
    known = [name for name in PEERS if name not in COMPANIONS]
    for name in against or ():
        if name not in known:
            raise OptionError(f"unknown peer {name!r}; known: {', '.join(known)}")
    wanted = set(known if against is None else against)
    wanted |= {name for name, other in COMPANIONS.items() if other in wanted}
    return tuple(name for name in PEERS if name in wanted)


def start(name: str, subject: Subject) -> Any:
    """A `PythonPeer` or a `CPeer`; or an `Absent` that says why there is none."""
    module, function = PEERS[name].split(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries, about each other
            return getattr(importlib.import_module(module), function)(subject)
    except LeftOut as reason:
        return Absent(name, str(reason))
    except ImportError as error:
        return Absent(name, f"{error.name or error} is not installed")
    except Exception as error:  # a rival's own errors have no common root, and must not end the race
        return Absent(name, f"failed: {type(error).__name__}: {first_line(error)}")


def first_line(error: Exception) -> str:
    """What an error says, short, and without the folders of this machine."""
    lines = str(error).strip().splitlines() or [""]
    return re.sub(r"[^\s:'\"]*/", "", lines[0])[:200]


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

    def frame(self) -> Any | None:
        """The rows as a frame, where the estimator learnt names of columns from one; or as text."""
        names = list(getattr(self.estimator, "feature_names_in_", ()))
        found = self.program.categories.frame(self.rows, names)
        return None if found is self.rows else found

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

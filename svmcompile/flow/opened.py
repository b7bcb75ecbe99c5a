"""A model that was given, read once: its SVM or its program, and what its own library makes of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.data.rows import as_rows, table_rows
from svmcompile.errors import OptionError, ReadError
from svmcompile.ir.program import Program
from svmcompile.ir.store import MAGIC, from_bytes
from svmcompile.model.svm import SVM
from svmcompile.read import content_of, read_content


@dataclass(frozen=True, slots=True)
class Opened:
    """An estimator, or a file and what it holds: an SVM, or a program that is compiled already."""

    name: str
    source: Any  # the estimator, given or out of its file; else the path
    svm: SVM | None = None
    program: Program | None = None

    @property
    def model(self) -> SVM | Program:
        """What knows the features."""
        model = self.svm or self.program
        assert model
        return model

    def trained(self) -> SVM:
        """The SVM, where there is one."""
        if self.svm is None:
            raise ReadError(f"{self.name}: is a program; pass the model it was made from")
        return self.svm

    def exact(self) -> Program:
        """What the original adds up, as it stands."""
        svm = self.trained()
        return accelerate(replace(svm, front=svm.front.uncentred()), None, "exact", {})

    def reference(self) -> tuple[str, Any]:
        """What to compare with: the original library, or its definition where it is not installed."""
        from svmcompile.read.original import load_original

        svm, exact = self.trained(), self.exact()
        original = load_original(self.source, svm)
        if original is None:
            return f"interpreter of {svm.source.kind}", exact
        return original.name, replace(original, exact=exact)

    def data(self, X: Any, y: Any = None) -> Data | None:
        """Rows and labels as given from Python, checked against the model."""
        if X is None:
            if y is not None:
                raise OptionError("y was given without X")
            return None
        rows = as_rows(X, self.model.n_features, self.model.feature_names)
        return Data(rows, None if y is None else labels_for(rows, y))


def open_model(
    source: Any,
    *,
    trust_pickle: bool = False,
    n_features: int | None = None,
    most_probable: bool = False,
) -> Opened:
    """Read an estimator or a file; what is opened already is given back."""
    if isinstance(source, Opened):
        return source
    name, content = type(source).__name__, b""
    program = source if isinstance(source, Program) else getattr(source, "program_", None)
    if isinstance(source, (str, os.PathLike)):
        name, content = os.fspath(source), content_of(source)
        if holds_program(content, name):
            program = from_bytes(content, name)
    if isinstance(program, Program):
        return Opened(name, source, program=program)
    svm, original = read_content(source, content, trust_pickle=trust_pickle, n_features=n_features)
    return Opened(name, original, svm.by_probability() if most_probable else svm)


def holds_program(content: bytes, name: str) -> bool:
    """Whether a file is a stored program, by its name or content."""
    return name.endswith(".svmc") or (content.startswith(MAGIC) and b"program.json" in content[:64])


def labelled_data(X: Any, y: Any) -> Data:
    """Rows and labels to train on, as given from Python or read from a file."""
    if isinstance(X, Data):
        return X
    rows, names = table_rows(X)
    return Data(rows, None if y is None else labels_for(rows, y), names)


def labels_for(rows: NDArray[Any], y: Any) -> NDArray[Any]:
    """Labels, one for each row."""
    labels = np.asarray(y).ravel()
    if len(labels) != len(rows):
        raise OptionError(f"X has {len(rows)} rows, y has {len(labels)}")
    return labels

"""plugins: readers, methods, targets and kits that other packages bring (docs/plugins.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format of model files.

    `read(content, where, n_features)` gives an SVM or a fitted estimator of scikit-learn; `where` names the
    file in messages, and `n_features` is None unless the user gives it. `recognises(content)` tells files
    of this format by their content, `suffixes` by their name. `original(path, svm)` gives an object with
    `predict` and, unless they are None, `decision_function` and `predict_proba`, to compare with.
    """

    read: Callable[[bytes, str, int | None], Any]
    recognises: Callable[[bytes], bool] | None = None
    suffixes: tuple[str, ...] = ()
    original: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Files of a program: `emit(program, name, precision)` gives {file name: content}."""

    emit: Callable[[Any, str, str], Mapping[str, str | bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A layout around emitted files: `emit(program, name, precision, files)` gives {path: content}.

    `files` holds what was written for `target`, which the user must ask for as well. Paths are within
    KIT/NAME.
    """

    emit: Callable[[Any, str, str, Mapping[str, str | bytes]], Mapping[str, str | bytes]]
    target: str = "c"

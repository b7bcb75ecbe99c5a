"""What is counted of two models beside each other: labels that differ, errors, accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import VerifyError
from svmcompile.ir.program import Program


def differing_rows(labels: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows with another label."""
    if labels.shape != expected.shape:
        raise VerifyError(f"labels have shape {labels.shape}, the original's {expected.shape}")
    return np.asarray((labels != expected).reshape(len(labels), -1).any(axis=1))


def agreement_by_target(
    labels: NDArray[Any], expected: NDArray[Any], program: Program
) -> tuple[float, ...]:
    """How far each target agrees, where a row has several labels."""
    several = program.labels is not None and program.labels.targets
    return tuple((labels == expected).mean(axis=0).tolist()) if several else ()


def worst_error(
    values: NDArray[Any], expected: NDArray[Any], bounds: NDArray[Any], rows: Any
) -> tuple[float, float]:
    """The worst error among some rows, absolute and over its bound."""
    error = np.abs(values - expected)[rows]
    error = np.where(np.isnan(error), np.inf, error)
    over = error / np.maximum(bounds[rows], np.finfo(np.float64).tiny)
    return float(error.max(initial=0.0)), float(over.max(initial=0.0))


def count_unknown(truth: NDArray[Any] | None, program: Program) -> int:
    """Rows whose given label is no class of the model."""
    if truth is None or program.labels is None:
        return 0
    return int((~np.isin(truth, program.labels.array())).sum())


def accuracy_of(labels: NDArray[Any], truth: NDArray[Any] | None, program: Program) -> float | None:
    """The share of rows with the given label, or all that are given."""
    if truth is None or program.labels is None:
        return None
    return float((labels == truth).reshape(len(labels), -1).all(axis=1).mean())

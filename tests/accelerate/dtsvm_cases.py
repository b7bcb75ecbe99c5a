"""Rows for the tests of DTSVM: bundled digits, two moons, and a toy with two leaves."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons

from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.registry import parse_options


@cache
def digits_rows() -> tuple[Any, Any]:
    """Ten classes, whole numbers (many exact ties between values)."""
    X, y = load_digits(return_X_y=True)
    return X, y.astype(np.intp)


@cache
def moon_rows() -> tuple[Any, Any]:
    X, y = make_moons(900, noise=0.25, random_state=1)
    return X, y.astype(np.intp)


@cache
def mixture_rows() -> tuple[Any, Any]:
    """Four classes with noise, float features without ties."""
    X, y = make_classification(
        1600, 8, n_informative=5, n_classes=4, n_clusters_per_class=3, flip_y=0.05, random_state=3
    )
    return X, y.astype(np.intp)


def options(**given: Any) -> TrainOptions:
    found = parse_options("dtsvm", TrainOptions, given)
    assert isinstance(found, TrainOptions)
    return found

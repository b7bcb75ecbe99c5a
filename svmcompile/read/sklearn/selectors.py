"""Selection of features: a fitted selector in, a step that picks columns out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.model.front import PickStep, Steps
from svmcompile.read.sklearn.fitted import Fitted


def selector(fitted: Fitted) -> Steps:
    """The columns `get_support` names; every selector of scikit-learn has it."""
    fitted.require("n_features_in_")
    width = fitted.count("n_features_in_")
    try:
        support = np.asarray(fitted.get("get_support")(), dtype=bool)
    except Exception as error:  # it may look into an estimator within, and run any code
        raise fitted.damaged(f"get_support fails ({error})") from None
    if support.shape != (width,):
        raise fitted.damaged(f"get_support gives {support.shape}, expected ({width},)")
    return () if support.all() else (PickStep(np.flatnonzero(support), width),)


SELECTORS: dict[str, Callable[[Fitted], Steps]] = dict.fromkeys(
    (
        "VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "SelectFpr", "SelectFdr",
        "SelectFwe", "GenericUnivariateSelect", "RFE", "RFECV", "SequentialFeatureSelector",
    ),
    selector,
)  # fmt: skip

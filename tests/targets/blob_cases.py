"""Models whose blobs hold every operation, and rows to run them on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import svmcompile as sc

ROWS = 10_000
X, Y = load_iris(return_X_y=True)
MOONS = make_moons(500, noise=0.25, random_state=0)
GRID = {"C": "1,100", "gamma": "1", "jobs": 1, "ceiling": 150}


def rbf(**options: Any) -> SVC:
    return SVC(C=10.0, gamma=0.5, **options)


def calibrated(method: str, ensemble: bool) -> Any:
    return CalibratedClassifierCV(rbf(), method=method, cv=2, ensemble=ensemble)


FLAGS = make_union(
    OneHotEncoder(handle_unknown="ignore"),
    KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    TargetEncoder(),
)
CURVES = make_union(SplineTransformer(), QuantileTransformer(n_quantiles=30))
EXACT: dict[str, Any] = {
    "two": (rbf(probability=True, random_state=0), X, np.array(["no", "yés"])[(Y > 0).astype(int)]),
    "three": (make_pipeline(StandardScaler(), rbf(probability=True, random_state=0)), X, Y),
    "ties": (rbf(break_ties=True), X, Y * 2.0),
    "poly": (SVC(kernel="poly", degree=3, coef0=1.0, decision_function_shape="ovo"), X, Y),
    "tanh": (make_pipeline(MinMaxScaler(clip=True), SVC(kernel="sigmoid", gamma=0.2)), X, Y > 1),
    "square": (SVC(kernel="poly", degree=2, coef0=1), X, Y),
    "linear": (LinearSVC(random_state=0), X, Y),
    "value": (SVR(gamma=0.5), X, Y),
    "outliers": (OneClassSVM(gamma=1.0, nu=0.2), X, None),
    "l1": (make_pipeline(Normalizer("l1"), rbf()), X, Y),
    "l2": (make_pipeline(Normalizer("l2"), rbf()), X, Y),
    "max": (make_pipeline(Normalizer("max"), rbf()), X, Y),
    "powers": (make_pipeline(PolynomialFeatures(2), StandardScaler(), rbf()), X, Y),
    "cosine": (make_pipeline(RBFSampler(n_components=8, random_state=0), rbf()), X, Y),
    "flags": (make_pipeline(FLAGS, rbf()), X.astype(np.float32).astype(np.float64), Y),
    "curves": (make_pipeline(CURVES, rbf()), X, Y),
    "steps": (make_pipeline(SplineTransformer(degree=0, extrapolation="continue"), LinearSVC()), X, Y),
    "weighed": (VotingClassifier([("a", rbf()), ("b", LinearSVC())], weights=[1, 2]), X, Y),
    "filled": (
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), rbf()),
        np.where(np.random.default_rng(4).random(X.shape) < 0.1, np.nan, X), Y,
    ),
    "sigmoid": (calibrated("sigmoid", True), X, Y),
    "isotonic": (calibrated("isotonic", True), X, Y),
}  # fmt: skip
METHODS: dict[str, Any] = {
    "reduced": ({"method": "reduced-set", "move": False}, X, Y),
    "sv_tree": ({"method": "sv-tree", "fallback": True}, *MOONS),
    "axis": ({"method": "metric-tree", "split": "gradient-axis", "guard": "target", "reach": 2.0}, *MOONS),
    "plane": ({"method": "metric-tree", "split": "midpoint"}, X, Y),
    "lists_two": ({"method": "h1-tree"}, *MOONS),
    "lists": ({"method": "h1-tree"}, X, Y),
}
CASES = [*EXACT, *METHODS, "leaves", "leaves_three"]


FEW = X[::10], Y[::10]
FEW_MOONS = MOONS[0][::20], MOONS[1][::20]
FRONT = (SimpleImputer(add_indicator=True), MinMaxScaler(clip=True), Normalizer("l2"))
TREE = {"method": "metric-tree", "reach": 2.0}
# Models small enough for a proof, which hold every operation but UNLESS.
SMALL: dict[str, Callable[[], Any]] = {
    "linear": lambda: sc.compile(LinearSVC(random_state=0).fit(*FEW)),
    "square": lambda: sc.compile(SVC(kernel="poly", degree=2, coef0=1).fit(*FEW)),
    "tanh": lambda: sc.compile(SVC(kernel="sigmoid", gamma=0.2).fit(*FEW_MOONS)),
    "platt": lambda: sc.compile(rbf(probability=True, random_state=0).fit(*FEW)),
    "front": lambda: sc.compile(
        make_pipeline(*FRONT, RBFSampler(n_components=4, random_state=0), LinearSVC(random_state=0)).fit(
            np.where(np.eye(15, 4) * [1, 0, 1, 0], np.nan, FEW[0]), FEW[1]
        )
    ),
    "isotonic": lambda: sc.compile(
        CalibratedClassifierCV(LinearSVC(random_state=0), method="isotonic", cv=2).fit(*FEW)
    ),
    "lists": lambda: sc.compile(rbf().fit(*FEW), X=FEW[0], method="h1-tree"),
    "path": lambda: sc.compile(rbf().fit(*FEW_MOONS), X=FEW_MOONS[0], method="sv-tree", fallback=True),
    "axis": lambda: sc.compile(rbf().fit(*FEW_MOONS), X=FEW_MOONS[0], split="gradient-axis", **TREE),
    "plane": lambda: sc.compile(rbf().fit(*FEW_MOONS), X=FEW_MOONS[0], split="midpoint", **TREE),
}


@cache
def program_of(case: str) -> Any:
    if case in EXACT:
        model, rows, y = EXACT[case]
        return sc.compile(model.fit(rows) if y is None else model.fit(rows, y))
    if case in METHODS:
        options, rows, y = METHODS[case]
        return sc.compile(rbf().fit(rows, y), X=rows, **options)
    return sc.train(*(MOONS if case == "leaves" else (X, Y)), method="dtsvm", **GRID)


def some_rows(case: str) -> Any:
    """Rows around the data, some of them with missing and infinite numbers."""
    known = EXACT | METHODS | {"leaves": (None, *MOONS), "leaves_three": (None, X, Y)}
    data = known[case][1]
    random = np.random.default_rng(0)
    rows = data[random.integers(0, len(data), ROWS)] + random.normal(size=(ROWS, data.shape[1])) * 0.3
    for place, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(place, 60, 3), random.integers(0, data.shape[1], 20)] = value
    return rows


FUNCTIONS = {"scores": "decision_function", "probabilities": "predict_proba", "samples": "score_samples"}


def compare(program: Any, rows: Any, found: Any, number: str) -> None:
    """Labels are the interpreter's, but where rounding decides; values are near."""
    loose = 1e-9 if number == "f64" else 2e-3
    for output in program.outputs:
        name = FUNCTIONS.get(output.name)
        if name is not None:
            np.testing.assert_allclose(found(name), getattr(program, name)(rows), rtol=loose, atol=loose)
    labels = program.predict(rows)
    if program.labels is None:
        np.testing.assert_allclose(found("predict"), labels, rtol=loose, atol=loose)
    else:
        allowed = 0 if number == "f64" else 2
        assert np.count_nonzero(found("predict") != labels) <= allowed

"""What is crossed with what, what is refused, and a case as a program and files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.registry import METHODS
from svmcompile.flow.emission import (
    Emitted,
    Request,
    check_several,
    checked_kits,
    emit_kits,
    emit_targets,
    prepare,
)
from svmcompile.ir.program import Program
from tests.crossing.covering import Case, Rule

ROWS, FEATURES = 160, 6
THREE = ("three", "ovo", "linear-three", "rest", "nu")  # estimators of three classes
VALUE = ("svr", "one-class")  # which know no labels
ESTIMATORS: dict[str, Any] = {
    "rbf": SVC(C=5.0),
    "poly": SVC(kernel="poly", degree=3, coef0=1.0),
    "square": SVC(kernel="poly", degree=2, coef0=1.0),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.01),
    "linear": SVC(kernel="linear", max_iter=10_000),
    "three": SVC(C=5.0),
    "ovo": SVC(C=5.0, decision_function_shape="ovo"),
    "nu": NuSVC(nu=0.2),
    "linear-three": LinearSVC(),
    "rest": OneVsRestClassifier(SVC(C=5.0)),
    "platt": SVC(C=5.0, probability=True, random_state=0),
    "calibrated": CalibratedClassifierCV(SVC(C=5.0), cv=2, method="isotonic"),
    "svr": SVR(C=2.0),
    "one-class": OneClassSVM(nu=0.2),
    "many": OneVsRestClassifier(SVC(C=5.0, probability=True, random_state=0)),
    "each": MultiOutputClassifier(SVC(C=5.0)),
}
SEVERAL = ("many", "each")  # labels per row: zeros and ones, or classes of their own
STEPS: dict[str, tuple[Any, ...]] = {
    "none": (),
    "scaled": (StandardScaler(),),
    "clipped": (MinMaxScaler(clip=True),),
    "l1": (Normalizer("l1"),),
    "l2": (StandardScaler(), Normalizer("l2")),
    "max": (Normalizer("max"),),
    "pca": (StandardScaler(), PCA(3)),
    "powers": (StandardScaler(), PolynomialFeatures(2)),
    "filled": (SimpleImputer(add_indicator=True), StandardScaler()),
    "picked": (SelectKBest(k=3),),
    "columns": (ColumnTransformer([("a", StandardScaler(), [4, 1]), ("b", "passthrough", [0, 5])]),),
    "union": (make_union(StandardScaler(), PCA(2)),),
    "nystroem": (StandardScaler(), Nystroem(n_components=12, random_state=0)),
    "sampler": (StandardScaler(), RBFSampler(n_components=12, random_state=0)),
    "text": (
        ColumnTransformer(
            [
                ("flags", OneHotEncoder(handle_unknown="ignore"), [4]),
                ("code", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), [5]),
                ("numbers", StandardScaler(), [0, 1, 2, 3]),
            ]
        ),
    ),
}
CATEGORIES = np.array(["", '*/ "\\', "??/ é\n"], dtype=object)
LABELS: dict[str, Any] = {
    "int": np.array([0, 1, 2]),
    "large": np.array([-(1 << 40), 7, 1 << 50]),
    "text": np.array(['q"uote\\', "%s /*", "??/ é"]),
    "float": np.array([-1.0, 1.0, 1e6]),
    "bool": np.array([False, True, True]),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "anytime": {"force": True},
    "certified": {"force": True},
    "proto": {"max_bytes": 3000, "steps": 100, "synthetic_rows": 0},
    "reduced-set": {"budget": "12"},
    "dtsvm": {"jobs": 1},
}
# Methods that make other probabilities.
BENDING = ("linear", "proto", "reduced-set", "sv-tree", "metric-tree")
NOT_EXACT = tuple(sorted({*METHODS} - {"exact"}))
ONE_MACHINE = tuple(sorted({*METHODS} - {"exact", "linear"}))  # which take no model of several machines
# Methods that leave no vectors that f16 could hold.
WITHOUT_VECTORS = ("anytime", "certified", "linear", "metric-tree", "proto", "sv-tree")
KITS = ("arduino", "platformio", "cmake", "zephyr", "esp-idf", "micropython", "wheel")
FIXED, FLOATS = ("q15", "q7"), ("f32", "f64")
FACTORS: dict[str, tuple[str, ...]] = {
    "estimator": tuple(ESTIMATORS),
    "steps": tuple(STEPS),
    "method": tuple(METHODS),
    "precision": (*FLOATS, *FIXED),
    "input": ("float", "u8", "i16"),
    "profile": ("portable", "host", "device"),
    "tables": ("auto", "dense", "sparse", "f16"),
    "target": ("c", "shared", "onnx", "wasm", "blob"),
    "labels": tuple(LABELS),
    "kit": ("none", *KITS),
}
# What is refused, by name. Each rule is tried; whatever else is refused fails the test.
REFUSED: tuple[Rule, ...] = (
    {"input": ("u8", "i16"), "precision": FLOATS},
    {"precision": FIXED, "target": ("onnx", "wasm", "blob")},
    {"precision": FIXED, "tables": ("dense", "sparse", "f16")},
    {"precision": FIXED, "steps": ("nystroem",)},
    {"steps": ("text",), "input": ("u8", "i16")},
    {"steps": ("text",), "target": ("blob",)},
    {"precision": FIXED, "method": ("anytime", "certified")},
    {"tables": ("f16",), "precision": ("f64",)},
    {"tables": ("f16",), "profile": ("portable", "device")},
    {"tables": ("f16",), "target": ("onnx", "wasm", "blob")},
    {"tables": ("sparse",), "profile": ("device",)},
    {"kit": KITS, "target": ("onnx", "wasm", "blob")},
    {"kit": ("arduino", "platformio", "zephyr", "esp-idf", "micropython"), "profile": ("host",)},
    {"method": ("anytime", "certified"), "target": ("blob",)},
    {"method": ONE_MACHINE, "estimator": ("calibrated",)},
    {"method": ("anytime",), "estimator": ("sigmoid", "rest")},
    {"method": ("certified",), "estimator": ("sigmoid", "svr")},
    {"method": ("h1-tree",), "estimator": ("svr", "linear-three", "rest")},
    {"method": ("dtsvm",), "estimator": ("svr",)},
    {"method": NOT_EXACT, "estimator": SEVERAL},
    {"target": ("blob",), "estimator": SEVERAL},
    {"kit": KITS, "estimator": SEVERAL},
)
# Levels that are refused, or say nothing, depending on more than two factors.
IDLE: tuple[Rule, ...] = (
    {"labels": ("large", "text", "float", "bool"), "estimator": (*VALUE, "many")},
    {"labels": ("bool",), "estimator": THREE},
    {"tables": ("f16",), "method": WITHOUT_VECTORS},
    {"tables": ("f16",), "estimator": ("square", "linear", "linear-three")},
    {"tables": ("sparse",), "estimator": tuple(sorted({*ESTIMATORS} - {"poly", "sigmoid"}))},
    {"tables": ("sparse",), "steps": ("nystroem",)},
)


def rows_for(kind: str) -> Any:
    """Rows of whole numbers for u8 and i16, of float32 numbers else."""
    whole = np.random.default_rng(0).integers(0, 256, (ROWS, FEATURES)).astype(np.float64)
    if kind == "u8":
        return whole
    return whole * 100 - 9000 if kind == "i16" else (whole / 37 - 3).astype(np.float32).astype(np.float64)


@cache
def fitted(estimator: str, steps: str, kind: str, labels: str) -> tuple[Any, Any, Any]:
    """A fitted model, its rows and their labels."""
    X = rows_for(kind)
    size = (X - X.mean(axis=0)) / X.std(axis=0)
    score = size[:, 0] + size[:, 1] * size[:, 2] - 0.5 * size[:, 3] ** 2 + 0.5
    places = np.digitize(score, (-0.6, 0.6)) if estimator in THREE else (score > 0).astype(int)
    y = score if estimator == "svr" else LABELS[labels][places]
    one, given = clone(ESTIMATORS[estimator]), X
    if estimator in SEVERAL:
        y = np.stack([size[:, 4] > -0.5, score > 0.3, np.digitize(score, (-0.6, 0.6))], axis=1).astype(int)
        y = y.clip(max=1) if estimator == "many" else LABELS[labels][y]
    if steps == "text":
        X[:, 4:] = np.rint(np.abs(X[:, 4:])) % len(CATEGORIES)
        given = X.astype(object)
        given[:, 4:] = CATEGORIES[X[:, 4:].astype(int)]
    model = make_pipeline(*map(clone, STEPS[steps]), one) if STEPS[steps] else one
    return model.fit(given, y if is_classifier(one) or estimator == "svr" else places), X, y


@cache
def compiled(estimator: str, steps: str, kind: str, labels: str, method: str) -> Program:
    model, X, y = fitted(estimator, steps, kind, labels)
    given = {"y": y} if estimator not in VALUE else {}
    options = dict(OPTIONS.get(method, {}))
    if estimator in ("platt", "calibrated") and method in BENDING:
        options["probabilities"] = "anyway"
    if estimator == "svr" and method == "anytime":
        options["tolerance"] = 0.01
    return sc.compile(model, method=method, X=X, **given, **options)


@dataclass(frozen=True, eq=False)
class Made:
    """The files of a case, and what they mean."""

    program: Program  # of real numbers, or in whole numbers
    emitted: Emitted
    files: dict[str, Any]
    request: Request
    X: Any


def made(case: Case) -> Made:
    """A case compiled and emitted; an error of the project where it is refused."""
    which = (case["estimator"], case["steps"], case["input"], case["labels"])
    program, X = compiled(*which, case["method"]), fitted(*which)[1]
    tables, given = (None if case[key] in ("auto", "float") else case[key] for key in ("tables", "input"))
    request = Request.of(program, case["target"], "model", case["precision"], case["profile"], tables, True)
    kits = checked_kits(() if case["kit"] == "none" else case["kit"], request)
    check_several(program, request, kits)
    ready, request = prepare(program, request, X, None, given)
    emitted = emit_targets(ready, request, X)
    files = {**emitted.c, **emitted.files, **emit_kits(kits, ready, request, emitted, "{}")}
    return Made(ready, emitted, files, request, X)

"""What is crossed with what, what is refused, and a case as a program and files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, KernelPCA
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.registry import METHODS
from svmcompile.flow.emission import (
    Emitted,
    Request,
    check_model,
    checked_kits,
    emit_kits,
    emit_targets,
    prepare,
)
from svmcompile.ir.program import Program
from tests.crossing.covering import Case, Rule

ROWS, FEATURES = 160, 6
THREE = ("three", "ovo", "linear-three", "rest", "nu", "logistic", "stacking", "codes")  # of three classes
REGRESSORS = ("svr", "ridge", "laplacian", "gaussian", "scaled-target", "several")
VALUE = (*REGRESSORS, "one-class")  # which know no labels
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
    "logistic": LogisticRegression(max_iter=1000),
    "huber": SGDClassifier(loss="modified_huber", random_state=0),
    "bagging": BaggingClassifier(SVC(C=5.0), 3, random_state=0),
    "voting": VotingClassifier([("svc", SVC(C=5.0)), ("linear", LinearSVC())]),
    "stacking": StackingClassifier([("svc", SVC(C=5.0)), ("linear", LinearSVC())], cv=2),
    "codes": OutputCodeClassifier(SVC(C=5.0), random_state=0),
    "gaussian-classes": GaussianProcessClassifier(optimizer=None),
    "gaussian": GaussianProcessRegressor(Matern(nu=1.5), optimizer=None, alpha=0.1),
    "ridge": Ridge(),
    "laplacian": KernelRidge(kernel="laplacian", alpha=0.5),
    "scaled-target": TransformedTargetRegressor(LinearSVR(), transformer=StandardScaler()),
    "several": MultiOutputRegressor(SVR(C=2.0)),
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
    "codes-of-text": (
        ColumnTransformer(
            [
                ("flags", OneHotEncoder(handle_unknown="ignore"), [4]),
                ("code", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), [5]),
                ("numbers", StandardScaler(), [0, 1, 2, 3]),
            ]
        ),
    ),
    "components": (StandardScaler(), KernelPCA(3, kernel="rbf", gamma=0.1)),
    "yeo-johnson": (PowerTransformer(),),
    "quantiles": (QuantileTransformer(n_quantiles=10),),
    "splines": (SplineTransformer(n_knots=3, degree=2, extrapolation="linear"),),
    "bins": (KBinsDiscretizer(4, encode="onehot-dense"),),
    "categories": (KBinsDiscretizer(5, encode="ordinal"), OneHotEncoder(handle_unknown="ignore")),
    "ordinals": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), StandardScaler()),
    "targets": (KBinsDiscretizer(5, encode="ordinal"), TargetEncoder(random_state=0)),
    "text": (TfidfVectorizer(),),
}
CATEGORIES = np.array(["", '*/ "\\', "??/ é\n"], dtype=object)
LABELS: dict[str, Any] = {
    "int": np.array([0, 1, 2]),
    "large": np.array([-(1 << 40), 7, 1 << 50]),
    "text": np.array(['q"uote\\', "%s /*", "??/ é"]),
    "float": np.array([-1.0, 1.0, 1e6]),
    "bool": np.array([False, True, True]),
}
SMALL, LARGE = 2048, 60_000  # bytes of proto: few enough for weights of four bits, and for every case
OPTIONS: dict[str, dict[str, Any]] = {
    "anytime": {"force": True},
    "certified": {"force": True},
    "proto": {"steps": 100, "synthetic_rows": 0},
    "reduced-set": {"budget": "12"},
    "dtsvm": {"jobs": 1},
}
# Options that are crossed as if they were methods.
WAYS: dict[str, dict[str, Any]] = {"certain": {"labels": "certain"}, "steady": {"constant_time": True}}
# Methods that make other probabilities.
BENDING = ("linear", "proto", "reduced-set", "sv-tree", "metric-tree")
HAVE_CHANCES = ("platt", "calibrated", "bagging", "huber", "logistic", "stacking", "gaussian-classes")
OTHERS = tuple(sorted({*METHODS} - {"exact"}))  # methods
ONE_MACHINE = tuple(sorted({*OTHERS} - {"linear"}))  # which take no model of several machines
# Methods that leave no vectors that f16 could hold.
TOGETHER = ("bagging", "voting", "stacking", "codes")
STRANGE = ("sigmoid", "gaussian", "laplacian")  # kernels
CODED = ("bins", "categories", "ordinals", "targets")  # steps
BRANCHING = (
    "clipped", "l1", "l2", "max", "powers", "filled", "sampler", "yeo-johnson", "quantiles", "splines",
    "text", "codes-of-text", *CODED,
)  # fmt: skip
WITHOUT_VECTORS = ("anytime", "certified", "linear", "metric-tree", "proto", "sv-tree")
KITS = ("arduino", "platformio", "cmake", "zephyr", "esp-idf", "micropython", "wheel")
PACKAGES = {"java": "blob", "rust": "blob", "npm": "wasm", "triton": "onnx"}  # made of their target
GRAPHS: dict[str, dict[str, Any]] = {  # forms of ONNX
    "usual": {},
    "plain": {"onnx_form": "plain", "opset": 22},
    "operator": {"onnx_form": "operator"},
    "old": {"opset": 15, "onnx_names": "old"},
    "wide": {"onnx_input": "float64", "onnx_batch": 7},
}
TARGETS = ("c", "shared", "onnx", "wasm", "blob", "sql")
FIXED, FLOATS = ("q15", "q7"), ("f32", "f64")
FACTORS: dict[str, tuple[str, ...]] = {
    "estimator": tuple(ESTIMATORS),
    "steps": tuple(STEPS),
    "method": (*METHODS, *WAYS),
    "precision": (*FLOATS, *FIXED),
    "input": ("float", "u8", "i16"),
    "profile": ("portable", "host", "device"),
    "tables": ("auto", "dense", "sparse", "f16"),
    "target": TARGETS,
    "labels": tuple(LABELS),
    "kit": ("none", *KITS, *PACKAGES),
    "api": ("usual", "no-sparse", "no-model", "cpp"),
    "graph": tuple(GRAPHS),
}
# What is refused, by name. Each rule is tried; whatever else is refused fails the test.
REFUSED: tuple[Rule, ...] = (
    {"input": ("u8", "i16"), "precision": FLOATS},
    {"precision": FIXED, "target": ("onnx", "wasm", "blob", "sql")},
    {"precision": FIXED, "tables": ("dense", "sparse", "f16")},
    {"precision": FIXED, "steps": ("nystroem", "components")},
    {"precision": FIXED, "method": ("anytime", "certified", "certain", "steady")},
    {"precision": FIXED, "estimator": ("gaussian", "laplacian")},
    {"input": ("u8", "i16"), "steps": ("text", "codes-of-text")},
    {"tables": ("f16",), "precision": ("f64",)},
    {"tables": ("f16",), "profile": ("portable", "device")},
    {"tables": ("f16",), "target": ("onnx", "wasm", "blob", "sql")},
    {"tables": ("sparse",), "profile": ("device",)},
    {"kit": KITS, "target": ("onnx", "wasm", "blob", "sql")},
    *(
        {"kit": (kit,), "target": tuple(one for one in TARGETS if one != target)}
        for kit, target in PACKAGES.items()
    ),
    {"kit": ("arduino", "platformio", "zephyr", "esp-idf", "micropython"), "profile": ("host",)},
    {"kit": (*KITS, *PACKAGES), "steps": ("text",)},
    {"kit": (*KITS, *PACKAGES), "estimator": ("several", *SEVERAL)},
    {"target": ("blob", "sql"), "estimator": ("several", *SEVERAL)},
    {"api": ("no-sparse", "no-model", "cpp"), "target": ("onnx", "wasm", "blob", "sql")},
    {"graph": ("plain", "operator", "old", "wide"), "target": ("c", "shared", "wasm", "blob", "sql")},
    {"method": ("anytime", "certified", "certain"), "target": ("blob",)},
    {
        "target": ("blob",),
        "estimator": ("logistic", "stacking", "gaussian-classes", "gaussian", "laplacian"),
    },
    {"target": ("blob",), "steps": ("yeo-johnson",)},
    {"method": ONE_MACHINE, "estimator": ("calibrated", "voting")},
    {"method": OTHERS, "estimator": ("laplacian", "gaussian", "several")},
    {"method": ("anytime", "certified", "dtsvm", "h1-tree"), "estimator": ("bagging", "stacking", "codes")},
    {"method": ("anytime",), "estimator": ("sigmoid", "rest")},
    {"method": ("certified",), "estimator": ("sigmoid", *REGRESSORS)},
    {"method": ("h1-tree",), "estimator": ("linear-three", "rest", "logistic", *REGRESSORS)},
    {"method": ("dtsvm", "certain"), "estimator": REGRESSORS},
    {"method": ("steady",), "profile": ("host",)},
    {"method": ("steady",), "target": ("onnx", "wasm", "blob", "sql")},
    {"method": ("steady",), "estimator": (*HAVE_CHANCES, *TOGETHER, *SEVERAL, "one-class", *STRANGE)},
    {"method": ("steady",), "steps": BRANCHING},
    {"method": ("certain",), "tables": ("f16",)},
    {"method": OTHERS, "estimator": SEVERAL},
)
# Levels that are refused, or say nothing, depending on more than two factors.
IDLE: tuple[Rule, ...] = (
    {"estimator": ("gaussian", "gaussian-classes"), "steps": ("text", "categories")},  # of scikit-learn
    {"estimator": ("several", *SEVERAL), "steps": ("targets", "picked")},
    {"labels": ("large", "text", "float", "bool"), "estimator": (*VALUE, "many")},
    {"labels": ("bool",), "estimator": THREE},
    {"tables": ("f16",), "method": WITHOUT_VECTORS},
    {
        "tables": ("f16",),
        "estimator": ("square", "linear", "linear-three", "logistic", "huber", *REGRESSORS[1:]),
    },
    {"tables": ("sparse",), "estimator": tuple(sorted({*ESTIMATORS} - {"poly", "sigmoid"}))},
    {"tables": ("sparse",), "steps": ("nystroem",)},
)


def rows_for(kind: str) -> Any:
    """Rows of whole numbers for u8 and i16, of float32 numbers else."""
    whole = np.random.default_rng(0).integers(0, 256, (ROWS, FEATURES)).astype(np.float64)
    if kind == "u8":
        return whole
    return whole * 100 - 9000 if kind == "i16" else (whole / 37 - 3).astype(np.float32).astype(np.float64)


def told(X: Any) -> Any:
    """Rows as texts: a word for each feature, of nine that it may be."""
    places = ((X - X.min()) / np.ptp(X) * 9).astype(int)
    return [" ".join(f"w{j}{place}" for j, place in enumerate(row)) for row in places]


@cache
def fitted(estimator: str, steps: str, kind: str, labels: str) -> tuple[Any, Any, Any]:
    """A fitted model, its rows and their labels."""
    X = rows_for(kind)
    size = (X - X.mean(axis=0)) / X.std(axis=0)
    score = size[:, 0] + size[:, 1] * size[:, 2] - 0.5 * size[:, 3] ** 2 + 0.5
    places = np.digitize(score, (-0.6, 0.6)) if estimator in THREE else (score > 0).astype(int)
    y = score if estimator in REGRESSORS else LABELS[labels][places]
    if estimator == "several":
        y = np.stack([y, -y], axis=1)
    if estimator in SEVERAL:
        y = np.stack([size[:, 4] > -0.5, score > 0.3, np.digitize(score, (-0.6, 0.6))], axis=1).astype(int)
        y = y.clip(max=1) if estimator == "many" else LABELS[labels][y]
    one, given = clone(ESTIMATORS[estimator]), told(X) if steps == "text" else X
    if steps == "codes-of-text":
        X[:, 4:] = np.rint(np.abs(X[:, 4:])) % len(CATEGORIES)
        given = X.astype(object)
        given[:, 4:] = CATEGORIES[X[:, 4:].astype(int)]
    model = make_pipeline(*map(clone, STEPS[steps]), one) if STEPS[steps] else one
    model.fit(given, places if estimator == "one-class" else y)
    return model, given if steps == "text" else X, y


@cache
def compiled(
    estimator: str, steps: str, kind: str, labels: str, method: str, number: str, profile: str
) -> Program:
    """What a method makes; number type and profile where it asks for them."""
    model, X, y = fitted(estimator, steps, kind, labels)
    given = {"y": y} if estimator not in VALUE else {}
    options = OPTIONS.get(method, {}) | WAYS.get(method, {})
    if method == "proto":
        options |= {"precision": number, "tune": "host" if profile == "host" else "portable"}
        more = estimator == "stacking" or steps in CODED  # whose own tables take more
        options["max_bytes"] = SMALL if number == "q7" and not more else LARGE
    if estimator in HAVE_CHANCES and method in BENDING:
        options["probabilities"] = "anyway"
    if estimator in REGRESSORS and method == "anytime":
        options["tolerance"] = 0.01
    method = "exact" if method in WAYS else method
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
    asked = (case["precision"], case["profile"]) if case["method"] == "proto" else ("", "")
    program, X = compiled(*which, case["method"], *asked), fitted(*which)[1]
    tables, given = (None if case[key] in ("auto", "float") else case[key] for key in ("tables", "input"))
    X = program.counts(X).toarray() if program.input.text else X
    request = Request.of(
        program, case["target"], "model", case["precision"], case["profile"], tables, True,
        onnx=GRAPHS[case["graph"]], api=() if case["api"] == "usual" else case["api"],
    )  # fmt: skip
    kits = checked_kits(() if case["kit"] == "none" else case["kit"], request)
    check_model(program, request, kits)
    ready, request = prepare(program, request, X, None, given)
    emitted = emit_targets(ready, request, X)
    files = {**emitted.c, **emitted.files, **emit_kits(kits, ready, request, emitted, "{}")}
    return Made(ready, emitted, files, request, X)

"""What is emitted to see whether a change of the compiler changes the code: models, methods, targets.

Only public names are used, so that the same cases run on older and newer commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

import svmcompile as sc
from tests.replay.rows import (
    Rows,
    cancer,
    diabetes,
    digits,
    few_moons,
    gaps,
    goods,
    iris,
    moons,
    named,
    products,
    tagged,
    text,
    texts,
    three_digits,
    two_zeros,
    whole_digits,
    zeros,
    zeros_above,
)

Files = Mapping[str, "str | bytes"]

DENSITY_MODEL = """svm_type one_class
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 1.1
prob_density_marks 0.05 0.12 0.2 0.28 0.36 0.44 0.52 0.6 0.68 0.76
SV
0.8 1:0.5 2:-1
0.7 1:-0.25 2:0.5
0.5 1:1 2:1.5
"""


@dataclass(frozen=True)
class Case:
    """A model compiled by one method, and every way in which it is emitted."""

    data: Callable[[], tuple[Rows, Rows]]
    model: Any  # an estimator, fitted here; a LIBSVM file; None trains by the method
    method: str = "exact"
    options: Mapping[str, Any] = field(default_factory=dict)
    emissions: tuple[Mapping[str, Any], ...] = ({},)
    with_labels: bool = False


PORTABLE, HOST, DEVICE = {"profile": "portable"}, {"profile": "host"}, {"profile": "device"}
DOUBLE, ONNX = {"precision": "f64"}, {"target": "onnx"}
BLOB, SQL = {"target": "blob"}, {"target": "sql"}
Q15, Q7 = {"precision": "q15", "profile": "device"}, {"precision": "q7", "profile": "device"}
ALL_C = (PORTABLE, HOST, DEVICE, PORTABLE | DOUBLE, HOST | DOUBLE)
FLOATS = (*ALL_C, ONNX, ONNX | DOUBLE)
SHORT = (PORTABLE, HOST, ONNX)
SOFT = DEVICE | {"soft_double": True}
PROVEN = (PORTABLE, HOST, SOFT, PORTABLE | DOUBLE, HOST | DOUBLE, ONNX, ONNX | DOUBLE)
WITH_WHOLE = (*FLOATS, Q15, Q7)


def rbf(**options: Any) -> SVC:
    return SVC(C=options.pop("C", 10.0), gamma=options.pop("gamma", 0.5), **options)


def scaled(model: Any, *steps: Any) -> Any:
    return make_pipeline(*(steps or (StandardScaler(),)), model)


def exact_cases() -> Iterator[tuple[str, Case]]:
    yield (
        "two-rbf",
        Case(moons, rbf(), emissions=(*WITH_WHOLE, {"target": "wasm"}, HOST | {"tables": "f16"})),
    )
    yield "two-rbf-scaled", Case(cancer, scaled(rbf(gamma=0.03)), emissions=WITH_WHOLE)
    yield "two-poly", Case(moons, SVC(kernel="poly", degree=3, coef0=1.0), emissions=FLOATS)
    yield "two-square", Case(cancer, scaled(SVC(kernel="poly", degree=2, coef0=1)), emissions=WITH_WHOLE)
    yield "two-sigmoid", Case(moons, SVC(kernel="sigmoid", gamma=0.2), emissions=WITH_WHOLE)
    yield "two-linear", Case(cancer, scaled(SVC(kernel="linear")), emissions=WITH_WHOLE)
    yield "three-ovo", Case(iris, rbf(decision_function_shape="ovo"), emissions=FLOATS)
    yield "three-ovr", Case(iris, rbf(), emissions=WITH_WHOLE)
    yield "three-ties", Case(iris, rbf(break_ties=True), emissions=SHORT)
    kits = DEVICE | {"kit": ("arduino", "platformio", "cmake", "zephyr", "esp-idf", "micropython")}
    packages = BLOB | {"kit": ("java", "rust")}
    yield (
        "ten-ovr",
        Case(digits, rbf(gamma=0.1), emissions=(*WITH_WHOLE, kits, {"target": "wasm"}, packages)),
    )
    yield "ten-ovo", Case(digits, rbf(gamma=0.1, decision_function_shape="ovo"), emissions=ALL_C)
    given = tuple(one | {"given": "u8"} for one in (Q15, Q7))
    yield "ten-u8", Case(whole_digits, rbf(gamma=0.0004), emissions=given)
    yield "ten-u8-scaled", Case(whole_digits, scaled(rbf(gamma=0.01), MinMaxScaler()), emissions=given)
    yield "nu", Case(iris, NuSVC(nu=0.2, gamma=0.4), emissions=SHORT)
    yield "svr", Case(diabetes, SVR(gamma=0.5), emissions=WITH_WHOLE)
    yield "one-class", Case(moons, OneClassSVM(gamma=1.0, nu=0.2), emissions=(*FLOATS, Q15))
    yield "linear-svc", Case(digits, LinearSVC(), emissions=WITH_WHOLE)
    yield "logistic", Case(iris, scaled(LogisticRegression()), emissions=SHORT)
    yield "laplacian-ridge", Case(diabetes, scaled(KernelRidge(kernel="laplacian")), emissions=SHORT)
    process = GaussianProcessRegressor(Matern(nu=1.5) + WhiteKernel(0.1), optimizer=None)
    yield "process", Case(few_moons, process, emissions=SHORT)
    chances = GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None)
    yield "process-two", Case(few_moons, chances, emissions=SHORT)
    members = [("rbf", rbf()), ("linear", LinearSVC()), ("logistic", LogisticRegression())]
    yield "members", Case(iris, VotingClassifier(members), emissions=SHORT)
    yield "sgd", Case(cancer, scaled(SGDClassifier(random_state=0)), emissions=SHORT)
    yield "rest", Case(iris, OneVsRestClassifier(rbf()), emissions=FLOATS)
    tags = scaled(OneVsRestClassifier(rbf(probability=True, random_state=0)))
    yield "rest-tags", Case(tagged, tags, emissions=(PORTABLE, HOST, SOFT, ONNX))
    yield "rest-linear-tags", Case(tagged, OneVsRestClassifier(LinearSVC()), emissions=WITH_WHOLE)
    yield "each", Case(named, MultiOutputClassifier(rbf()), emissions=(*SHORT, DEVICE))
    yield "pairs", Case(iris, OneVsOneClassifier(rbf()), emissions=FLOATS)
    sparse = (*FLOATS, HOST | {"tables": "dense"}, PORTABLE | {"tables": "dense"})
    yield "zeros", Case(zeros, rbf(gamma=0.3), emissions=sparse)
    yield "two-zeros", Case(two_zeros, rbf(gamma=0.3), emissions=(*sparse, HOST | {"tables": "sparse"}))
    yield "text", Case(text, rbf(gamma=0.3), emissions=(*SHORT, HOST | DOUBLE))
    yield "text-linear", Case(text, SVC(kernel="linear"), emissions=SHORT)
    yield "given-kernel", Case(products, SVC(kernel="precomputed"), emissions=(PORTABLE, HOST, ONNX))


def text_cases() -> Iterator[tuple[str, Case]]:
    """Text, by words, characters and hashes."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, stop_words=["and"])
    emissions = (PORTABLE, HOST, DEVICE, PORTABLE | DOUBLE, ONNX)
    yield "text-words", Case(texts, make_pipeline(words, LinearSVC(random_state=0)), emissions=emissions)
    characters = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4))
    yield "text-characters", Case(texts, make_pipeline(characters, rbf()), emissions=SHORT)
    hashed = HashingVectorizer(n_features=64, analyzer="char", ngram_range=(1, 3))
    yield "text-hashed", Case(texts, make_pipeline(hashed, LinearSVC(random_state=0)), emissions=SHORT)


def category_cases() -> Iterator[tuple[str, Case]]:
    """Columns of text: flags, numbers, mean targets, and what fills in."""
    numbers = ("numbers", StandardScaler(), [2, 3])
    gone = SimpleImputer(missing_values=None, strategy="most_frequent", add_indicator=True)
    columns: dict[str, list[Any]] = {
        "flags": [("flags", OneHotEncoder(handle_unknown="ignore"), [0, 1]), numbers],
        "rare": [
            ("rare", OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2), [0]),
            numbers,
        ],
        "targets": [("targets", TargetEncoder(random_state=0), [0]), numbers],
        "filled": [("filled", make_pipeline(gone, OneHotEncoder()), [1]), numbers],
    }
    for name, one in columns.items():
        machine = LinearSVC() if name == "filled" else rbf()
        emissions = {"flags": (*FLOATS, Q15), "filled": (*SHORT, DEVICE, SQL)}.get(name, SHORT)
        yield (
            f"categories-{name}",
            Case(goods, scaled(machine, ColumnTransformer(one)), emissions=emissions),
        )


def head_cases() -> Iterator[tuple[str, Case]]:
    """Ways to give labels and probabilities."""
    yield "platt-two", Case(moons, rbf(probability=True, random_state=0), emissions=PROVEN)
    blobs = (*PROVEN, BLOB, BLOB | DOUBLE)
    yield "platt-three", Case(iris, rbf(probability=True, random_state=0), emissions=blobs)
    yield "density", Case(moons, DENSITY_MODEL, emissions=PROVEN)
    labels = {"most_probable": True}
    yield (
        "most-probable",
        Case(iris, rbf(probability=True, random_state=0), options=labels, emissions=SHORT),
    )
    for kind in ("sigmoid", "isotonic"):
        for name, data in (("two", moons), ("three", iris)):
            for ensemble in (True, False):
                model = CalibratedClassifierCV(rbf(), method=kind, cv=2, ensemble=ensemble)
                emissions = FLOATS if ensemble else SHORT
                yield (
                    f"{kind}-{name}-{'mean' if ensemble else 'one'}",
                    Case(data, model, emissions=emissions),
                )


def feature_cases() -> Iterator[tuple[str, Case]]:
    """Every kind of preprocessing."""
    columns = ColumnTransformer(
        [("a", StandardScaler(), [0, 2]), ("b", MinMaxScaler(), [1]), ("c", "passthrough", [3])]
    )
    steps = {
        "min-max": (MinMaxScaler(),),
        "min-max-clip": (MinMaxScaler(clip=True),),
        "max-abs": (MaxAbsScaler(),),
        "robust": (RobustScaler(),),
        "l1": (Normalizer("l1"),),
        "l2": (StandardScaler(), Normalizer("l2")),
        "max": (Normalizer("max"),),
        "pca": (PCA(3),),
        "whiten": (StandardScaler(), PCA(2, whiten=True)),
        "svd": (TruncatedSVD(2, random_state=0),),
        "select": (SelectKBest(k=2),),
        "powers": (PolynomialFeatures(2), StandardScaler()),
        "nystroem": (Nystroem(gamma=0.3, n_components=12, random_state=0),),
        "sampler": (RBFSampler(gamma=0.3, n_components=16, random_state=0),),
        "columns": (columns,),
        "yeo-johnson": (PowerTransformer(),),
        "box-cox": (PowerTransformer("box-cox", standardize=False),),
        "quantiles": (QuantileTransformer(n_quantiles=20),),
        "normal": (QuantileTransformer(n_quantiles=20, output_distribution="normal"),),
        "splines": (SplineTransformer(n_knots=4, extrapolation="linear"),),
        "splines-periodic": (SplineTransformer(n_knots=4, extrapolation="periodic"),),
        "union": (make_union(StandardScaler(), PCA(2)),),
    }
    for name, one in steps.items():
        whole = (Q15,) if name in ("min-max", "robust", "select", "columns") else ()
        emissions = (*(FLOATS if name in ("l2", "whiten", "columns") else (*SHORT, DEVICE)), *whole)
        yield f"front-{name}", Case(iris, scaled(rbf(), *one), emissions=emissions)
    filled = scaled(rbf(), SimpleImputer(add_indicator=True), StandardScaler())
    yield "front-imputer", Case(gaps, filled, emissions=FLOATS)
    yield "front-linear", Case(iris, scaled(LinearSVC(), PCA(3), StandardScaler()), emissions=FLOATS)
    waves = RBFSampler(gamma=0.3, n_components=40, random_state=0)
    yield "front-waves", Case(iris, scaled(LinearSVC(), waves), emissions=FLOATS)


def certain_cases() -> Iterator[tuple[str, Case]]:
    """The exact method with labels certain."""
    certain, square = {"labels": "certain"}, SVC(kernel="poly", degree=2, coef0=1.0)
    yield "certain-two", Case(cancer, scaled(rbf(gamma=0.01)), "exact", certain, PROVEN)
    yield "certain-three", Case(three_digits, rbf(gamma=0.02), "exact", certain, PROVEN)
    yield "certain-ties", Case(iris, SVC(break_ties=True), "exact", certain, SHORT)
    yield "certain-poly", Case(cancer, scaled(SVC(kernel="poly")), "exact", certain, PROVEN)
    yield "certain-square", Case(iris, square, "exact", certain, SHORT)
    yield "certain-rest", Case(iris, LinearSVC(), "exact", certain, PROVEN)
    yield "certain-zeros", Case(two_zeros, rbf(gamma=0.1), "exact", certain, PROVEN)


def proven_cases() -> Iterator[tuple[str, Case]]:
    """Methods that keep labels, on two classes and more, with the options that change what is emitted."""
    narrow, wide = rbf(gamma=8.0, C=1.0), rbf(gamma=0.05, C=1.0)
    yield "anytime-two", Case(moons, wide, "anytime", {"force": True}, PROVEN)
    yield "anytime-ten", Case(digits, rbf(gamma=0.02), "anytime", {"force": True}, PROVEN)
    yield "anytime-value", Case(moons, wide, "anytime", {"force": True, "tolerance": 0.01}, SHORT)
    asked = {"force": True, "own": "ask"}
    yield "anytime-given", Case(products, SVC(kernel="precomputed"), "anytime", asked, SHORT)
    force = {"force": True}
    yield "certified-two", Case(moons, rbf(), "certified", force, PROVEN)
    yield "certified-scaled", Case(cancer, scaled(rbf(gamma=0.01)), "certified", force, PROVEN)
    yield "certified-default", Case(cancer, scaled(rbf(gamma=0.01)), "certified", {}, PROVEN)
    for fallback in ("direct", "anytime", "jets"):
        yield (
            f"certified-{fallback}",
            Case(
                cancer,
                scaled(rbf(gamma=0.02)),
                "certified",
                force | {"fallback": fallback},
                (PORTABLE, HOST, ONNX),
            ),
        )
    yield "certified-order-3", Case(moons, rbf(), "certified", force | {"order": 3}, PROVEN)
    yield "certified-leaves", Case(moons, narrow, "certified", force | {"leaves": 16, "cells": 256}, SHORT)
    yield (
        "certified-poly",
        Case(cancer, scaled(SVC(kernel="poly", degree=3, coef0=1.0)), "certified", force, SHORT),
    )
    yield "certified-three", Case(three_digits, rbf(gamma=0.02), "certified", force, PROVEN)
    yield (
        "certified-ten",
        Case(digits, rbf(gamma=0.02), "certified", force, (PORTABLE, HOST, HOST | DOUBLE, ONNX)),
    )
    yield "certified-zeros", Case(two_zeros, rbf(gamma=0.1), "certified", force, PROVEN)
    picks = force | {"order": 2, "rank": 8, "leaves": 1}
    yield "certified-picks", Case(zeros_above, rbf(gamma=0.02), "certified", picks, PROVEN)
    picks = force | {"order": 3, "rank": 4, "leaves": 1, "tune": "portable"}
    yield "certified-picks-3", Case(zeros_above, rbf(gamma=0.02), "certified", picks, PROVEN)
    small = {"max_bytes": 16384, "tune": "portable"}
    yield (
        "certified-small",
        Case(cancer, scaled(rbf(gamma=0.01)), "certified", force | small, (PORTABLE, SOFT)),
    )


def approximate_cases() -> Iterator[tuple[str, Case]]:
    """The other methods, in the same way."""
    yield "linear-two", Case(cancer, scaled(rbf(gamma=0.03)), "linear", {}, (*WITH_WHOLE, SQL))
    yield "linear-ten", Case(digits, rbf(gamma=0.1), "linear", {"weights": "even"}, (*SHORT, Q15))
    yield "reduced-two", Case(cancer, scaled(rbf(gamma=0.03)), "reduced-set", {}, WITH_WHOLE)
    yield "reduced-ten", Case(digits, rbf(gamma=0.1), "reduced-set", {"move": False}, SHORT)
    short = {"max_bytes": 2000, "steps": 200, "synthetic_rows": 300}
    yield "proto-two", Case(cancer, scaled(rbf(gamma=0.03)), "proto", short, (*WITH_WHOLE, BLOB))
    yield "proto-ten", Case(digits, rbf(gamma=0.1), "proto", short | {"precision": "q7"}, WITH_WHOLE)
    in_bytes = short | {"precision": "q7", "projection": "bytes"}
    yield "proto-bytes", Case(digits, rbf(gamma=0.1), "proto", in_bytes, (Q7,))
    classes = {"move": False, "scores": "classes"}
    yield "reduced-classes", Case(digits, rbf(gamma=0.1), "reduced-set", classes, (*SHORT, Q7))
    shared = {"move": False, "scores": "shared", "budget": 20.0}
    yield "reduced-shared", Case(digits, rbf(gamma=0.1), "reduced-set", shared, (*SHORT, Q15, Q7, BLOB))
    yield "sv-tree-two", Case(cancer, scaled(rbf(gamma=0.03)), "sv-tree", {}, WITH_WHOLE)
    yield "sv-tree-ten", Case(digits, rbf(gamma=0.1), "sv-tree", {"max_depth": 5}, (*FLOATS, Q15))
    yield "sv-tree-fallback", Case(moons, rbf(), "sv-tree", {"fallback": True}, SHORT)
    yield "metric-two", Case(cancer, scaled(rbf(gamma=0.03)), "metric-tree", {}, (*WITH_WHOLE, BLOB, SQL))
    yield "metric-ten", Case(digits, rbf(gamma=0.1), "metric-tree", {}, (*FLOATS, Q15))
    yield "metric-quadratic", Case(moons, rbf(), "metric-tree", {"leaf": "quadratic"}, FLOATS)
    yield "metric-plane", Case(cancer, scaled(rbf(gamma=0.1)), "metric-tree", {"split": "midpoint"}, FLOATS)
    yield "metric-i8", Case(moons, rbf(), "metric-tree", {"dtype": "i8"}, (*SHORT, DEVICE))
    yield "metric-guard", Case(moons, rbf(), "metric-tree", {"guard": "target", "reach": 2.0}, FLOATS)
    yield "h1-two", Case(moons, rbf(), "h1-tree", {}, WITH_WHOLE)
    yield "h1-three", Case(three_digits, rbf(gamma=0.1), "h1-tree", {"sample": 500}, FLOATS)
    yield "h1-f16", Case(moons, rbf(), "h1-tree", {"planes": "f16"}, (*SHORT, DEVICE))
    yield "h1-proven", Case(moons, rbf(), "h1-tree", {"proven": True}, SHORT)
    yield "h1-train", Case(moons, None, "h1-tree", {"end": "svm"}, SHORT)
    yield "dtsvm-reuse", Case(moons, rbf(), "dtsvm", {"jobs": 1}, (*FLOATS, Q15), with_labels=True)
    grid = {"C": "1,100", "gamma": "1", "jobs": 1, "ceiling": 150}
    yield "dtsvm-train", Case(moons, None, "dtsvm", grid, WITH_WHOLE)
    yield "dtsvm-text", Case(text, None, "dtsvm", grid | {"ceiling": 60}, (PORTABLE, HOST))
    yield "dtsvm-ten", Case(digits, None, "dtsvm", grid | {"gamma": "0.1", "ceiling": 400}, (*FLOATS, Q15))


CASES: dict[str, Case] = dict(
    case
    for group in (
        exact_cases, text_cases, category_cases, head_cases, feature_cases, certain_cases, proven_cases,
        approximate_cases,
    )
    for case in group()
)  # fmt: skip


def program_of(case: Case) -> Any:
    """The program of a case."""
    X, y = case.data()
    if isinstance(case.model, str):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "density.model"
            path.write_text(case.model)
            return sc.compile(path, method=case.method, X=X, **case.options)
    if case.model is None:
        return sc.train(X, y, method=case.method, **case.options)
    model = case.model.fit(X) if isinstance(case.model, OneClassSVM) else case.model.fit(X, y)
    labels = {"y": y} if case.with_labels else {}
    return sc.compile(model, method=case.method, X=X, **labels, **case.options)


def emit_case(name: str) -> Iterator[tuple[str, Files]]:
    """Every emission of a case: how it is told apart, and its files."""
    case = CASES[name]
    program = program_of(case)
    for emission in case.emissions:
        yield _emission_name(emission), sc.emit(program, name="model", X=case.data()[0], **emission)


def _emission_name(emission: Mapping[str, Any]) -> str:
    words = [str(value) for key, value in emission.items() if key not in ("kit", "soft_double")]
    return "-".join([*words, *(["kits"] if "kit" in emission else [])]) or "default"

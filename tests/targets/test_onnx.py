"""ONNX files mean what the program means: on decision values first, then on labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from svmcompile.accelerate.registry import accelerate
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.model.front import clip, scale
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.optimise.centre import centre_kernels
from svmcompile.runtime.onnx import OnnxModel, load_onnx
from svmcompile.targets.onnx.model import emit

ROWS = 10_000
PRECISIONS = ("f32", "f64")
EPSILON = 6e-8  # half of float32's
ESTIMATORS: dict[str, tuple[Any, int]] = {  # name -> (estimator, classes)
    "rbf-2": (SVC(), 2),
    "rbf-3": (SVC(), 3),
    "rbf-4-ovo": (SVC(decision_function_shape="ovo"), 4),
    "rbf-5-break-ties": (SVC(break_ties=True, C=0.3), 5),
    "linear-3": (SVC(kernel="linear"), 3),
    "poly-2": (SVC(kernel="poly", degree=3, gamma=0.3, coef0=1.0), 2),
    "poly-3": (SVC(kernel="poly", degree=5, gamma=0.2, coef0=0.5), 3),
    "sigmoid-3": (SVC(kernel="sigmoid", gamma=0.1, coef0=-0.2), 3),
    "nu-3": (NuSVC(nu=0.4), 3),
    "svr": (SVR(), 0),
    "nu-svr-poly": (NuSVR(kernel="poly", degree=2, gamma=0.2, coef0=1.0), 0),
    "one-class": (OneClassSVM(nu=0.2), 1),
}


def sample(classes: int, rows: int, seed: int = 0, mean: float = 0.0) -> tuple[Any, Any]:
    """Overlapping clouds in six dimensions, in numbers float32 can hold, and their classes."""
    centres = np.random.default_rng(7).normal(0, 1.2, (max(classes, 1), 6))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, max(classes, 1), rows)
    X = (centres[y] + rng.normal(size=(rows, 6)) + mean).astype(np.float32).astype(np.float64)
    return X, y


def fitted(name: str) -> Any:
    estimator, classes = ESTIMATORS[name]
    X, y = sample(classes, 300)
    return estimator.fit(X, y if classes else np.sin(X[:, 0]))


def svm_of(model: Any) -> SVM:
    """A kernel estimator as an SVM."""
    kernel = Kernel(model.kernel, float(model._gamma), float(model.coef0), int(model.degree))
    parts = model.support_vectors_, model.dual_coef_, model.intercept_
    svm = SVM(kernel, *parts, LabelRule.NONE, Source("test", "00"))
    if isinstance(model, OneClassSVM):
        svm = replace(svm, label_rule=LabelRule.POSITIVE_SECOND, labels=Labels((-1, 1), "<i8"))
    elif hasattr(model, "classes_"):
        svm = replace(svm, label_rule=LabelRule.NEGATIVE_FIRST, labels=Labels.of(model.classes_, "model"))
        if len(model.classes_) > 2:
            svm = replace(
                svm,
                label_rule=LabelRule.ARGMAX if model.break_ties else LabelRule.VOTE,
                counts=tuple(int(count) for count in model.n_support_),
                one_vs_rest_scores=model.decision_function_shape == "ovr",
            )
    return svm.check("model")


def exact(model: Any) -> Program:
    return accelerate(model if isinstance(model, SVM) else svm_of(model), None, "exact", {})


def hand_made(body: Any, tables: Any, width: int, outputs: Any, labels: Labels | None = None) -> Program:
    origin = Origin("test", "00", 0, 0, "exact", Claim.EXACT)
    named = tuple(Output(name, value) for name, value in outputs.items())
    arrays = {name: np.asarray(table, dtype=np.float64) for name, table in tables.items()}
    return check(Program(Input(width), tuple(body), named, arrays, labels, origin))


def run(program: Program, precision: str) -> OnnxModel:
    content = emit(program, "model", precision)["model.onnx"]  # type: ignore[arg-type]
    return load_onnx(content, program.labels, program.n_features)


def scores_of(model: Any, rows: Any) -> Any:
    """Scores of a classifier, values of a regressor, from anything that predicts."""
    regressor = isinstance(model, (SVR, NuSVR)) or getattr(model, "labels", 0) is None
    return model.predict(rows) if regressor else model.decision_function(rows)


# float64: the original to the last label


@pytest.mark.parametrize("name", ESTIMATORS)
def test_double_equals_original_and_interpreter(name: str) -> None:
    model = fitted(name)
    program = exact(model)
    compiled = run(program, "f64")
    rows, _ = sample(ESTIMATORS[name][1], ROWS, seed=1)
    tolerance = 1e-10 * np.abs(model.dual_coef_).sum()
    found = scores_of(compiled, rows)
    for reference in (model, program):
        np.testing.assert_allclose(found, scores_of(reference, rows), rtol=0, atol=tolerance)
    if program.labels:
        assert (compiled.predict(rows) == model.predict(rows)).all()
        assert compiled.predict(rows).dtype == model.predict(rows).dtype


def test_votes_that_tie_go_to_the_first_class() -> None:
    X, y = sample(4, 400)
    y[::2] = np.random.default_rng(8).integers(0, 4, 200)  # noise makes the pairs contradict each other
    model = SVC(decision_function_shape="ovo", gamma=0.1).fit(X, y)
    rows, _ = sample(4, 20_000, seed=2)
    pairs = model.decision_function(rows)
    votes = np.zeros((len(rows), 4), int)
    for column, (i, j) in enumerate(pair_indices(4)):
        votes[:, i] += pairs[:, column] > 0
        votes[:, j] += pairs[:, column] <= 0
    assert ((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum() > 50
    for precision in PRECISIONS:
        same = run(exact(model), precision).predict(rows) == model.predict(rows)
        assert same[np.abs(pairs).min(axis=1) > (rbf_bound(model, rows) if precision == "f32" else 0)].all()


def test_break_ties_changes_labels_as_in_the_original() -> None:
    data = sample(5, 400)
    rows, _ = sample(5, 20_000, seed=3)
    with_rule, without = (SVC(gamma=2.0, break_ties=rule).fit(*data) for rule in (True, False))
    assert (with_rule.predict(rows) != without.predict(rows)).any()
    for model in (with_rule, without):
        assert (run(exact(model), "f64").predict(rows) == model.predict(rows)).all()


# float32: within the stated bound


def rbf_bound(model: Any, rows: Any) -> float:
    """The bound on float32 sums of centred RBF kernels."""
    spread = np.square(rows - model.support_vectors_.mean(axis=0)).sum(axis=1).max()
    return float(EPSILON * np.abs(model.dual_coef_).sum() * (1 + model._gamma * spread))


def bounded_errors(program: Program, model: Any, rows: Any, bound: Any) -> int:
    """Rows whose score leaves the bound, or whose label differs although no pair is within it."""
    compiled, wanted = run(program, "f32"), scores_of(model, rows).reshape(len(rows), -1)
    outside = np.abs(scores_of(compiled, rows).reshape(len(rows), -1) - wanted).max(axis=1) > bound
    clear = np.abs(wanted).min(axis=1) > bound
    return int((outside | ((compiled.predict(rows) != model.predict(rows)) & clear)).sum())


@pytest.mark.parametrize("mean", [0.0, 10.0, 100.0, 1000.0, 10000.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_float_rbf_stays_within_the_bound_after_centring(mean: float, classes: int) -> None:
    model = SVC(decision_function_shape="ovo", gamma=0.2).fit(*sample(classes, 300, mean=mean))
    rows, _ = sample(classes, ROWS, seed=4, mean=mean)
    program = centre_kernels(exact(model))
    assert bounded_errors(program, model, rows, rbf_bound(model, rows)) == 0


def test_float_rbf_fails_at_a_large_mean_without_centring() -> None:
    """The test above can fail: this is what centring is for."""
    model = SVC(gamma=0.2).fit(*sample(2, 300, mean=1000.0))
    rows, _ = sample(2, ROWS, seed=4, mean=1000.0)
    bound = rbf_bound(model, rows)
    assert bounded_errors(exact(model), model, rows, bound) > ROWS // 10
    assert (run(exact(model), "f32").predict(rows) != model.predict(rows)).sum() > 100


def test_float_rbf_on_pixels() -> None:
    X, y = load_digits(return_X_y=True)
    X = np.rint(X * (255 / 16))
    model = SVC(C=100, decision_function_shape="ovo").fit(X[::2], y[::2])
    assert bounded_errors(centre_kernels(exact(model)), model, X, rbf_bound(model, X)) == 0


@pytest.mark.parametrize("name", ["linear-3", "poly-2", "poly-3", "sigmoid-3", "nu-svr-poly"])
def test_float_dot_products_stay_within_their_rounding(name: str) -> None:
    model = fitted(name)
    if hasattr(model, "decision_function_shape"):
        model.decision_function_shape = "ovo"
    rows, _ = sample(3, ROWS, seed=5)
    kernel = svm_of(model).kernel
    sizes = np.abs(kernel.gamma) * (np.abs(rows) @ np.abs(model.support_vectors_).T) + abs(kernel.coef0)
    growth = {"poly": kernel.degree * sizes**kernel.degree}.get(kernel.kind, sizes)
    bound = 4 * EPSILON * (1 + growth) @ np.abs(model.dual_coef_).sum(axis=0) + EPSILON
    if name == "nu-svr-poly":
        assert (np.abs(run(exact(model), "f32").predict(rows) - model.predict(rows)) <= bound).all()
    else:
        assert bounded_errors(exact(model), model, rows, bound) == 0


def test_scaling_by_numbers_that_float_cannot_hold() -> None:
    """A rounded mean of 10000.1 would shift the data by a tenth of its spread."""
    X, y = sample(2, 300)
    mean, spread = np.full(6, 10000.1), 0.01
    rows = (X * spread + mean).astype(np.float32).astype(np.float64)
    scaled = (rows - mean) / spread
    model = SVC(gamma=0.2).fit(scaled, y)
    front = scale(mean, np.full(6, 1 / spread)).then(clip(-50.0, 50.0))
    program = exact(replace(svm_of(model), front=front))
    assert (
        np.abs(run(program, "f32").decision_function(rows) - model.decision_function(scaled)).max() < 1e-4
    )


# heads, labels and shapes


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("positive, hit", [(True, 1), (True, 0), (False, 0)])
def test_threshold_at_exactly_zero(precision: str, positive: bool, hit: int) -> None:
    """Two mirrored vectors: the sum is exactly 0 at 0."""
    body = [
        ir.KernelSum("sums", "x", "vectors", "weights", "bias", Kernel("rbf", 0.5)),
        ir.Threshold("label", "sums", positive, hit, 1 - hit),
    ]
    tables = {"vectors": [[1.0], [-1.0]], "weights": [[1.0, -1.0]], "bias": [0.0]}
    program = hand_made(body, tables, 1, {"scores": "sums", "label": "label"}, Labels((10, 20), "<i8"))
    rows = np.array([[0.0], [0.1], [-0.1], [np.nan]])
    compiled = run(program, precision)
    assert compiled.decision_function(rows, allow_nan=True)[0] == 0.0
    assert compiled.predict(rows, allow_nan=True).tolist() == program.predict(rows).tolist()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_heads_with_zero_and_nan_pairs(precision: str) -> None:
    affine = ir.Affine("pairs", "x", "eye", "zero", "zero")
    scores = ir.OvrScores("scores", "pairs", 3)
    tables = {"eye": np.eye(3), "zero": np.zeros(3)}
    rows = np.array(np.meshgrid(*[[-1.0, 0.0, 2.0, np.nan]] * 3)).reshape(3, -1).T
    for head in (ir.Vote("label", "pairs", 3), ir.ArgMax("label", "scores"), ir.ArgMax("label", "pairs")):
        outputs = {"scores": "scores", "label": "label"}
        program = hand_made([affine, scores, head], tables, 3, outputs, Labels(("a", "b", "c"), "<U1"))
        compiled = run(program, precision)
        expected = program.decision_function(rows)
        found = compiled.decision_function(rows, allow_nan=True)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert (compiled.predict(rows, allow_nan=True) == program.predict(rows)).all()


CLASSES = {
    "int": np.array([3, 7, 11]),
    "negative": np.array([-1, 1], dtype=np.int32),
    "bool": np.array([False, True]),
    "string": np.array(["no", 'yes, "really"', "naïve ✓\n"]),
    "object": np.array(["a", "b"], dtype=object),
    "float32": np.array([0.5, 2.0], dtype=np.float32),
    "float": np.array([0.1, 1e300, 2.0]),
    "uint64": np.array([1, 2**64 - 1], dtype=np.uint64),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", CLASSES)
def test_labels_of_every_type(kind: str, precision: str) -> None:
    classes = CLASSES[kind]
    X, y = sample(len(classes), 200)
    svm = replace(svm_of(SVC().fit(X, y)), labels=Labels.of(classes, "test"))
    found = run(exact(svm), precision).predict(X)
    assert found.dtype == classes.dtype
    assert found.tolist() == exact(svm).predict(X).tolist()
    assert set(found.tolist()) == set(classes.tolist())


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["rbf-2", "rbf-5-break-ties", "poly-3", "svr"])
def test_any_number_of_rows(name: str, precision: str) -> None:
    program = exact(fitted(name))
    compiled = run(program, precision)
    rows, _ = sample(3, 3000, seed=6)
    whole = scores_of(compiled, rows)
    for count in (0, 1, 3, 1000, 1025):
        part = scores_of(compiled, rows[:count])
        assert part.shape == scores_of(program, rows[:count]).shape
        np.testing.assert_allclose(part, whole[:count], rtol=0, atol=1e-13)
        assert compiled.predict(rows[:count]).shape == (count,)

"""sv-tree: from an SVM and data to a program, and what it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits, moons, svm_of, wave
from sklearn.datasets import load_iris, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.fitting.rows import fitting_rows, labels_of, margin_rule
from svmcompile.accelerate.sv_tree.method import SvTreeOptions, calibrate, judged_models, kernel_matrix
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Claim


def tree(model: Any, X: Any, **options: Any) -> Any:
    return sc.compile(model, method="sv-tree", X=X, **options)


def ringnorm(count: int, seed: int) -> tuple[Any, Any]:
    """Breiman's two overlapping clouds of different width."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=count)
    X = random.normal(size=(count, 20))
    return np.where(y[:, None] == 0, 2 * X, X + 2 / np.sqrt(20)), y


@pytest.mark.parametrize("options, least", [({"paper": True}, 0.94), ({}, 0.96)])
def test_ringnorm_needs_few_kernel_values(options: dict[str, Any], least: float) -> None:
    X, y = ringnorm(400, 0)
    rows, labels = ringnorm(3000, 1)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.1)).fit(X, y)
    program = tree(model, X, **options)
    assert np.mean(program.predict(rows) == labels) >= least
    assert program.cost(rows).mean_kernel_evaluations <= 12
    assert program.claim is Claim.APPROXIMATE


def test_a_cap_on_the_depth_holds() -> None:
    X, _, model = moons()
    for depth in (1, 3, 8):
        assert tree(model, X, max_depth=depth).cost().max_kernel_evaluations <= depth


def test_the_published_form_heeds_a_height_and_unscaled_columns() -> None:
    X, _, model = moons()
    for options in ({}, {"coef": "plain"}):
        low, high = (tree(model, X, paper=True, max_depth=depth, **options) for depth in (3, 0))
        assert low.cost().max_kernel_evaluations == 3 < high.cost().max_kernel_evaluations
        assert np.mean(high.predict(X) == model.predict(X)) > 0.97
    own = set(svm_of(model).weights_by_sum.ravel())
    assert set(tree(model, X, paper=True, coef="plain").tables["tree_weights"].ravel()) <= own


def test_the_best_balanced_tree_beats_the_greedy_one_of_its_height() -> None:
    X, _, model = moons()
    best, greedy = (tree(model, X, paper=True, max_depth=2, balanced=on) for on in (True, False))
    assert best.cost().max_kernel_evaluations == 2
    same = [np.mean(program.predict(X) == model.predict(X)) for program in (best, greedy)]
    assert same[0] > same[1]


def test_each_part_can_be_left_out() -> None:
    X, _, model = moons()
    for options in (
        {"coef": "scale"}, {"coef": "affine"}, {"linear": "on"}, {"linear": "off"}, {"cache": False},
        {"purity_stop": False}, {"synthetic_rows": 0}, {"min_rows": 40}, {"ridge": 3.0},
    ):  # fmt: skip
        program = tree(model, X, **{"synthetic_rows": 600, **options})
        assert np.mean(program.predict(X) == model.predict(X)) > 0.9, options
        has_linear = any(isinstance(node, ir.Affine) for node in program.body)
        assert has_linear == (options.get("linear") == "on") or "linear" not in options


def test_same_input_same_bytes() -> None:
    X, _, model = moons()
    for options in ({}, {"paper": True}):
        assert tree(model, X, **options) == tree(model, X, **options)
    assert tree(model, X, paper=True) != tree(model, X, paper=True, seed=1)


def test_the_fallback_keeps_labels() -> None:
    X, _, model = moons()
    rows = np.random.default_rng(5).normal(size=(2000, 2)) * X.std(axis=0) + X.mean(axis=0)
    plain, guarded = (tree(model, X, max_depth=3, fallback=on) for on in (False, True))
    same = [np.mean(program.predict(rows) == model.predict(rows)) for program in (plain, guarded)]
    assert same[1] > max(0.99, same[0])
    vectors = svm_of(model).n_vectors
    assert guarded.cost(rows).mean_kernel_evaluations < 0.4 * vectors
    found = guarded.origin.details["fallback"]
    assert found["width"] > 0 and 0 < found["held_out_share"] < 0.4


def test_the_whole_quantile_leaves_no_error_where_it_was_taken() -> None:
    X, _, model = moons()
    svm, options = svm_of(model), SvTreeOptions(max_depth=2)
    rows = fitting_rows(svm, Data(X), 500, 1000, 0)
    K, at = kernel_matrix(svm.kernel, rows.z, svm.vectors), np.arange(len(rows.z))
    for one in judged_models(svm, options, K, rows, at[::2], at[1::2]):
        wanted = rows.sums[1::2]
        assert (labels_of(svm, one.sums) != labels_of(svm, wanted)).any()
        found = calibrate(svm, wanted, one.sums, 1.0)
        sure = margins(one.sums, margin_rule(svm)) >= found.width
        assert (labels_of(svm, one.sums) == labels_of(svm, wanted))[sure].all()
        assert found.agreement == 1.0 and found.fallback_share == np.mean(~sure)


def test_many_classes_in_one_tree() -> None:
    X, _, model = digits()
    program = tree(model, X[:600], synthetic_rows=1500)
    rows = X[600:]
    assert np.mean(program.predict(rows) == model.predict(rows)) > 0.9
    assert program.cost().max_kernel_evaluations <= 8
    assert program.decision_function(rows).shape == (300, 10)


def test_three_classes_choose_between_one_tree_and_three() -> None:
    X, y = make_blobs(300, centers=3, cluster_std=2.0, random_state=1)
    model = SVC(gamma=0.2).fit(X, y)
    shared, pairs, auto = (
        tree(model, X, multiclass=kind, synthetic_rows=600) for kind in ("shared", "pairs", "auto")
    )
    kinds = [sum(isinstance(node, ir.PathSum) for node in one.body) for one in (shared, pairs)]
    assert kinds == [1, 3]
    for program in (shared, pairs, auto):
        assert np.mean(program.predict(X) == model.predict(X)) > 0.95
    assert {one["trees"] for one in auto.origin.details["tried"]} == {1, 3}


def test_a_regression_has_a_tree_but_no_fallback() -> None:
    X, _, model = wave()
    assert np.abs(tree(model, X).predict(X) - model.predict(X)).max() < 0.05
    with pytest.raises(OptionError, match="regressor"):
        tree(model, X, fallback=True)


@pytest.mark.compile
@pytest.mark.parametrize("target", ["c", "onnx"])
def test_emitted_code_is_the_interpreter(target: str, tmp_path: Any) -> None:
    X, _, model = moons()
    rows = np.random.default_rng(6).normal(size=(3000, 2)) * X.std(axis=0) + X.mean(axis=0)
    program = tree(model, X, fallback=True)
    sc.write(sc.emit(program, target, "tree", precision="f64"), tmp_path)
    bounds = error_bounds(program, rows, "f64")
    gap = np.abs(sc.load(tmp_path).decision_function(rows) - program.decision_function(rows))
    assert (gap <= 2 * bounds.scores[:, 0])[~bounds.unstable].all()
    assert bounds.unstable.mean() < 0.01


@pytest.mark.compile
@pytest.mark.parametrize("target", ["c", "onnx"])
def test_kernel_values_are_enough(target: str, tmp_path: Any) -> None:
    """A precomputed kernel: no vectors, no rows made up."""
    X, y, _ = moons()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    model = SVC(kernel="precomputed").fit(K[:300, :300], y[:300])
    program = tree(model, K[:300, :300])
    rows = K[300:, :300]
    assert np.mean(program.predict(rows) == model.predict(rows)) > 0.9
    assert program.cost().max_kernel_evaluations <= 8
    sc.write(sc.emit(program, target, "given", precision="f64"), tmp_path)
    fast = sc.load(tmp_path)
    np.testing.assert_allclose(fast.decision_function(rows), program.decision_function(rows), rtol=1e-12)
    rows = rows.copy()
    unused = np.setdiff1d(np.arange(300), program.tables["tree_vectors"].ravel())
    rows[:, unused] = np.nan  # no one looks at them
    assert np.isfinite(program.decision_function(rows)).all()
    assert np.isfinite(fast.decision_function(rows, allow_nan=True)).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"coef": "none"}, "coef='none'"),
        ({"linear": "maybe"}, "linear='maybe'"),
        ({"multiclass": "all"}, "multiclass='all'"),
        ({"max_depth": -1}, "max_depth must be at least 0, got -1"),
        ({"coef": "plain", "linear": "on"}, "coef=plain keeps the SVM's own coefficients"),
        ({"balanced": True, "max_depth": 5}, "set max_depth to 3 at most"),
        ({"min_rows": 0}, "min_rows must be at least 1, got 0"),
        ({"synthetic_rows": -1}, "synthetic_rows must be at least 0"),
        ({"ridge": -1.0}, "ridge must be at least 0, got -1"),
        ({"ridge": float("nan")}, "ridge must be at least 0, got nan"),
        ({"fallback_quantile": 1.5}, "fallback_quantile must be from"),
        ({"depth": 3}, "no option 'depth'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    X, _, model = moons()
    with pytest.raises(OptionError, match=message):
        tree(model, X, **options)


def test_data_is_needed_and_must_be_finite() -> None:
    _, _, model = moons()
    with pytest.raises(OptionError, match="needs data"):
        sc.compile(model, method="sv-tree")
    with pytest.raises(OptionError, match="no row whose values are all finite"):
        tree(model, np.full((3, 2), np.nan))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_rows_make_a_small_tree(count: int) -> None:
    X, _, model = moons()
    assert tree(model, X[:count], synthetic_rows=0).predict(X).shape == (400,)


def test_exact_is_recommended_where_it_is_faster() -> None:
    """A path of kernel values one after another does not pay for few vectors."""
    X, y = load_iris(return_X_y=True)
    few = sc.compile(SVC().fit(X, y == 1), method="sv-tree", X=X)
    assert any("method exact is expected to be" in note for note in few.origin.notes)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 40))
    many = SVC(C=1e-2).fit(rows, rows[:, 0] + rng.normal(size=1500) > 0)
    assert len(many.support_) > 1000
    assert not sc.compile(many, method="sv-tree", X=rows, max_depth=4).origin.notes

"""DTSVM in front of a given SVM: what it keeps, what it chooses, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits, svm_of, wave
from scipy.linalg import block_diag
from sklearn.datasets import make_classification, make_moons
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.dtsvm.reuse import Given, class_bounds
from svmcompile.accelerate.dtsvm.tree import Tree, grow, overlapping_rows, own_rows
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.flow.program import compile_svm
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source


@cache
def moons() -> tuple[Any, Any, Any]:
    """More rows than a leaf holds, with noise in the labels, and a machine behind a scaler."""
    X, y = make_moons(2000, noise=0.3, random_state=0)
    X = X * [3.0, 0.5] + [10.0, -2.0]
    return X, y, make_pipeline(StandardScaler(), SVC(C=2.0, gamma=1.0)).fit(X[:1500], y[:1500])


def compiled(**options: Any) -> Any:
    X, y, model = moons()
    return sc.compile(model, method="dtsvm", X=X[:1500], y=y[:1500], **options)


TWO_LEVELS = Tree(
    np.array([0, 1], np.int32),
    np.array([0.0, 1.0]),
    np.array([[~0, 1], [~1, ~2]], np.int32),
    np.array([6, 4]),
    np.array([2, 2, 2]),
)
ROWS = np.array([[-3.0, 0.0], [-0.4, 1.2], [0.0, 9.0], [0.5, 0.9], [2.0, 1.0], [2.0, 1.5]])


def test_cells_by_hand() -> None:
    """Half a unit on either side of each split; on the threshold is near it."""
    spread = np.array([1.0, 2.0])
    assert [rows.tolist() for rows in own_rows(TWO_LEVELS, ROWS)] == [[0, 1, 2], [3, 4], [5]]
    cells = overlapping_rows(TWO_LEVELS, ROWS, 0.25, spread)
    assert [rows.tolist() for rows in cells] == [[0, 1, 2], [3, 4, 5], [2, 3, 4, 5]]
    cells = overlapping_rows(TWO_LEVELS, ROWS, 0.5, spread)
    assert [rows.tolist() for rows in cells] == [[0, 1, 2, 3], [1, 3, 4, 5], [1, 2, 3, 4, 5]]


def test_no_overlap_is_no_overlap_bit_for_bit() -> None:
    """Rows that stand exactly on a threshold are no exception."""
    cells = overlapping_rows(TWO_LEVELS, ROWS, 0.0, np.ones(2))
    assert [rows.tolist() for rows in cells] == [rows.tolist() for rows in own_rows(TWO_LEVELS, ROWS)]
    one, other = (compiled(ceiling=200, delta=delta) for delta in (0, "0,0"))
    assert {n: t.tobytes() for n, t in one.tables.items()} == {
        n: t.tobytes() for n, t in other.tables.items()
    }


def test_overlap_never_changes_the_way_of_a_row() -> None:
    X, _, _ = moons()
    apart, over = (compiled(ceiling=200, delta=delta, min_leaf=0) for delta in (0, 0.5))
    for name in ("tree_features", "tree_thresholds", "tree_children"):
        assert np.array_equal(apart.tables[name], over.tables[name])
    leaf = [interpret_values(program, X, ["leaf"])["leaf"] for program in (apart, over)]
    assert (leaf[0] == leaf[1]).all()
    assert len(over.tables["leaf_vectors"]) > len(apart.tables["leaf_vectors"])


def test_every_training_row_is_in_its_own_cell() -> None:
    X, y, _ = moons()
    tree = grow(X, y, 150)
    for own, cell in zip(own_rows(tree, X), overlapping_rows(tree, X, 0.3, X.std(axis=0)), strict=True):
        assert set(own.tolist()) <= set(cell.tolist())


@pytest.mark.parametrize("model", ["two classes", "ten classes"])
def test_a_ceiling_above_all_rows_is_the_given_svm(model: str) -> None:
    X, y, svm = moons() if model == "two classes" else digits()
    program = sc.compile(svm, method="dtsvm", X=X[:600], y=y[:600], ceiling=10**6)
    assert (program.predict(X) == svm.predict(X)).all()
    assert np.allclose(program.decision_function(X), svm.decision_function(X), atol=1e-9)
    assert any("the result is the given SVM" in note for note in program.origin.notes)


def test_pure_leaves_give_their_label_and_meet_nothing() -> None:
    """Two leaves by hand: a step at zero, and to its right a border in the other feature."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    model = SVC(C=100, gamma=2.0).fit(X, y)
    program = sc.compile(model, method="dtsvm", X=X, ceiling=400, delta=0, min_leaf=0)
    leaf = interpret_values(program, X, ["leaf"])["leaf"]
    counts = np.diff(program.tables["leaf_starts"])
    assert (counts == 0).any() and (counts > 0).any()
    pure = np.isin(leaf, np.flatnonzero(counts == 0))
    classes = program.tables["leaf_members"][program.tables["leaf_firsts"][leaf[pure]]]
    assert (program.predict(X[pure]) == classes).all()
    assert program.cost(X[pure]).mean_kernel_evaluations == 0
    assert program.cost(X).mean_kernel_evaluations == pytest.approx(counts[leaf].mean())
    details = program.origin.details
    assert details["nesv_unique"] == pytest.approx(counts[leaf].mean())
    assert details["nesv"] == details["nesv_unique"]  # one problem per leaf
    assert details["tnsv"] == counts.sum()


def test_learning_from_the_model_makes_more_leaves_pure() -> None:
    """Label noise, as in census data, is gone from what the SVM predicts."""
    X, y = make_classification(3000, 6, n_informative=4, flip_y=0.25, class_sep=1.2, random_state=4)
    model = SVC(C=1.0, gamma=0.1).fit(X, y)
    own, noisy = (
        sc.compile(model, method="dtsvm", X=X, y=y, labels=labels, ceiling=300, delta=0)
        for labels in ("model", "given")
    )
    assert own.origin.details["pure_share"] >= 3 * noisy.origin.details["pure_share"]
    assert own.origin.details["nesv_unique"] < noisy.origin.details["nesv_unique"] / 2


def test_the_cheapest_that_proves_the_target_is_chosen() -> None:
    X, _, model = moons()
    program = compiled(target=0.95)
    tried = program.origin.details["tried"]
    able = [one for one in tried if one["meets_target"]]
    chosen = program.origin.details["held_out"]
    assert chosen["flops"] == min(one["flops"] for one in able)
    assert chosen["proven_agreement"] >= 0.95
    assert (program.predict(X[1500:]) == model.predict(X[1500:])).mean() > 0.95
    assert program.cost(X[1500:]).mean_kernel_evaluations < len(model[-1].support_) / 5


def test_a_target_out_of_reach_gives_the_svm_itself_and_says_so() -> None:
    X, _, model = moons()
    program = compiled(target=0.9999)
    assert (program.predict(X) == model.predict(X)).all()
    assert "proves the target agreement of 99.99%" in program.origin.notes[-1]


def test_a_ceiling_asked_for_is_kept_whatever_the_target() -> None:
    program = compiled(target=0.9999, ceiling=100)
    assert program.origin.details["ceiling"] == 100
    assert "does not prove the target" in program.origin.notes[-1]


def test_the_report_holds_the_terms_of_the_error_bound() -> None:
    program = compiled(ceiling=300, delta=0)
    bound, leaves = program.origin.details["error_bound"], program.origin.details["leaves"]
    assert bound["T1"] == pytest.approx(bound["R"] * np.log10(1500) ** 2)
    assert bound["T2"] == pytest.approx(leaves * np.log10(2 * 1500 * leaves**2))
    assert 0.01 < bound["R_over_S"] < 100
    assert {"leaves", "pure_share", "nesv", "nesv_unique", "tnsv", "bytes"} <= set(program.origin.details)
    assert {"agreement", "accuracy", "rows"} <= set(program.origin.details["held_out"])


def test_scores_have_the_sign_of_the_original() -> None:
    """scikit-learn means the second class above zero, LIBSVM's own files the first."""
    X, _, model = moons()
    svm = svm_of(model)
    turned = replace(
        svm,
        coefficients=-svm.coefficients,
        intercepts=-svm.intercepts,
        label_rule=LabelRule.POSITIVE_FIRST,
    )
    options = {"ceiling": 200, "delta": 0}
    one, other = (compile_svm(s, "dtsvm", Data(X[:1500]), options) for s in (svm, turned))
    assert np.array_equal(one.predict(X), other.predict(X))
    assert np.allclose(one.decision_function(X), -other.decision_function(X))
    agree = np.sign(one.decision_function(X)) == np.sign(model.decision_function(X))
    assert agree.mean() > 0.9


def test_kernels_may_see_other_features_than_trees() -> None:
    """The tree asks the row as it comes, whatever the kernel is given."""
    X, y, _ = digits()
    model = make_pipeline(StandardScaler(), PCA(7), SVC(C=5.0)).fit(X[:600], y[:600] % 2)
    for options in ({"ceiling": 200}, {"mode": "search"}):
        program = sc.compile(model, method="dtsvm", X=X[:600], y=y[:600] % 2, **options)
        assert (program.predict(X[600:]) == model.predict(X[600:])).mean() > 0.85


def test_several_classes_give_labels_only() -> None:
    X, y, model = digits()
    program = sc.compile(model, method="dtsvm", X=X[:600], y=y[:600], ceiling=200)
    assert program.output("scores") is None
    assert any("labels only" in note for note in program.origin.notes)
    with pytest.raises(UnsupportedError, match="no decision function"):
        program.decision_function(X)
    assert (program.predict(X[600:]) == model.predict(X[600:])).mean() > 0.85


def one_against_others(X: Any, y: Any) -> SVM:
    """An SVM with a sum per class, each of a machine of its own."""
    machines = [SVC(C=5.0, gamma=0.05).fit(X, y == label) for label in range(10)]
    return SVM(
        Kernel("rbf", 0.05),
        np.concatenate([one.support_vectors_ for one in machines]),
        block_diag(*[one.dual_coef_ for one in machines]),
        np.array([one.intercept_[0] for one in machines]),
        LabelRule.ARGMAX,
        Source("test", "0" * 64),
        Labels(tuple(range(10)), "<i8"),
    ).check("test")


def test_one_against_the_others_stays_so() -> None:
    X, y, _ = digits()
    svm = one_against_others(X[:600], y[:600])
    program = compile_svm(svm, "dtsvm", Data(X[:600]), {"ceiling": 300})
    node = next(n for n in program.body if isinstance(n, ir.LeafSums))
    assert node.rule == "ovr"
    meant = compile_svm(svm, "exact", None, {}).predict(X[600:])
    assert (program.predict(X[600:]) == meant).mean() > 0.85


def test_search_trains_another_classifier() -> None:
    X, y, _ = moons()
    program = compiled(mode="search")
    details = program.origin.details
    assert (program.predict(X[1500:]) == y[1500:]).mean() > 0.88
    assert sorted({one["C"] for one in details["search"]}) == pytest.approx([0.2, 2.0, 20.0])
    assert "new classifier" in program.origin.notes[0]


@pytest.mark.parametrize("weights", [None, {0: 1.0, 1: 4.0}], ids=["plain", "weighted"])
def test_c_and_class_weights_come_from_the_coefficients(weights: Any) -> None:
    X, y, _ = moons()
    model = SVC(C=3.0, gamma=0.5, class_weight=weights).fit(X, y)
    bounds = class_bounds(svm_of(model), 2)
    assert bounds == pytest.approx([3.0, 12.0] if weights else [3.0, 3.0])
    theta = Given.of(svm_of(model), Data(X)).theta(0.0)
    assert abs(theta.C - (12.0 if weights else 3.0)) < 1e-9
    assert theta.class_weights == (pytest.approx((0.25, 1.0)) if weights else ())


def test_equal_input_gives_equal_bytes() -> None:
    assert compiled(target=0.95) == compiled(target=0.95)


def test_refusals() -> None:
    X, y, model = moons()
    with pytest.raises(OptionError, match="needs data"):
        sc.compile(model, method="dtsvm")
    with pytest.raises(OptionError, match="labels=given needs labels"):
        sc.compile(model, method="dtsvm", X=X, labels="given")
    with pytest.raises(OptionError, match="mode=search trains on the data's labels"):
        sc.compile(model, method="dtsvm", X=X, mode="search")
    with pytest.raises(OptionError, match="row 3 of the data holds a NaN"):
        sc.compile(model, method="dtsvm", X=np.where(np.arange(len(X))[:, None] == 3, np.nan, X))
    with pytest.raises(OptionError, match="row 0 is not one of the SVM's classes"):
        sc.compile(model, method="dtsvm", X=X, y=y + 7, labels="given")
    rows, _, regressor = wave()
    with pytest.raises(UnsupportedError, match="is for classifiers"):
        sc.compile(regressor, method="dtsvm", X=rows)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "other"},
        {"labels": "none"},
        {"target": 1.0},
        {"confidence": 0.0},
        {"validation": 1.5},
        {"ceiling": -1},
        {"delta": -0.1},
        {"C": float("nan")},
        {"mode": "search", "C": 2.0},
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        compiled(**options)

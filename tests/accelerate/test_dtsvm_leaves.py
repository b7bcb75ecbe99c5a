"""The classifier of a leaf: constants, pairs, one against others, counts by hand, the bound's terms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from dtsvm_cases import digits_rows, moon_rows, options
from sklearn.svm import SVC

from svmcompile.accelerate.dtsvm.bound import leaf_risk, slacks, squared_norms, terms
from svmcompile.accelerate.dtsvm.leaves import Leaf, Task, Theta, constant, fit, predict, sums, votes
from svmcompile.accelerate.dtsvm.program import Decomposition, Scaling
from svmcompile.accelerate.dtsvm.training import train_classifier
from svmcompile.accelerate.dtsvm.tree import Tree
from svmcompile.ir.kernel import Kernel

RBF = Theta(Kernel("rbf", 0.001), 3.0)


def some_digits(count=300, classes=(2, 5, 7)):
    X, y = digits_rows()
    chosen = np.isin(y, classes)
    return X[chosen][:count], y[chosen][:count]


@pytest.mark.parametrize(
    "kernel",
    [Kernel("rbf", 0.001), Kernel("linear"), Kernel("poly", 0.01, 1.0, 2), Kernel("sigmoid", 1e-4, -1.0)],
    ids=lambda kernel: kernel.kind,
)
@pytest.mark.parametrize("classes", [(2, 5, 7), (3, 8)])
def test_pairs_are_those_of_libsvm(kernel, classes):
    X, y = some_digits(classes=classes)
    leaf = fit(Task(X, y, Theta(kernel, 2.0), "vote"))
    model = SVC(
        C=2.0, kernel=kernel.kind, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree,
        decision_function_shape="ovo",
    ).fit(X, y)  # fmt: skip
    rows = digits_rows()[0][1000:1300]
    found, wanted = sums(leaf, kernel, rows), model.decision_function(rows)
    wanted = wanted if len(classes) > 2 else -wanted[:, None]  # a pair above zero is for the first class
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())
    np.testing.assert_array_equal(predict(leaf, Theta(kernel, 2.0), "vote", rows), model.predict(rows))
    assert leaf.counts == tuple(model.n_support_) and leaf.converged


def test_two_classes_in_all_have_one_sum_for_the_second():
    X, y = moon_rows()
    theta = Theta(Kernel("rbf", 1.0), 1.0)
    leaf, model = fit(Task(X, y, theta, "sum")), SVC(C=1.0, gamma=1.0).fit(X, y)
    np.testing.assert_allclose(sums(leaf, theta.kernel, X)[:, 0], model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(predict(leaf, theta, "sum", X), model.predict(X))


def test_one_against_the_others_takes_the_largest_value():
    X, y = some_digits()
    leaf = fit(Task(X, y, RBF, "ovr"))
    rows = digits_rows()[0][1000:1200]
    each = [SVC(C=3.0, gamma=0.001).fit(X, y == label).decision_function(rows) for label in (2, 5, 7)]
    np.testing.assert_allclose(sums(leaf, RBF.kernel, rows), np.stack(each, axis=1), atol=1e-9)
    np.testing.assert_array_equal(
        predict(leaf, RBF, "ovr", rows), np.array([2, 5, 7])[np.argmax(each, axis=0)]
    )
    assert sum(leaf.counts) == len(leaf.vectors)


def test_of_two_classes_against_each_other_one_mirrors_the_other():
    X, y = some_digits(classes=(3, 8))
    one, pair = fit(Task(X, y, RBF, "ovr")), fit(Task(X, y, RBF, "vote"))
    found = sums(one, RBF.kernel, X)
    np.testing.assert_array_equal(found[:, 0], -found[:, 1])
    np.testing.assert_array_equal(predict(one, RBF, "ovr", X), predict(pair, RBF, "vote", X))


@pytest.mark.parametrize("rule", ["sum", "vote", "ovr"])
def test_a_pure_leaf_is_a_constant_without_vectors(rule):
    leaf = fit(Task(np.ones((5, 3)), np.full(5, 1), RBF, rule))
    assert leaf.is_pure and leaf.unique_vectors == leaf.summed_vectors == 0
    assert predict(leaf, RBF, rule, np.zeros((4, 3))).tolist() == [1] * 4


def test_kernel_values_computed_once_give_the_same_leaf():
    X, y = some_digits()
    for rule in ("vote", "ovr"):
        task = Task(X, y, RBF, rule)
        plain, shared = fit(task), fit(task, RBF.kernel.values(X, X))
        np.testing.assert_array_equal(plain.vectors, shared.vectors)
        np.testing.assert_allclose(plain.weights, shared.weights, atol=1e-6)


def test_a_training_that_stops_early_is_told():
    X, y = moon_rows()
    assert not fit(Task(X, y, Theta(Kernel("rbf", 1.0), 1e6), "sum", max_iter=50)).converged


def test_ties_in_votes_go_to_the_lowest_class():
    pairs = np.array([[1.0, -1.0, 1.0]])  # each of three classes wins one
    assert votes(pairs, 3).tolist() == [[1, 1, 1]]
    leaf = Leaf(np.array([4, 6, 9]), 3, np.zeros((0, 1)), np.zeros((2, 0)), pairs[0], (0, 0, 0))
    assert predict(leaf, RBF, "vote", np.zeros((1, 1))).tolist() == [4]


def test_vectors_met_by_hand_in_two_leaves():
    """Left: constant. Right: four vectors, of which one serves two pairs. Three rows left, one right."""
    left = fit(Task(np.zeros((2, 1)), np.zeros(2, dtype=np.intp), RBF, "vote"))
    weights = np.array([[1.0, 1.0, 0.0, -2.0], [2.0, 0.0, -1.0, -1.0]])
    right = Leaf(np.array([0, 1, 2]), 8, np.arange(4.0)[:, None], weights, np.zeros(3), (2, 1, 1))
    tree = Tree(
        np.zeros(1, np.int32), np.array([0.5]), np.array([[-1, -2]], np.int32), np.array([10]),
        np.array([2, 8]),
    )  # fmt: skip
    model = Decomposition(tree, (left, right), RBF, "vote", Scaling.none(1))
    figures = model.figures(np.array([[0.0], [0.1], [0.5], [1.0]]))
    assert figures["nesv"] == 6 / 4 and figures["nesv_unique"] == 4 / 4
    assert figures["tnsv"] == 6 and figures["tnsv_unique"] == 4
    assert figures["nesv_stored"] == 8 / 4 and figures["tnsv_stored"] == 8  # four vectors times k - 1 = 2
    assert figures["leaves"] == 2 and figures["pure_share"] == 0.2


def test_terms_of_the_bound_by_hand():
    """Two vectors of distance 1: beta^2 = 2 (1 - k); rows at margin 0.5 and -1 have slacks 0.5 and 2."""
    theta = Theta(Kernel("rbf", math.log(2.0)), 1.0)
    leaf = Leaf(np.array([0, 1]), 2, np.array([[0.0], [1.0]]), np.array([[-1.0, 1.0]]), np.zeros(1), (1, 1))
    assert squared_norms(leaf, theta) == pytest.approx([1.0])
    (xi,) = slacks(leaf, "sum", np.array([[-0.5], [-1.0]]), np.array([0, 1]))
    assert xi.tolist() == [0.5, 2.0]
    risk = leaf_risk(leaf, Task(leaf.vectors, np.array([0, 1]), theta, "sum"))
    assert risk == pytest.approx(1.0 + 2 * 0.25)  # f = -0.5 and 0.5 there
    found = terms([replace(leaf, risk=risk)] * 3, "sum", 2, 1000, 4)
    assert found["R"] == pytest.approx(4.5) and found["R_per_leaf"] == pytest.approx(1.5)
    assert found["T1"] == pytest.approx(4.5 * 9) and found["T2"] == pytest.approx(3 * math.log10(4000 * 9))
    assert found["T1_printed"] == pytest.approx(4.5 * math.log2(1000)) and found["R_all"] == found["R"]


def test_the_mean_over_all_problems_counts_those_a_leaf_lacks_as_nothing():
    """Of four classes a leaf has two: one pair of six; one class against the others, two sums of four."""
    none, pair = np.zeros((0, 1)), np.array([0, 2])
    for rule, n_sums, share in (("vote", 1, 1 / 6), ("ovr", 2, 2 / 4)):
        leaf = Leaf(pair, 9, none, np.zeros((n_sums, 0)), np.zeros(n_sums), (0, 0), risk=12.0)
        found = terms([leaf], rule, 4, 100, 4)
        assert found["R"] == 12 and found["R_all"] == pytest.approx(12 * share)


def test_terms_fit_what_the_paper_prints():
    """Tables 13 and 14: T1 over R is log2 n, and T2 has base 10, on every set but KDD."""
    published = {  # n, features, leaves, R, T1, T2
        "PHW": (7328, 16, 8, 133, 1699, 55),
        "shuttle": (38667, 9, 14, 75630, 1152495, 110),
        "CI": (30148, 14, 53, 13599, 202354, 481),
        "poker": (16673, 10, 18, 874, 12253, 139),
    }
    for n, d, n_leaves, R, T1, T2 in published.values():
        leaf = replace(constant(0, 1, d, "sum"), risk=R / n_leaves)
        found = terms([leaf] * n_leaves, "sum", 2, n, d)
        assert found["T1_printed"] == pytest.approx(T1, rel=0.006) and round(found["T2"]) == T2
        assert abs(found["T1"] / T1 - 1) > 0.1


def test_norms_of_pairs_are_squares():
    X, y = some_digits()
    for rule, count in (("vote", 3), ("ovr", 3)):
        leaf = fit(Task(X, y, RBF, rule))
        norms = squared_norms(leaf, RBF)
        assert norms.shape == (count,) and (norms >= 0).all()
        assert len(slacks(leaf, rule, sums(leaf, RBF.kernel, X), y)) == count


@pytest.mark.parametrize("mode", ["1a1", "1ao"])
def test_a_ceiling_above_all_rows_is_the_plain_svm(mode):
    X, y = some_digits(400, (1, 4, 6, 9))
    _, y = np.unique(y, return_inverse=True)
    given = options(C=2, gamma=0.001, ceiling=1000, mode=mode, scale=False)
    trained = train_classifier(X, y, 4, given)
    assert trained.model.tree.n_leaves == 1 and trained.chosen is None
    if mode == "1a1":
        np.testing.assert_array_equal(
            trained.model.predict(digits_rows()[0]),
            SVC(C=2, gamma=0.001).fit(X, y).predict(digits_rows()[0]),
        )
    assert (trained.model.predict(X) == y).mean() > 0.99

"""reduced-set: how many vectors, how well they do, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits, moons, svm_of, wave
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.reduced_set.fit import moved, ridge_fit
from svmcompile.accelerate.reduced_set.select import select_by_features, select_by_rows
from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim

NAMES = ("rbf", "poly", "sigmoid", "linear")


def reduced(model: Any, X: Any = None, **options: Any) -> Any:
    return sc.compile(model, method="reduced-set", X=X, **options)


@pytest.mark.parametrize("budget, vectors", [(7, 7), (0.1, 10), (0.0001, 1)])
def test_budget_is_a_number_or_a_share(budget: float, vectors: int) -> None:
    X, _, model = moons()
    assert svm_of(model).n_vectors == 95
    program = reduced(model, X, budget=budget)
    assert program.cost().max_kernel_evaluations == vectors
    assert program.claim is Claim.APPROXIMATE
    assert program.origin.details["vectors"] == vectors


def test_few_vectors_do_nearly_as_well() -> None:
    X, _, model = moons()
    program = reduced(model, X, budget=10)
    assert np.mean(program.predict(X) == model.predict(X)) > 0.98
    assert program.origin.details["held_out_agreement"] > 0.97


def test_every_vector_is_the_svm_itself() -> None:
    X, _, model = moons()
    program = reduced(model, X, budget=svm_of(model).n_vectors)
    np.testing.assert_allclose(program.decision_function(X), model.decision_function(X), atol=1e-12)


def test_as_many_vectors_as_the_target_needs() -> None:
    X, _, model = moons()
    program = reduced(model, X, target=0.99)
    used = program.cost().max_kernel_evaluations
    assert program.origin.details["held_out_agreement"] >= 0.99
    assert used < 20
    few = reduced(model, X, budget=used - 1)
    assert few.origin.details["held_out_agreement"] < 0.99


def test_without_data_the_feature_space_decides() -> None:
    X, _, model = moons()
    few, many = (reduced(model, budget=count) for count in (8, 60))
    same = [np.mean(program.predict(X) == model.predict(X)) for program in (few, many)]
    assert same[1] > 0.97 and same[1] >= same[0]
    assert len(many.tables["vectors"]) == 60


def test_vectors_stay_candidates_when_they_may_not_move() -> None:
    _, _, model = digits()
    X = digits()[0][:600]
    program = accelerate(  # before passes move the vectors to their mean
        svm_of(model), Data(X), "reduced-set",
        {"budget": 40, "move": False, "candidates": "vectors"},
    )  # fmt: skip
    known = {row.tobytes() for row in svm_of(model).vectors}
    assert all(row.tobytes() in known for row in program.tables["vectors"])


def test_many_classes_share_their_vectors() -> None:
    X, _, model = digits()
    program = reduced(model, X[:600], budget=60)
    assert program.cost().max_kernel_evaluations == 60
    assert np.mean(program.predict(X[600:]) == model.predict(X[600:])) > 0.97
    assert program.decision_function(X[600:]).shape == model.decision_function(X[600:]).shape


def test_a_regression_is_reduced_by_its_values() -> None:
    X, _, model = wave()
    program = reduced(model, X, budget=10)
    assert np.abs(program.predict(X) - model.predict(X)).max() < 0.02


@pytest.mark.parametrize("kind", NAMES)
def test_every_kernel(kind: str) -> None:
    X, y, _ = moons()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = SVC(kernel=kind, gamma=0.5, coef0=0.5, degree=3).fit(X, y)
    program = reduced(model, X, budget=12)
    assert np.mean(program.predict(X) == model.predict(X)) > 0.97


def test_same_input_same_program_and_another_seed_another() -> None:
    X, _, model = moons()
    first, again, other = (reduced(model, X, budget=9, seed=seed) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.compile
def test_c_is_the_interpreter(tmp_path: Any) -> None:
    X, _, model = digits()
    program = reduced(model, X[:600], budget=30)
    sc.write(sc.emit(program, name="few", precision="f64"), tmp_path)
    found = sc.load(tmp_path).decision_function(X)
    bound = error_bounds(program, X, "f64").scores
    assert (np.abs(found - program.decision_function(X)) <= bound).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"budget": 0}, "budget 0"),
        ({"budget": -3}, "budget -3"),
        ({"budget": 2.5}, "budget 2.5"),
        ({"budget": "many"}, "budget must be a number, got 'many'"),
        ({"target": 1.5}, "target must be from 0 to 1, got 1.5"),
        ({"target": 0.9}, "pass X"),
        ({"candidates": "all"}, "candidates='all'"),
        ({"synthetic_rows": -1}, "synthetic_rows"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        reduced(moons()[2], **options)


def test_rows_that_are_not_finite_are_left_out() -> None:
    X, _, model = moons()
    spoilt = X.copy()
    spoilt[::3, 0] = np.nan
    assert np.mean(reduced(model, spoilt, budget=10).predict(X) == model.predict(X)) > 0.97
    with pytest.raises(OptionError, match="no row whose values are all finite"):
        reduced(model, spoilt[:1], budget=10)


def test_one_row_of_data_is_enough_to_run() -> None:
    X, _, model = moons()
    assert reduced(model, X[:1], budget=3).predict(X).shape == (400,)


def test_selection_takes_the_columns_that_make_up_the_target() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(50, 12))
    targets = values[:, [3, 7]] @ np.array([[2.0], [-1.0]]) + 4.0
    assert set(select_by_rows(values, targets, 2)) == {3, 7}
    assert len(select_by_rows(np.repeat(values[:, :2], 3, axis=1), targets, 6)) == 2  # two directions


def test_selection_in_feature_space_spans_the_machine() -> None:
    random = np.random.default_rng(1)
    vectors, kernel = random.normal(size=(30, 3)), Kernel("rbf", 0.5)
    gram = kernel.values(vectors, vectors)
    targets = gram[:, [4, 20]] @ np.array([[1.0], [-3.0]])
    order = select_by_features(lambda i: gram[:, i], np.diag(gram), targets, 30)
    assert len(set(order)) == len(order)
    for count in (5, 10):
        chosen = order[:count]
        left = targets - gram[:, chosen] @ np.linalg.solve(gram[np.ix_(chosen, chosen)], targets[chosen])
        assert np.abs(left).max() < (1.0 if count == 5 else 0.2)


@pytest.mark.parametrize("kind", NAMES)
def test_moving_lowers_the_loss(kind: str) -> None:
    random = np.random.default_rng(2)
    rows, vectors = random.normal(size=(80, 3)), random.normal(size=(4, 3))
    kernel = Kernel(kind, 0.4, 0.3, 3)  # type: ignore[arg-type]
    targets = np.sin(rows[:, :1])
    weights = np.ones(len(rows))

    def loss(at: Any) -> float:
        values = kernel.values(rows, at)
        return float(np.square(ridge_fit(values, targets, weights, 1e-7).predict(values) - targets).mean())

    before, after = loss(vectors), loss(moved(kernel, vectors, rows, targets, weights, 30, rows))
    # Four vectors already span every linear function of three features.
    assert after < 0.7 * before or kind == "linear"
    assert after <= before * (1 + 1e-9)


def test_as_many_vectors_as_the_error_asks_for() -> None:
    X, _, model = wave()
    program = reduced(model, X, max_error=0.02)
    used = program.cost().max_kernel_evaluations
    assert program.origin.details["held_out_error"] <= 0.02 and used < svm_of(model).n_vectors
    assert reduced(model, X, max_error=0.2).cost().max_kernel_evaluations < used


def test_scores_of_classes_take_fewer_numbers_and_keep_labels() -> None:
    X, _, model = digits()
    pairs, classes = (reduced(model, X[:600], budget=60, scores=kind) for kind in ("pairs", "classes"))
    assert (pairs.tables["weights"].shape, classes.tables["weights"].shape) == ((45, 60), (10, 60))
    same = [np.mean(one.predict(X[600:]) == model.predict(X[600:])) for one in (pairs, classes)]
    assert same[0] > 0.98 and same[1] > 0.96  # of fewer numbers by half
    assert classes.decision_function(X).shape == (len(X), 10)
    assert (classes.decision_function(X).argmax(axis=1) == classes.predict(X)).all()
    assert any("least pair value" in note for note in classes.origin.notes)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_pairs_share_weights_where_that_takes_fewer_numbers(shape: str) -> None:
    X, y, _ = digits()
    model = SVC(decision_function_shape=shape).fit(X[:600], y[:600])
    pairs, shared = (reduced(model, X[:600], budget=60, scores=kind) for kind in ("pairs", "shared"))
    rank = shared.origin.details["rank"]
    assert shared.tables["weights"].shape == (rank, 60) and shared.tables["mixing"].shape == (45, rank)
    assert rank * (60 + 45) < 60 * 45
    held = [one.origin.details["held_out_agreement"] for one in (pairs, shared)]
    assert held[1] >= held[0] - 0.001
    assert np.mean(shared.predict(X[600:]) == model.predict(X[600:])) > 0.96
    assert shared.decision_function(X).shape == model.decision_function(X).shape


def test_one_vector_has_no_weights_to_share() -> None:
    X, _, model = digits()
    program = reduced(model, X[:600], budget=1, scores="shared")
    assert program.origin.details["rank"] is None and program.tables["weights"].shape == (45, 1)


@pytest.mark.compile
@pytest.mark.parametrize("precision", ["f32", "q15", "q7"])
def test_shared_weights_in_c(precision: Any, tmp_path: Any) -> None:
    X, _, model = digits()
    program = reduced(model, X[:600], budget=60, scores="shared")
    if precision != "f32":
        fixed = sc.quantise(program, precision, X[:600])
        assert [type(node).__name__ for node in fixed.body][:3] == ["Quantise", "FixedSum", "FixedAffine"]
        assert np.mean(fixed.predict(X[600:]) == program.predict(X[600:])) > 0.985
        program = fixed
    sc.write(sc.emit(program, name="few", precision=precision), tmp_path)
    loaded = sc.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), program.predict(X))
    scale = np.abs(program.decision_function(X)).max()
    np.testing.assert_allclose(loaded.decision_function(X), program.decision_function(X), atol=1e-5 * scale)


@pytest.mark.parametrize(
    "options, fitted, message",
    [
        ({"scores": "classes"}, {"decision_function_shape": "ovo"}, "decision values are those of pairs"),
        ({"scores": "classes", "X": None}, {}, "fitted to data"),
        ({"scores": "shared", "X": None}, {}, "shared by rows; pass X"),
        ({"target": 0.9, "max_error": 0.1}, {}, "target or max_error, not both"),
        ({"max_error": 0.1, "X": None}, {}, "max_error is measured on data"),
        ({"scores": "each"}, {}, "scores='each'"),
    ],
)
def test_scores_and_errors_that_cannot_be_had(
    options: dict[str, Any], fitted: dict[str, Any], message: str
) -> None:
    X, y, _ = digits()
    model = SVC(**fitted).fit(X[:300], y[:300])
    with pytest.raises(OptionError, match=message):
        reduced(model, **{"X": X[:300], **options})
    with pytest.raises(OptionError, match="no scores of pairs"):
        reduced(moons()[2], moons()[0], scores="classes")
    with pytest.raises(OptionError, match="has 1 sum alone, or use scores=pairs"):
        reduced(moons()[2], moons()[0], scores="shared")

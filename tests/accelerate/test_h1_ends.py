"""Who takes rows that no half-space answers: held-out rows choose, and the choice holds on rows to come."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.accelerate.h1_tree.ends import FOLDS, decided, is_as_good, splits
from svmcompile.accelerate.h1_tree.grow import Growth, _is_hopeless, closed, grow
from svmcompile.accelerate.h1_tree.options import H1TrainOptions
from svmcompile.accelerate.h1_tree.record import interval_of
from svmcompile.accelerate.h1_tree.rows import Sample
from svmcompile.ir.bounds import error_bounds

METHOD = "h1-tree"
SHORT = {"max_nodes": 15}


def stripes(n: int = 1000):
    """Stripes of two classes: planes part them, a wide RBF kernel does not."""
    X = np.random.default_rng(3).uniform(0, 1, size=(n, 2))
    return X, (np.floor(4 * X.sum(axis=1)) % 2).astype(int)


def noisy(n: int = 1000):
    """A plane, and a fifth of the labels wrong."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 6))
    return X, ((X @ [1.0, 2, 0, 0, -1, 0] > 0) ^ (rng.random(n) < 0.2)).astype(int)


SETS = {
    "stripes": stripes,
    "noisy": noisy,
    "moons": lambda: make_moons(1000, noise=0.2, random_state=5),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "three": lambda: make_classification(
        1200, 8, n_informative=5, n_classes=3, class_sep=0.8, random_state=7
    ),
}


def accuracy(model, X, y) -> float:
    return float((model.predict(X) == y).mean())


@pytest.mark.parametrize("name", SETS)
def test_the_default_is_as_good_as_the_best_of_lists_and_machines_alone(name):
    X, y = SETS[name]()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:250], order[250:]
    program = sc.train(X[train], y[train], method=METHOD, **SHORT)
    rivals = {
        "lists": sc.train(X[train], y[train], method=METHOD, end="label", noise=0.0, **SHORT),
        "linear": make_pipeline(StandardScaler(), LinearSVC(dual="auto")).fit(X[train], y[train]),
        "rbf": make_pipeline(StandardScaler(), SVC(gamma=1 / X.shape[1])).fit(X[train], y[train]),
    }
    best = max(accuracy(rival, X[test], y[test]) for rival in rivals.values())
    found, n = accuracy(program, X[test], y[test]), len(test)
    assert found >= best - 2 * np.sqrt(best * (1 - best) / n) - 1 / n
    details = program.origin.details
    assert details["choice"]["rows"] == len(train) - len(np.unique(y))
    tried = [one["accuracy"] for one in details["choice"]["tried"]]
    assert min(tried) <= details["validation_accuracy"] <= max(tried)


def test_labels_are_not_bound_to_what_the_machine_can():
    X, y = stripes(1000)
    rbf = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X[:400], y[:400])
    published = sc.train(X[:400], y[:400], method=METHOD, paper=True, end="svm")
    lists = sc.train(X[:400], y[:400], method=METHOD, end="label", noise=0.0)
    assert accuracy(published, X[400:], y[400:]) > accuracy(rbf, X[400:], y[400:]) + 0.05
    assert accuracy(lists, X[400:], y[400:]) > accuracy(rbf, X[400:], y[400:]) + 0.05


def test_a_list_does_not_lose_to_one_plane_on_noisy_labels():
    X, y = noisy(1200)
    one = make_pipeline(StandardScaler(), LinearSVC(dual="auto")).fit(X[:300], y[:300])
    bare = sc.train(X[:300], y[:300], method=METHOD, end="label", noise=0.0, **SHORT)
    program = sc.train(X[:300], y[:300], method=METHOD, end="plane", **SHORT)
    assert accuracy(bare, X[300:], y[300:]) < accuracy(one, X[300:], y[300:]) - 0.02
    assert accuracy(program, X[300:], y[300:]) >= accuracy(one, X[300:], y[300:]) - 0.01
    assert program.origin.n_support_vectors == 0


@pytest.mark.compile
@pytest.mark.parametrize("options", [{"end": "svm"}, {"end": "plane", "planes": "int8"}], ids=str)
def test_both_backends_give_the_interpreters_labels(options, tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], np.array(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])[y[:400]]
    program = sc.train(X[:200], y[:200], method=METHOD, **options)
    rows = X.astype(np.float32)
    steady = ~error_bounds(program, rows, "f32").unstable
    assert steady.mean() > 0.95 and accuracy(program, X[200:], y[200:]) > 0.9
    sc.write(sc.emit(program, ("c", "onnx"), "m"), tmp_path)
    for target in ("c", "onnx"):
        assert (sc.load(tmp_path, target=target).predict(rows) == program.predict(rows))[steady].all()


def test_every_node_says_how_it_was_found_and_what_its_region_holds():
    X, y = stripes(500)
    names = np.array(["black", "white"])[y]
    program = sc.train(X, names, method=METHOD, end="label", noise=0.0, validation=0.3)
    details = program.origin.details
    nodes, rest = details["nodes"][:-1], details["nodes"][-1]
    assert details["regions_on"] == "rows held out" and details["rows"] == {"lists": 350, "held_out": 150}
    assert len(nodes) == details["lists"]["planes"] and rest["program"] == "rest"
    assert sum(one["rows"] for one in details["nodes"]) == 150
    assert {one["program"] for one in nodes} <= {"C-SVM", "H1", "H1, reduced hull", "farthest row"}
    for one in nodes:
        assert {one["class"], one["hard_class"]} == {"black", "white"} and one["sign"] in (1, -1)
        low, high = one["interval"]
        assert one["share"] is None or 0 <= low <= one["share"] <= high <= 1
    right = sum(one["rows"] * (one["share"] or 0) for one in details["nodes"])
    held = splits(y, H1TrainOptions(validation=0.3))[0][1]
    assert right / 150 == pytest.approx(accuracy(program, X[held], names[held]), abs=1e-6)


def test_published_lists_name_the_published_programs():
    X, y = make_moons(300, noise=0.3, random_state=0)
    nodes = sc.train(X, y, method=METHOD, paper=True, level=1).origin.details["nodes"][:-1]
    assert {one["program"] for one in nodes} <= {"C-SVM", "H1", "H1, mean", "farthest row"}
    assert {one["perpendicular"] for one in nodes} == {True, False}
    assert {one["sign"] for one in nodes} == {1, -1} and not any(one["turned"] for one in nodes)


def test_lists_before_a_given_svm_tell_the_same():
    X, y = make_moons(600, noise=0.2, random_state=0)
    details = sc.compile(SVC().fit(X, y), method=METHOD, X=X, target=0.9).origin.details
    assert details["regions_on"] == "rows of the proof"
    assert sum(one["rows"] for one in details["nodes"]) == details["rows"]["proof"]
    assert details["nodes"][-1]["program"] == "SVM"


def test_intervals_are_those_of_clopper_and_pearson():
    from scipy.stats import binomtest

    for hits, n in ((0, 7), (3, 7), (7, 7), (58, 60)):
        wanted = binomtest(hits, n).proportion_ci(0.95, method="exact")
        assert interval_of(hits, n)[1] == pytest.approx([wanted.low, wanted.high], abs=1e-6)
    assert interval_of(0, 0) == (None, [0.0, 1.0])


def test_every_row_but_one_of_each_class_is_held_out_once():
    classes = np.repeat([0, 1, 2], [40, 20, 1])
    parts = splits(classes, H1TrainOptions())
    held = np.concatenate([held for _, held in parts])
    assert len(parts) == FOLDS and len(held) == len(np.unique(held)) == 58
    for kept, _ in parts:
        assert set(classes[kept]) == {0, 1, 2}


def test_what_is_as_good_as_the_best():
    best = np.ones(100, dtype=bool)
    assert is_as_good(best, best) and not is_as_good(np.arange(100) >= 1, best)
    assert is_as_good(np.arange(100) != 50, np.arange(100) > 3)
    assert (decided(np.array([[0.5], [-1.0], [0.0]])) == [1, 0, 0]).all()
    assert decided(np.array([[-1.0, 1.0, 1.0]]))[0] == 1


def test_a_closing_node_leaves_what_lies_between_open():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(-3, 0.5, size=(50, 2)), rng.normal(3, 0.5, size=(50, 2))])
    sample = Sample(points, np.repeat([1, -1], 50).astype(np.int8))
    found = closed(grow(sample, Growth()), sample, Growth())
    assert len(found.nodes) == 2 and found.nodes[-1].closing
    held = [node.holds(np.array([[0.0, 0.0], [-3, -3], [3, 3]])) for node in found.nodes]
    assert np.any(held, axis=0)[1:].all() and np.sum([node.holds(points) for node in found.nodes]) == 100


def test_a_list_that_would_never_end_is_given_up():
    assert _is_hopeless([1000 - n for n in range(21)], 150)
    assert not _is_hopeless([1000 - 20 * n for n in range(21)], 150)
    assert not _is_hopeless([1000] * 20, 150)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"end": "tree"}, "end='tree' is unknown"),
        ({"end": "plane", "paper": True}, "neither end=plane nor noise"),
        ({"noise": 0.1, "paper": True}, "neither end=plane nor noise"),
        ({"noise": 0.5}, "noise must be -1 or at least 0 and below 0.5"),
        ({"gamma": 0.5, "end": "plane"}, "gamma is for an RBF machine"),
        ({"validation": 0.95}, "validation must be"),
        ({"C": 0.0}, "C must be above 0"),
        ({"svm_rows": 3}, "svm_rows must be at least 10"),
        ({"target": 0.99}, "has no option 'target'"),
    ],
    ids=str,
)
def test_contradictions_are_refused(options, words):
    X, y = stripes(60)
    with pytest.raises(sc.OptionError, match=words):
        sc.train(X, y, method=METHOD, **options)


def test_one_row_per_class_makes_lists_and_nothing_else():
    program = sc.train([[0.0, 1.0], [2.0, 1.0]], ["left", "right"], method=METHOD)
    assert program.predict([[0.1, 1.0], [1.9, 1.0]]).tolist() == ["left", "right"]
    with pytest.raises(sc.OptionError, match="too few to hold some out"):
        sc.train([[0.0, 1.0], [2.0, 1.0]], [0, 1], method=METHOD, end="svm")


@pytest.mark.parametrize("end", ["auto", "plane", "svm"])
def test_rows_that_no_plane_parts_and_rows_that_one_does(end):
    y = np.arange(40) % 2
    same = sc.train(np.ones((40, 2)), y, method=METHOD, end=end)
    assert accuracy(same, np.ones((40, 2)), y) == 0.5
    apart = sc.train(np.eye(2)[y] + 0.1 * np.arange(40)[:, None], y, method=METHOD, end=end, noise=0.1)
    assert accuracy(apart, np.eye(2)[y] + 0.1 * np.arange(40)[:, None], y) == 1.0
    assert {one["noise"] for one in apart.origin.details["choice"]["tried"]} == {0.1}


def test_what_training_alone_knows_is_refused_for_a_given_svm():
    X, y = stripes(100)
    model = SVC().fit(X, y)
    for options, words in (({"end": "plane"}, "for training"), ({"noise": 0.1}, "without an SVM")):
        with pytest.raises(sc.OptionError, match=words):
            sc.compile(model, method=METHOD, X=X, **options)

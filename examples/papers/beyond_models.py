"""Our methods and what users pick instead, each at sizes up to a number of bytes, with C where it exists.

Bytes are those of float32 parameters, as the papers on small models count them: code is left out. A node of
a tree counts 8 (feature, threshold, child), a leaf 4. Rivals learn from the labels; their settings are the
best of a few on a fifth of the training rows, then they are trained on all.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from beyond_peers import Files, c_of_net, c_of_trees, onnx_of
from beyond_quadratic import Quadratic
from beyond_sets import SEED, rows_of, svm_of
from common import Split
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import svmcompile as sc

BUDGETS = (2, 16, 64)  # thousands of bytes
FEATURES_AT_MOST, VECTORS_AT_MOST, HIDDEN_AT_MOST, ROUNDS_AT_MOST = 500, 120, 128, 100
ATTEMPTS = 3  # at a size
HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Contender:
    """Labels of the test rows, bytes of parameters, and code that gives the labels."""

    labels: NDArray[Any]
    size: float  # bytes of parameters
    files: Files = field(default_factory=dict)
    onnx: bytes = b""


Family = Callable[[str], Iterator[tuple[str, Contender]]]  # of a set: name of each size, and who has it


def emitted(model: Any, data: Split, **options: Any) -> Contender:
    """What svmcompile makes of a model."""
    program = sc.compile(model, **options)
    plain = sc.emit(program, "c", "model", profile="portable")  # its tables have no padding
    size = json.loads(plain["model.json"])["cost"]["table_bytes"]
    return Contender(program.predict(data.X_test), size, sc.emit(program, "c", "model"))


def method(name: str, **options: Any) -> Family:
    """A method of ours as it is by default, or with some options."""

    def family(task: str) -> Iterator[tuple[str, Contender]]:
        data = rows_of(task)
        given = {} if name == "exact" else {"method": name, "X": data.X}
        yield "any", emitted(svm_of(task), data, **given, **options)

    return family


def sized(build: Callable[[str, int], Contender | None]) -> Family:
    """A family whose size can be chosen: as large as each budget allows."""

    def family(task: str) -> Iterator[tuple[str, Contender]]:
        last = None
        for budget in BUDGETS:
            made = build(task, 1000 * budget)
            if made is not None and (last is None or made.size > last):
                yield str(budget), made
                last = made.size

    return family


def outputs_of(task: str) -> tuple[int, int]:
    """Scores of one-vs-rest, and pairs of classes."""
    classes = len(svm_of(task).classes_)
    return (1 if classes == 2 else classes), classes * (classes - 1) // 2


def reduced_set(task: str, budget: int) -> Contender | None:
    data, svm = rows_of(task), svm_of(task)
    _, pairs = outputs_of(task)
    each = 4 * (data.X.shape[1] + 1 + pairs)
    vectors = min(budget // each - 2, VECTORS_AT_MOST, len(svm.support_) // 2)
    if vectors < 1:
        return None
    return emitted(svm, data, method="reduced-set", X=data.X, budget=float(vectors))


def metric_tree(task: str, budget: int) -> Contender | None:
    data = rows_of(task)
    made = emitted(svm_of(task), data, method="metric-tree", X=data.X, max_bytes=budget)
    return made if made.size <= budget else None


def tuned(candidates: Sequence[Any], data: Split) -> Any:
    """The best on a fifth of the training rows, trained on all of them."""
    order = np.random.default_rng(SEED).permutation(len(data.y))
    held, rest = np.split(order, [len(order) // 5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = [
            clone(one).fit(data.X[rest], data.y[rest]).score(data.X[held], data.y[held])
            for one in candidates
        ]
        return clone(candidates[int(np.argmax(scores))]).fit(data.X, data.y)


def features(kind: type[Any]) -> Callable[[str, int], Contender | None]:
    """Nystroem or random Fourier features before a linear SVM; compiled by svmcompile."""

    def build(task: str, budget: int) -> Contender | None:
        outputs, _ = outputs_of(task)
        most = min(FEATURES_AT_MOST, len(rows_of(task).y) // 2)
        count, made = min(budget // (4 * (rows_of(task).X.shape[1] + outputs + 1)), most), None
        for _ in range(ATTEMPTS):
            if count < 1:
                break
            found = pipeline(kind, task, count)
            if found.size > budget:  # tables have a little more than features
                count = min(count - 1, int(count * budget / found.size))
                continue
            made = found
            if 2 * found.size > budget or count == most:
                break
            count = min(int(count * budget / found.size), most)  # features are mostly zeros
        return made

    return build


def pipeline(kind: type[Any], task: str, count: int) -> Contender:
    data, gamma = rows_of(task), float(svm_of(task).gamma)
    candidates = [
        make_pipeline(
            kind(gamma=gamma, n_components=count, random_state=SEED), LinearSVC(C=cost, dual=False)
        )
        for cost in (1.0, 100.0)
    ]
    return emitted(tuned(candidates, data), data)


def boosted(task: str, budget: int) -> Contender | None:
    data = rows_of(task)
    outputs, _ = outputs_of(task)
    candidates = []
    for leaves in (4, 16):
        rounds = min(budget // (outputs * (8 * (leaves - 1) + 4 * leaves)), ROUNDS_AT_MOST)
        if rounds:
            settings = {"max_iter": rounds, "max_leaf_nodes": leaves, "learning_rate": 0.2}
            candidates.append(
                HistGradientBoostingClassifier(**settings, early_stopping=False, random_state=SEED)
            )
    if not candidates:
        return None
    model = tuned(candidates, data)
    trees = [tree.nodes for trees in model._predictors for tree in trees]
    size = sum(8 * len(nodes) - 4 * int(nodes["is_leaf"].sum()) for nodes in trees)
    return Contender(model.predict(data.X_test), size, c_of_trees(model, HERE), onnx_of(model, data.X_test))


def network(task: str, budget: int) -> Contender | None:
    data = rows_of(task)
    outputs, _ = outputs_of(task)
    hidden = min((budget // 4 - outputs) // (data.X.shape[1] + 1 + outputs), HIDDEN_AT_MOST)
    if hidden < 1:
        return None
    candidates = [
        make_pipeline(
            StandardScaler(),
            MLPClassifier((hidden,), alpha=alpha, max_iter=150, random_state=SEED),
        )
        for alpha in (1e-3, 1e-1)
    ]  # fmt: skip
    scaler, model = (step for _, step in tuned(candidates, data).steps)
    # Scaling goes into the first layer, so that it costs nothing.
    model.intercepts_[0] = model.intercepts_[0] - (scaler.mean_ / scaler.scale_) @ model.coefs_[0]
    model.coefs_[0] = model.coefs_[0] / scaler.scale_[:, None]
    size = 4 * sum(part.size for part in (*model.coefs_, *model.intercepts_))
    return Contender(model.predict(data.X_test), size, c_of_net(model, HERE), onnx_of(model, data.X_test))


def quadratic(task: str) -> Iterator[tuple[str, Contender]]:
    """Claesen's approximation, which has one size."""
    data, made = rows_of(task), Quadratic(svm_of(task))
    yield "any", Contender(made.predict(data.X_test), made.bytes, made.files(HERE))


FAMILIES: dict[str, Family] = {
    "exact": method("exact"),
    "certified": method("certified"),
    "sv-tree": method("sv-tree"),
    "dtsvm": method("dtsvm"),
    "h1-tree": method("h1-tree"),
    "planes": method("h1-tree", end="label"),
    "quadratic": quadratic,
    "reduced-set": sized(reduced_set),
    "metric-tree": sized(metric_tree),
    "nystroem": sized(features(Nystroem)),
    "fourier": sized(features(RBFSampler)),
    "boosting": sized(boosted),
    "network": sized(network),
}

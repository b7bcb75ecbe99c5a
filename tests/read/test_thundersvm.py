"""Models of ThunderSVM, where its build for processors (thundersvm-cpu) is installed."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import program_of

from svmcompile.read import read

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 5)).astype(np.float32).astype(np.float64)
ROWS = (1.5 * RANDOM.normal(size=(10_000, 5))).astype(np.float32).astype(np.float64)
TARGETS = {
    "three": np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.5]),
    "two": np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 7, -3),
    "bands": np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.7]),
    "values": np.sin(X[:, 0]) + X[:, 1],
    "none": None,
}
MACHINES = {
    "SVC": ({"C": 2.0}, ("three", "two")),
    "NuSVC": ({"nu": 0.3}, ("bands",)),
    "OneClassSVM": ({"nu": 0.2}, ("none",)),
    "SVR": ({"C": 2.0}, ("values",)),
    "NuSVR": ({"C": 2.0, "nu": 0.3}, ("values",)),
}
KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "polynomial": {"degree": 3, "gamma": 0.2, "coef0": 1.0},
    "sigmoid": {"gamma": 0.1, "coef0": 0.2},
}
SINGLE = 6e-6  # ThunderSVM computes kernel values in float32, and writes rho with six digits


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("kind", "target"), [(one, y) for one, (_, ys) in MACHINES.items() for y in ys])
def test_the_same_as_thundersvm(tmp_path, kind, target, kernel):
    library = pytest.importorskip("thundersvm", reason="thundersvm-cpu is not installed")
    estimator = getattr(library, kind)(kernel=kernel, **KERNELS[kernel], **MACHINES[kind][0])
    estimator.fit(X + (2.0 if target == "none" else 0.0), TARGETS[target])
    estimator.save_to_file(str(tmp_path / "a.model"))
    svm = read(tmp_path / "a.model", n_features=5)
    assert svm.source.kind.startswith("ThunderSVM")
    program, wanted = program_of(svm), np.ravel(estimator.predict(ROWS))
    sizes = np.abs(svm.kernel.values(ROWS, svm.vectors)) @ np.abs(svm.coefficients).sum(axis=0)
    limit = SINGLE * (sizes + np.abs(svm.intercepts).max())[:, None]
    if svm.labels is None:
        assert (np.abs(program.predict(ROWS) - wanted) <= limit[:, 0]).all()
        return
    scores = program.decision_function(ROWS).reshape(len(ROWS), -1)
    theirs = np.reshape(estimator.decision_function(ROWS), scores.shape)
    assert (np.abs(scores - theirs) <= limit).all()
    clear = (np.abs(scores) > limit).all(axis=1)
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(program.predict(ROWS)[clear], wanted[clear])


def test_probabilities_and_the_most_probable_class(tmp_path):
    library = pytest.importorskip("thundersvm", reason="thundersvm-cpu is not installed")
    estimator = library.SVC(gamma=0.3, probability=True).fit(X, TARGETS["three"])
    estimator.save_to_file(str(tmp_path / "a.model"))
    program = program_of(read(tmp_path / "a.model", n_features=5).by_probability())
    wanted = estimator.predict_proba(ROWS)
    np.testing.assert_allclose(program.predict_proba(ROWS), wanted, atol=1e-5)
    clear = np.diff(np.sort(wanted, axis=1)[:, -2:])[:, 0] > 1e-5
    np.testing.assert_array_equal(program.predict(ROWS)[clear], estimator.predict(ROWS)[clear])

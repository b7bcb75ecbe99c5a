"""The process that runs scikit-learn-intelex: orders on standard input, one line of JSON each in return."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from svmcompile.bench.result import LocalRunner


def main(path: str) -> None:
    """Answer `single N`, `batch`, `answers` and `single_answers N` until the input ends."""
    with np.load(path) as stored:
        model, rows, batch = _model(stored), stored["rows"], int(stored["batch"])
    runner = LocalRunner(model.predict, rows, batch)
    for line in sys.stdin:
        order, *numbers = line.split()
        result: Any = _obey(runner, order, [int(number) for number in numbers])
        print(json.dumps(result), flush=True)


def _obey(runner: LocalRunner, order: str, numbers: list[int]) -> Any:
    if order == "single":
        return runner.single(*numbers)
    if order == "batch":
        return runner.batch()
    answers = runner.single_answers(*numbers) if order == "single_answers" else runner.answers()
    return answers.tolist()


def _model(stored: Any) -> Any:
    """Its classifier, with the trained numbers put in place of training; the classes are 0 and 1."""
    import daal4py
    from sklearnex.svm import SVC

    daal4py.daalinit(1)  # one thread
    gamma, coef0, degree = stored["parameters"].tolist()
    vectors = stored["vectors"]
    model = SVC(kernel=str(stored["kernel"]), gamma=gamma, coef0=coef0, degree=int(degree))
    model.support_vectors_ = vectors
    model.dual_coef_ = stored["coefficients"]
    model.intercept_ = stored["intercepts"]
    model.classes_ = np.array([0, 1])
    model.n_features_in_ = vectors.shape[1]
    model._gamma = gamma
    model._sparse = False
    model.class_weight_ = np.ones(2)
    model._n_support = np.array([len(vectors), 0], dtype=np.int32)
    return model


if __name__ == "__main__":
    main(sys.argv[1])

"""Several labels per row: kernel values are computed once for all labels, beside an SVM for each.

Every digit gets four tags: even, above four, has a loop, is round. Compiles a OneVsRestClassifier of SVCs,
writes it to out/several_labels, and prints what a row costs and how many rows keep every tag.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import svmcompile as sc

TAGS = ("even", "above four", "has a loop", "is round")
LOOPS, ROUND = (0, 4, 6, 8, 9), (0, 3, 6, 8, 9)
TRAINED = 1000


def train() -> tuple[Any, Any]:
    """The classifier, and rows it has not seen."""
    X, y = load_digits(return_X_y=True)
    tags = np.stack([y % 2 == 0, y > 4, np.isin(y, LOOPS), np.isin(y, ROUND)], axis=1).astype(int)
    return OneVsRestClassifier(SVC(gamma=0.001)).fit(X[:TRAINED], tags[:TRAINED]), X[TRAINED:]


def main(folder: Path = Path("out/several_labels")) -> None:
    model, rows = train()
    program = sc.compile(model)
    sc.write(sc.emit(program, ("c", "onnx"), "tags"), folder)
    every = sum(one.n_support_.sum() for one in model.estimators_)
    once = program.cost().max_kernel_evaluations
    print(f"kernel values per row: {every} of one SVM per tag, {once} once for all")
    for target in ("c", "onnx"):
        found = sc.load(folder, target=target).predict(rows)
        same = (found == model.predict(rows)).all(axis=1).mean()
        print(f"{target}: all {len(TAGS)} tags the same on {same:.2%} of {len(rows)} rows")
    last = ", ".join(tag for tag, is_so in zip(TAGS, found[-1], strict=True) if is_so)
    print(f"the last row: {last}")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()

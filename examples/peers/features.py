"""Random features beside those of Nystroem, in compiled C: nanoseconds per row and feature.

    python examples/peers/features.py [FEATURES]

Pipelines of a kernel map and a linear SVM, 256 features by default, rows in batches on one thread. Rows are
made up: times depend on shapes and number types alone. Programs take turns; the least time of each counts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import svmcompile as sc

WIDTHS = {"ijcnn1": 22, "a9a": 123, "usps": 256, "mnist": 784}
MAPS = {"Nystroem": Nystroem, "random features": RBFSampler}
ROWS, TURNS = 4000, 9


def loaded(kind: type[Any], width: int, count: int, precision: str, folder: Path) -> Any:
    """The pipeline in C, built for this machine."""
    rows = np.random.default_rng(0).uniform(size=(4 * count, width))
    labels = rows.sum(axis=1) > width / 2
    sampler = kind(gamma=2 / width, n_components=count, random_state=0)
    model = make_pipeline(sampler, LinearSVC()).fit(rows, labels)
    sc.write(sc.emit(sc.compile(model), "c", "model", precision, "host"), folder)
    return sc.load(folder)


def nanoseconds(models: list[Any], rows: Any) -> list[float]:
    """The least time per row of each."""
    least = [np.inf] * len(models)
    for _ in range(TURNS):
        for place, model in enumerate(models):
            begin = time.process_time_ns()
            model.predict(rows)
            least[place] = min(least[place], (time.process_time_ns() - begin) / len(rows))
    return least


def main(words: list[str]) -> None:
    if not all(word.isdecimal() for word in words):
        raise SystemExit(__doc__)
    count = int(words[0]) if words else 256
    heads = " | ".join(f"{name}, ns" for name in MAPS)
    print(f"| columns | numbers | {heads} | of Nystroem |\n|{' --- |' * 5}")
    for name, width in WIDTHS.items():
        for precision in ("f32", "f64"):
            with tempfile.TemporaryDirectory() as folder:
                models = [
                    loaded(kind, width, count, precision, Path(folder, str(place)))
                    for place, kind in enumerate(MAPS.values())
                ]
                rows = np.random.default_rng(1).uniform(size=(ROWS, width))
                times = nanoseconds(models, rows.astype(np.float32 if precision == "f32" else np.float64))
            cells = [f"{width} ({name})", precision, *(f"{one / count:.2f}" for one in times)]
            print(f"| {' | '.join(cells)} | {times[1] / times[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

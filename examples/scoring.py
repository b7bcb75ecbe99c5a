"""How fast files are scored: `svmcompile predict` beside its reader, and beside pandas + scikit-learn.

    python examples/scoring.py [--rows 1000000] [--features 20] [--sklearn-rows 50000]

Writes a CSV and a Parquet file of random rows to a temporary folder, scores both, and prints a table.
Times are processor seconds of all threads. scikit-learn scores the first rows only; its time for all of
them is that of pandas plus rows times its time per row.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands import predict
from svmcompile.commands.options import PredictOptions
from svmcompile.data import iter_data

KINDS = ("csv", "parquet")


def main(arguments: list[str] | None = None) -> None:
    """Parse, write, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--sklearn-rows", type=int, default=50_000, help="rows that scikit-learn scores")
    parser.add_argument("--jobs", type=int, default=1, help="threads of predict")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame, model = make(folder, given.rows, given.features)
        print(f"{given.rows:,} rows x {given.features}, {model.n_support_.sum()} support vectors\n")
        heads = (
            "file",
            "size",
            "reader alone",
            "svmcompile predict",
            "pandas",
            "pandas + scikit-learn",
            "labels",
        )
        print(f"| {' | '.join(heads)} |")
        print("|---|---|---|---|---|---|---|")
        for kind in KINDS:
            print(row(folder / f"rows.{kind}", frame, model, given.sklearn_rows, given.jobs))


def make(folder: Path, rows: int, features: int) -> tuple[pd.DataFrame, SVC]:
    """The files, the rows in them, and a model that is compiled."""
    rng = np.random.default_rng(0)
    names = [f"f{n}" for n in range(features)]
    frame = pd.DataFrame(rng.normal(size=(rows, features)).round(6), columns=names)
    sample = frame[:400]
    model = SVC().fit(sample, np.where(sample.to_numpy()[:, :3].sum(axis=1) > 0, "yes", "no"))
    sc.write(sc.emit(sc.compile(model), name="model"), folder / "out")
    sc.load(folder / "out")  # builds the library, which is not to be timed
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    return frame, model


def row(path: Path, frame: pd.DataFrame, model: SVC, few: int, jobs: int) -> str:
    """One line of the table."""
    output = path.with_name("labels.csv")
    read = timed(lambda: [len(part.X) for part in iter_data(path, feature_names=tuple(frame.columns))])
    options = PredictOptions(folder=path.with_name("out"), data=path, output=output, jobs=jobs)
    scored = timed(lambda: predict.run(options))
    load: Callable[[Path], Any] = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
    pandas = timed(lambda: load(path))
    part = frame[:few]
    expected = model.predict(part)
    theirs = timed(lambda: model.predict(part)) * len(frame) / len(part)
    found = pd.read_csv(output, nrows=few).label
    same = f"{(found == expected).mean():.2%} the same"
    times = (f"{seconds:.2f} s" for seconds in (read, scored, pandas, pandas + theirs))
    return f"| {path.name} | {path.stat().st_size / 1e6:.0f} MB | {' | '.join(times)} | {same} |"


def timed(work: Callable[[], object]) -> float:
    """Processor seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()

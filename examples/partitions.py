"""Score a partitioned Parquet set in worker processes, through a library that is built once.

    python examples/partitions.py [--rows 200000] [--parts 8] [--workers 2]

`score_batches` takes and gives an iterator of frames, which is what Spark's `DataFrame.mapInPandas` calls:

    rows.mapInPandas(partial(score_batches, "out"), schema="id long, label string")

`score_batch` takes and gives one frame, which is what Ray's `Dataset.map_batches` calls:

    dataset.map_batches(partial(score_batch, "out"), batch_format="pandas")

Here Dask's workers do the same, a part each. They need the folder, numpy and svmcompile, but no compiler.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from sklearn.svm import SVC

import svmcompile as sc

FEATURES = [f"f{n}" for n in range(8)]


@cache
def load(folder: str) -> Any:
    """The compiled model, once per worker."""
    return sc.load(folder)


def score_batch(folder: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The id and label of each row of one frame."""
    return pd.DataFrame({"id": frame["id"], "label": load(folder).predict(frame[FEATURES])})


def score_batches(folder: str, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The same for frames that come one after the other."""
    for frame in frames:
        yield score_batch(folder, frame)


def score_part(folder: str, part: str, output: str) -> int:
    """Score one file of the set into another; the number of rows."""
    frame = pd.read_parquet(part)
    score_batch(folder, frame).to_parquet(output, index=False)
    return len(frame)


def write_set(folder: Path, rows: int, parts: int) -> SVC:
    """A model that is trained, its library, and the rows in parts."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, len(FEATURES))), columns=FEATURES)
    few = frame[:600]
    model = SVC().fit(few, np.where((few**2).sum(axis=1) > 7, "far", "near"))
    sc.write(sc.emit(sc.compile(model), ["c", "shared"], name="model"), folder / "out")
    frame.insert(0, "id", np.arange(rows))
    for kind in ("rows", "labels"):
        (folder / kind).mkdir(exist_ok=True)
    for number, indices in enumerate(np.array_split(np.arange(rows), parts)):
        frame.iloc[indices].to_parquet(folder / "rows" / f"part-{number}.parquet", index=False)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    folder = Path("out/partitions").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    model = write_set(folder, given.rows, given.parts)
    parts = sorted((folder / "rows").glob("*.parquet"))
    with (
        LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        begin = time.perf_counter()
        outputs = [folder / "labels" / part.name for part in parts]
        work = [
            client.submit(score_part, str(folder / "out"), str(part), str(output))
            for part, output in zip(parts, outputs, strict=True)
        ]
        rows = sum(client.gather(work))
        seconds = time.perf_counter() - begin
    found = pd.concat(map(pd.read_parquet, outputs)).sort_values("id")
    some = pd.concat(map(pd.read_parquet, parts)).sort_values("id")[:: max(1, rows // 5000)]
    expected = model.predict(some[FEATURES])
    same = (found.set_index("id").label[some["id"]].to_numpy() == expected).mean()
    print(f"{rows:,} rows in {len(parts)} parts, {given.workers} workers: {seconds:.2f} s")
    print(f"{same:.2%} of labels the same as scikit-learn's")


if __name__ == "__main__":
    main()

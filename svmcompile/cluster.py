"""Work on a Dask cluster: an address enters; within the block all that goes through joblib goes there.

A worker that dies loses what it was doing and nothing else: tasks carry their data, and others take over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.data import PredictionWriter, iter_data, partition_files
from svmcompile.errors import OptionError, ToolchainError
from svmcompile.extras import install
from svmcompile.flow.evaluation import find_program, read_c
from svmcompile.ir.program import Labels
from svmcompile.progress import steps

LOCAL = "local:"
RETRIES = 3  # of a task that fails; so often, too, a worker may die under it
CONNECT_SECONDS = 30
PRIVATE = "127.0.0.1:0"  # any free port, for this machine alone


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """joblib works on the cluster at `where`: a scheduler's address, or `local:N`. The client is given."""
    from joblib import parallel_config

    with _client(where) as client, parallel_config(backend="dask", client=client, retries=RETRIES):
        yield client


@contextmanager
def _client(where: str) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ToolchainError(f"a cluster needs Dask; run: {install('dask')}") from None
    if not where.startswith(LOCAL):
        try:
            client = Client(where, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise OptionError(f"--cluster {where}: no scheduler answers there ({error})") from None
        with client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=_count(where), threads_per_worker=1, processes=True, dashboard_address=PRIVATE
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _count(where: str) -> int:
    number = where.removeprefix(LOCAL)
    if not number.isdecimal() or int(number) < 1:
        raise OptionError(f"--cluster {where}: expected local:N with N processes, or an address")
    return int(number)


@dataclass(frozen=True, slots=True)
class Shipped:
    """A compiled model as its C source, which every worker builds once, and a file to score with it."""

    path: Path
    label: str | None
    model: tuple[str, str, str, Labels | None, tuple[str, ...]]  # name, source, header, labels, features
    n_features: int
    with_scores: bool


def predict_partitions(
    where: str, folder: Path, data: Path, output: Path, label: str | None, name: str | None, scores: bool
) -> dict[str, Any]:
    """Score the files of a folder on a cluster, one task each; predictions come in the files' order."""
    from joblib import Parallel, delayed

    stem, program = find_program(folder, name)
    if scores and program.output("scores") is None:
        raise OptionError("--scores: this model has no decision function")
    model = (stem, *read_c(folder, stem), program.labels, program.input.feature_names)
    files = [file.resolve() for file in partition_files(data)]
    tasks = [Shipped(file, label, model, program.n_features, scores) for file in files]
    kind: Literal["label", "value"] = "value" if program.labels is None else "label"
    done = 0
    with connected(where), steps("scoring", len(files)) as advance, PredictionWriter(output, kind) as sink:
        for values, found in Parallel(return_as="generator")(delayed(score)(task) for task in tasks):
            sink.write(values, found)
            done += len(values)
            advance(1)
    return {"model": stem, "rows": done, "output": str(output), "partitions": len(files)}


def score(task: Shipped) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """What a worker does: labels (or values) of one file, and scores where they are wanted."""
    model, names = _build(*task.model), task.model[-1]
    chunks = iter_data(task.path, label=task.label, n_features=task.n_features, feature_names=names)
    found = [
        (model.predict(chunk.X), model.decision_function(chunk.X) if task.with_scores else None)
        for chunk in chunks
    ]
    values = np.concatenate([values for values, _ in found])
    scores = [one for _, one in found if one is not None]
    return values, np.concatenate(scores) if scores else None


@lru_cache(maxsize=4)
def _build(
    name: str, source: str, header: str, labels: Labels | None, feature_names: tuple[str, ...]
) -> Any:
    from svmcompile.runtime.c import CModel

    return CModel(name, source, header, labels, feature_names)

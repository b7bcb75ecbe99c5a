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

from svmcompile.data import PredictionWriter, iter_data
from svmcompile.errors import OptionError, ToolchainError
from svmcompile.extras import install
from svmcompile.flow.evaluation import find_program, read_c
from svmcompile.flow.scoring import Scored, Scoring, chance_names, score, score_names
from svmcompile.ir.interpret import features_filled_in
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

    with _client(where) as client, parallel_config(backend=_backend(client)), _named_deaths():
        yield client


def _backend(client: Any) -> Any:
    """joblib's own for Dask; it also hears of tasks that are given up, instead of waiting for ever."""
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
            return future

    return Backend(client=client, retries=RETRIES)


@contextmanager
def _named_deaths() -> Iterator[None]:
    """A task that no worker survives is an error in words."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ToolchainError(
            f"the cluster gave up a task on which {error.allowed_failures + 1} workers died: most likely "
            "they have too little memory for it; give them more, or make it smaller"
        ) from None


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
    read: dict[str, Any]  # how to read it, as `iter_data` takes it
    model: tuple[str, str, str, Labels | None, tuple[str, ...]]  # name, source, header, labels, features
    may_miss: NDArray[np.bool_] | None
    wanted: Scoring


def predict_partitions(
    where: str,
    folder: Path,
    stem: str,
    files: list[Path],
    output: Path,
    wanted: Scoring,
    read: dict[str, Any],
) -> dict[str, int]:
    """Score files on a cluster, one task each; predictions come in the files' order."""
    from joblib import Parallel, delayed

    _, program = find_program(folder, stem)
    model = (stem, *read_c(folder, stem), program.labels, program.input.feature_names)
    may_miss = features_filled_in(program)
    tasks = [Shipped(file.resolve(), read, model, may_miss, wanted) for file in files]
    kind: Literal["label", "value"] = "value" if program.labels is None else "label"
    done = unscored = 0
    with (
        connected(where),
        steps("scoring", len(files)) as advance,
        PredictionWriter(output, kind, score_names(program), chance_names(program)) as sink,
    ):
        for parts in Parallel(return_as="generator")(delayed(score_file)(task) for task in tasks):
            for part in parts:
                sink.write(part.values, part.scores, **part.as_keywords())
                done += len(part.values)
                unscored += 0 if part.unscored is None else int(part.unscored.sum())
            advance(1)
    return {"rows": done, "unscored": unscored, "partitions": len(files)}


def score_file(task: Shipped) -> list[Scored]:
    """What a worker does: one file, chunk by chunk."""
    model, found, first = _build(*task.model), [], 1
    model.may_miss = task.may_miss
    for chunk in iter_data(task.path, **task.read):
        found.append(score(model, chunk, task.wanted, str(task.path), first))
        first += len(chunk.X)
    return found


@lru_cache(maxsize=4)
def _build(
    name: str, source: str, header: str, labels: Labels | None, feature_names: tuple[str, ...]
) -> Any:
    from svmcompile.runtime.c import CModel

    return CModel(name, source, header, labels, feature_names)

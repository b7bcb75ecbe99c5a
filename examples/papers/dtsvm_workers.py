"""How training scales with worker processes, and what a worker killed midway costs: letter, first ceiling.

    python examples/papers/dtsvm_workers.py      one and two processes, through joblib and on a Dask cluster

Workers are started, and have imported what they need, before the clock runs; times are the least of three.
Set SVMCOMPILE_DATA to a folder of real data (see common.py).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common import read_words, table
from dtsvm_sets import Sixths, sixths
from joblib import Parallel, delayed, parallel_config

from svmcompile.accelerate.dtsvm.leaves import fit
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.training import Rows, Search, scaling_of, thetas, tree_search, workers_of
from svmcompile.cluster import connected
from svmcompile.progress import Advance, showing

TURNS = 3
OPTIONS = TrainOptions(min_leaf=0)


def search_of(data: Sixths) -> Search:
    rows = Rows(data.X, data.y, data.held_X, data.held_y, scaling_of(data.X, OPTIONS))
    return tree_search(rows, data.n_classes, OPTIONS, workers_of(OPTIONS))[0]


def seconds(search: Search) -> float:
    """All parameters at the first ceiling."""
    begin = time.perf_counter()
    search.tried(OPTIONS.ceiling, thetas(OPTIONS))
    return time.perf_counter() - begin


def least(search: Search) -> float:
    Parallel()(delayed(ready)(at) for at in range(8))
    return min(seconds(search) for _ in range(TURNS))


def ready(at: int) -> str:
    time.sleep(0.2)  # so that every worker gets one
    return fit.__name__


@contextmanager
def processes(count: int) -> Iterator[None]:
    with parallel_config(backend="loky", n_jobs=count):
        yield


def with_a_death(search: Search) -> tuple[float, int]:
    """Seconds on two workers of which one is killed after a third of the work, and results in all."""
    done: list[int] = []
    with connected("local:2") as client:
        pids = list(client.run(os.getpid).values())
        Parallel()(delayed(ready)(at) for at in range(8))

        @contextmanager
        def kill(what: str, total: int) -> Iterator[Advance]:
            def advance(count: int, now: str = "", /) -> None:
                done.append(count)
                if len(done) == total // 3:
                    os.kill(pids[0], signal.SIGKILL)

            yield advance

        with showing(kill):
            took = seconds(search)
    return took, len(done)


def main() -> None:
    read_words(__doc__, ())
    search = search_of(sixths("letter", 0))
    lines: list[list[Any]] = []
    for name, setting in (("joblib", processes), ("Dask", lambda count: connected(f"local:{count}"))):
        times = {}
        for count in (1, 2):
            with setting(count):
                times[count] = least(search)
        lines.append([name, f"{times[1]:.1f}", f"{times[2]:.1f}", f"{times[1] / times[2]:.2f}"])
    print(
        table("letter, 16 parameters at the first ceiling", ("through", "one s", "two s", "ratio"), lines)
    )
    took, results = with_a_death(search)
    print(f"\none of two Dask workers killed after a third: {took:.1f} s, {results} results")


if __name__ == "__main__":
    main()

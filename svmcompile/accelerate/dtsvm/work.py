"""Workers: tasks enter, results leave in the same order, whoever does the work.

All of it goes through joblib, so processes of this machine and clusters that joblib knows carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from svmcompile.accelerate.dtsvm.checkpoint import Checkpoint
from svmcompile.progress import steps

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """How work is done: in so many processes (0: as joblib is set up), keeping results or not."""

    jobs: int = 0
    checkpoint: Checkpoint | None = None

    def results(
        self,
        what: str,
        function: Callable[[T], R],
        kind: type[R],
        tasks: Callable[[int], T],
        sizes: Sequence[int],
    ) -> list[R]:
        """The results of as many tasks as there are sizes; large ones are begun first."""
        done: dict[int, R] = {}
        order = sorted(range(len(sizes)), key=lambda at: -sizes[at])
        with steps(what, len(order)) as advance:
            missing = [at for at in order if not self._found(kind, tasks, at, done, advance)]
            for at, result in self._fresh(function, tasks, missing):
                if self.checkpoint:
                    self.checkpoint.save(tasks(at), result)
                done[at] = result
                advance(1)
        return [done[at] for at in range(len(sizes))]

    def _found(
        self,
        kind: type[R],
        tasks: Callable[[int], T],
        at: int,
        done: dict[int, R],
        advance: Callable[[int], None],
    ) -> bool:
        found = self.checkpoint.load(kind, tasks(at)) if self.checkpoint else None
        if found is None:
            return False
        done[at] = found
        advance(1)
        return True

    def _fresh(
        self, function: Callable[[T], R], tasks: Callable[[int], T], wanted: Sequence[int]
    ) -> Iterable[tuple[int, R]]:
        from joblib import Parallel, delayed

        # one task at a time, so that a worker that dies costs one leaf and none waits for another's batch
        parallel = Parallel(
            n_jobs=self.jobs or None, return_as="generator_unordered", batch_size=1, pre_dispatch="4*n_jobs"
        )
        found: Any = parallel(delayed(_numbered)(function, at, tasks(at)) for at in wanted)
        yield from found


def _numbered(function: Callable[[T], R], at: int, task: T) -> tuple[int, R]:
    return at, function(task)

"""Workers: tasks enter, results leave in the same order, whoever does the work; checkpoints on disk.

All of it goes through joblib, so processes of this machine and clusters that joblib knows carry it.

A result enters with the task it belongs to; the same task finds it again. Files are plain arrays, named by
the content of the task: other rows or parameters never meet them.
"""

from __future__ import annotations

import dataclasses
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from svmcompile.errors import ReadError
from svmcompile.files import write_file
from svmcompile.files.checked import with_digest, without_digest
from svmcompile.model.svm import digest
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
        from joblib import Parallel, delayed

        done: dict[int, R] = {}
        order = sorted(range(len(sizes)), key=lambda at: -sizes[at])
        for at in order:
            if self.checkpoint and (found := self.checkpoint.load(kind, tasks(at))) is not None:
                done[at] = found
        # one task at a time, so that a worker that dies costs one leaf and none waits for another's batch
        parallel = Parallel(
            n_jobs=self.jobs or None, return_as="generator_unordered", batch_size=1, pre_dispatch="4*n_jobs"
        )
        missing = [at for at in order if at not in done]
        with steps(what, len(order)) as advance:
            advance(len(done))
            for at, result in parallel(delayed(_numbered)(function, at, tasks(at)) for at in missing):
                if self.checkpoint:
                    self.checkpoint.save(tasks(at), result)
                done[at] = result
                advance(1)
        return [done[at] for at in range(len(sizes))]


def _numbered(function: Callable[[T], R], at: int, task: T) -> tuple[int, R]:
    return at, function(task)


class Checkpoint:
    """A folder of results, one file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, kind: type, task: Any) -> Path:
        parts = {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}
        return self.folder / f"{kind.__name__.lower()}-{digest(parts)[:32]}.checkpoint"

    def load(self, kind: type, task: Any) -> Any:
        """The result of a task, None if there is none."""
        path = self.path(kind, task)
        if not path.exists():
            return None
        try:
            whole = without_digest(path.read_bytes())
            with np.load(io.BytesIO(whole), allow_pickle=False) as arrays:
                return from_arrays(kind, dict(arrays))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ReadError(
                f"{path}: is not a checkpoint of this work ({error}); remove the file"
            ) from None

    def save(self, task: Any, result: Any) -> None:
        """Stored in one step: a kill leaves no half file."""
        stream = io.BytesIO()
        arrays = {f.name: np.asarray(getattr(result, f.name)) for f in dataclasses.fields(result)}
        np.savez_compressed(stream, allow_pickle=False, **arrays)
        write_file(self.path(type(result), task), with_digest(stream.getvalue()))


def from_arrays(kind: type, arrays: dict[str, Any]) -> Any:
    """A dataclass of arrays, numbers and tuples of numbers, which were stored as arrays."""
    values = {}
    for field in dataclasses.fields(kind):
        array, declared = arrays[field.name], str(field.type)
        if declared in ("int", "float", "bool"):
            values[field.name] = array.item()
        elif declared.startswith("tuple"):
            values[field.name] = tuple(array.tolist())
        else:
            values[field.name] = array
    return kind(**values)

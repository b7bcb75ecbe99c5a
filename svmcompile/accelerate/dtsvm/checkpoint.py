"""Checkpoints: results of single leaves on disk, so that a second start goes on where the first ended.

A result enters with the task it belongs to; the same task finds it again. Files are plain arrays, named by
the content of the task: other rows or parameters never meet them.
"""

from __future__ import annotations

import dataclasses
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.errors import ReadError
from svmcompile.files import write_file
from svmcompile.model.svm import digest


class Checkpoint:
    """A folder of results, one file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, kind: type, task: Any) -> Path:
        parts = {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}
        return self.folder / f"{kind.__name__.lower()}-{digest(parts)[:32]}.npz"

    def load(self, kind: type, task: Any) -> Any:
        """The result of a task, None if there is none."""
        path = self.path(kind, task)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return from_arrays(kind, dict(arrays))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ReadError(f"{path}: is no checkpoint of this work ({error}); remove the file") from None

    def save(self, task: Any, result: Any) -> None:
        """Stored in one step: a kill leaves no half file."""
        stream = io.BytesIO()
        np.savez_compressed(stream, allow_pickle=False, **to_arrays(result))
        write_file(self.path(type(result), task), stream.getvalue())


def to_arrays(result: Any) -> dict[str, Any]:
    """A dataclass of arrays, numbers and tuples of numbers as arrays."""
    return {field.name: np.asarray(getattr(result, field.name)) for field in dataclasses.fields(result)}


def from_arrays(kind: type, arrays: dict[str, Any]) -> Any:
    """The dataclass again: fields whose type is not an array become what they were."""
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

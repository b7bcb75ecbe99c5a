"""Partitions: a folder of data files that belong together. A path enters; its files, or one `Data`, leave.

Files are read through joblib, so the processes or the cluster that joblib is set up for read them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.data.detection import KNOWN, SUFFIXES
from svmcompile.data.reading import read_data
from svmcompile.data.table import Data
from svmcompile.errors import ReadError


def partition_files(path: Path | str) -> list[Path]:
    """The data files of a folder, by name; a file is its own only partition."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(item for item in path.iterdir() if item.suffix.lower() in SUFFIXES and item.is_file())
    if not files:
        raise ReadError(f"{path}: the folder holds no data files; expected {KNOWN}")
    return files


def read_partitions(path: Path | str, *, label: str | None = None) -> Data:
    """All files of a folder as one; where joblib is set up for many processes, each reads some."""
    from joblib import Parallel, delayed

    files = [file.resolve() for file in partition_files(path)]
    return joined(files, list(Parallel()(delayed(_read)(file, label) for file in files)))


def _read(path: Path, label: str | None) -> Data:
    return read_data(path, label=label)


def joined(files: list[Path], parts: list[Data]) -> Data:
    """One below the other; files of the LIBSVM format may end in features that are zero throughout."""
    for file, part in zip(files, parts, strict=True):
        if part.feature_names != parts[0].feature_names:
            raise ReadError(f"{file}: has other columns than {files[0].name}")
        if (part.y is None) != (parts[0].y is None):
            raise ReadError(f"{file}: has labels and {files[0].name} has not, or the other way round")
    width = max(part.X.shape[1] for part in parts)
    for file, part in zip(files, parts, strict=True):
        if part.X.shape[1] < width and SUFFIXES.get(file.suffix.lower()) != "libsvm":
            raise ReadError(f"{file}: has {part.X.shape[1]} features, other files have {width}")
    X = np.concatenate([_widened(part.X, width) for part in parts])
    labels = [part.y for part in parts if part.y is not None]
    return Data(X, np.concatenate(labels) if labels else None, parts[0].feature_names)


def _widened(X: Any, width: int) -> Any:
    return X if X.shape[1] == width else np.pad(X, ((0, 0), (0, width - X.shape[1])))

"""The papers' data sets: where they come from, how to place them, and reading them.

SVMCOMPILE_DATA names a folder. A set NAME is there as
- `NAME.npz` with X, y and, where it has a test part, X_test, y_test (IDA sets: train_idx, test_idx), or
- `NAME` in LIBSVM's format, with the test part in `NAME.t`, or
- whatever the folder's own `load.py` gives: `load(NAME)`, a dictionary of such arrays.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_files

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/dataset/"
IDA = "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets (benchmarks.mat: x, t, train, test)"
ORIGINS: dict[str, str] = {
    **dict.fromkeys(
        (
            "a1a", "a2a", "a7a", "a9a", "w1a", "w8a", "australian", "australian_scale", "breast-cancer",
            "breast-cancer_scale", "diabetes", "diabetes_scale", "fourclass", "fourclass_scale",
            "german.numer", "german.numer_scale", "heart_scale", "ionosphere_scale", "sonar_scale",
            "svmguide1", "ijcnn1", "mushrooms", "covtype.binary",
        ),
        f"{LIBSVM}binary.html",
    ),
    **dict.fromkeys(
        ("dna", "letter.scale", "mnist", "mnist_t10k", "pendigits", "poker", "shuttle", "usps", "covtype"),
        f"{LIBSVM}multiclass.html",
    ),
    "adult": f"{UCI}2/adult (complete rows only; categories numbered by sorted name)",
    "haberman": f"{UCI}43/haberman+s+survival",
    "ionosphere": f"{UCI}52/ionosphere",
    "isolet": f"{UCI}54/isolet",
    "kddcup10": "https://kdd.ics.uci.edu/databases/kddcup99/ (kddcup.data_10_percent)",
    "letter": f"{UCI}59/letter+recognition",
    "sonar": f"{UCI}151/connectionist+bench+sonar+mines+vs+rocks",
}  # fmt: skip


def origin(name: str) -> str:
    return IDA if name.startswith("ida_") else ORIGINS.get(name, "the paper names it")


def folder() -> Path | None:
    """The folder of sets, None where the variable is not set."""
    given = os.environ.get("SVMCOMPILE_DATA")
    return Path(given) if given else None


def present(name: str) -> bool:
    """Whether a set can be read."""
    if (place := folder()) is None:
        return False
    if name == "covtype.binary":
        return present("covtype") or (place / name).exists()
    return (place / f"{name}.npz").exists() or (place / name).exists()


def load(name: str) -> dict[str, Any]:
    """A set by its name."""
    place = folder()
    if place is None:
        raise SystemExit(f"set SVMCOMPILE_DATA to a folder that holds {name} ({origin(name)})")
    if (place / "load.py").exists():
        found: dict[str, Any] = _module(place / "load.py").load(name)
        return found
    if (place / f"{name}.npz").exists():
        with np.load(place / f"{name}.npz") as file:
            return dict(file)
    if (place / name).exists():
        paths = [path for path in (place / name, place / f"{name}.t") if path.exists()]
        arrays = load_svmlight_files([str(path) for path in paths])
        return dict(zip(("X", "y", "X_test", "y_test"), arrays, strict=False))
    raise SystemExit(f"{place}: holds no {name}.npz and no {name}; it comes from {origin(name)}")


@cache
def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("papers_load", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(names: Sequence[str]) -> Iterator[str]:
    """Which sets are there, where the others come from, and how to place them."""
    place = folder()
    yield f"SVMCOMPILE_DATA is {place}" if place else "SVMCOMPILE_DATA is not set"
    yield "Place each set there as NAME.npz (X, y, X_test, y_test) or in LIBSVM's format (NAME, NAME.t)."
    for name in names:
        yield f"  {name}: {'there' if present(name) else 'from ' + origin(name)}"

"""Time of the sv-tree in C beside our exact code, one row per call, host profile.

    python examples/papers/sv_speed.py            image, splice, waveform and ijcnn1
    python examples/papers/sv_speed.py image      one of them

Both are timed beside LIBSVM in their own run; the ratio of the two is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common import OUTPUT, read_words, table
from common import split as own_split
from ida import machine, splits
from metric_tree import progress, speed_gain
from sklearn.svm import SVC

import svmcompile as sc

SETS = ("image", "splice", "waveform", "ijcnn1")
HEAD = ("set", "SVs x features", "kernels per row", "same label", "exact / tree", "LIBSVM / tree", "note")


def models(names: list[str]) -> Iterator[tuple[str, Any, Any]]:
    for name in SETS:
        if names and name not in names:
            continue
        if name == "ijcnn1":
            data: Any = own_split("ijcnn1", 10_000, 5000)
            yield name, SVC(C=32, gamma=2).fit(data.X, data.y), data
        else:
            data = next(splits(name, 1))
            yield name, machine(name).fit(data.X, data.y), data


def line(name: str, model: Any, data: Any) -> list[str]:
    program, exact = sc.compile(model, method="sv-tree", X=data.X), sc.compile(model)
    tree, whole = (speed_gain(model, one, data.X_test, OUTPUT / "speed") for one in (program, exact))
    cost = program.cost(data.X_test)
    same = (program.predict(data.X_test) == model.predict(data.X_test)).mean()
    slower = [note for note in program.origin.notes if "exact" in note]
    return [
        name,
        f"{program.origin.n_support_vectors} x {program.n_features}",
        f"{cost.mean_kernel_evaluations:.1f}",
        f"{same:.3f}",
        f"{tree / whole:.1f}",
        f"{tree:.0f}",
        "; ".join(slower) or "-",
    ]


if __name__ == "__main__":
    found = progress(models(read_words(__doc__, SETS)), lambda one: line(*one))
    print(table("sv-tree in C", HEAD, found))

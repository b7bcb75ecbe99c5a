"""How much faster the metric tree is than LIBSVM's own predict and than our exact code.

    python examples/papers/metric_speed.py              every set with 600 support vectors or more
    python examples/papers/metric_speed.py ijcnn1       one of them

All are called from C, one row per call, LIBSVM in the same run. "chosen" is what
the default takes for an agreement of 99 %. The last lines are one sharp model
of about 1,000 support vectors and 22 features, with the form given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from common import OUTPUT, Split, split, table, trained
from metric_tree import SHARP, TABLE1, TEST_ROWS, compiled, mean_depth, measure, progress, speed_gain

import svmcompile as sc
from svmcompile.ir.program import Program

LEAST_VECTORS = 450
TARGET = 0.99
FORMS: dict[str, dict[str, Any]] = {
    "axis": {"split": "gradient-axis", "max_leaves": 100},
    "planes": {"split": "median", "leaf": "ridge", "max_leaves": 128},
}
HEAD = ("set", "SVs", "form", "SVM % / tree %", "tests", "LIBSVM / published tree", "LIBSVM / tree",
        "exact / tree", "paper's gain")  # fmt: skip


def lines(names: list[str]) -> Iterator[list[str]]:
    for row in TABLE1:
        if row.vectors >= LEAST_VECTORS and (not names or row.name in names):
            data = split(row.source, row.train, TEST_ROWS, 0, row.scale)
            model = trained(f"{row.name}-0", data, 1.0, 1 / data.X.shape[1])
            published = gain(model, compiled(model, data, paper=True), data)
            chosen = compiled(model, data, target=TARGET)
            form = chosen.origin.details["tree"]["form"]
            yield line(row.name, form, model, chosen, data, f"{published:.0f}", f"{row.gain}")
    if not names or "sharp" in names:
        make, train, C, gamma = SHARP["ijcnn1"]
        data = make(0, train)
        model = trained("ijcnn1-sharp", data, C, gamma)
        for form, options in FORMS.items():
            yield line("ijcnn1 sharp", form, model, compiled(model, data, **options), data, "-", "-")


def line(
    name: str, form: str, model: Any, program: Program, data: Split, published: str, paper: str
) -> list[str]:
    """One form beside LIBSVM and beside our exact code."""
    one = measure(model, program, data)
    ours, exact = gain(model, program, data), gain(model, sc.compile(model), data)
    return [
        name,
        f"{one.vectors:.0f}",
        form,
        f"{one.svm:.2f} / {one.tree:.2f}",
        f"{mean_depth(program, data.X_test):.1f}",
        published,
        f"{ours:.0f}",
        f"{ours / exact:.1f}",
        paper,
    ]


def gain(model: Any, program: Program, data: Split) -> float:
    return speed_gain(model, program, data.X_test, OUTPUT / "speed")


if __name__ == "__main__":
    print(table("Speed", HEAD, progress(lines(sys.argv[1:]), lambda done: done)))

"""How much faster the metric tree is than LIBSVM's own predict and than our exact code.

    python examples/papers/metric_speed.py              every set with 450 support vectors or more
    python examples/papers/metric_speed.py ijcnn1       one of them

All are called from C, one row per call, LIBSVM in the same run. "chosen" is what the method takes for an
agreement of 99 % (target=0.99, not the default 0.999). The last lines are one sharp model of about 1,000
support vectors and 22 features, with the form given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cells import Figures
from common import OUTPUT, Split, read_words, table, trained
from metric_tree import SHARP, TABLE1, Known, compiled, machine_of, mean_depth, measure, progress, speeds

import svmcompile as sc
from svmcompile.ir.program import Program

LEAST_VECTORS = 450
TARGET = 0.99
FAST = {row.name: row for row in TABLE1 if row.vectors >= LEAST_VECTORS}
FORMS: dict[str, dict[str, Any]] = {
    "axis": {"split": "gradient-axis", "max_leaves": 100},
    "planes": {"split": "median", "leaf": "ridge", "max_leaves": 128},
}
HEAD = ("set", "SVs", "form", "SVM % / tree %", "tests", "LIBSVM / published tree", "LIBSVM / tree",
        "exact / tree", "paper's gain")  # fmt: skip


def times(row: Known) -> tuple[Figures, str]:
    """Microseconds per row today and on the paper's machine, gains, and the form that was chosen."""
    model, data = machine_of(row)
    chosen = compiled(model, data, target=TARGET)
    one, then = measure(model, chosen, data), row.microseconds
    found = {"libsvm then": then[0], "tree then": then[1]}
    found["libsvm"], found["published"] = _speeds(model, compiled(model, data, paper=True), data)
    found |= {
        "vectors": one.vectors,
        "svm %": one.svm,
        "tree %": one.tree,
        "tests": mean_depth(chosen, data.X_test),
        "libsvm faster": found["libsvm then"] / found["libsvm"],
        "tree faster": found["tree then"] / found["published"],
        "paper's gain": float(row.gain),
        "published gain": found["libsvm"] / found["published"],
    }
    return found | _gains(model, chosen, data), chosen.origin.details["tree"]["form"]


def _gains(model: Any, program: Program, data: Split) -> Figures:
    """Of a program over LIBSVM and over our exact code, each timed beside LIBSVM in its own run."""
    ours, exact = (_speeds(model, one, data) for one in (program, sc.compile(model)))
    gain = ours[0] / ours[1]
    return {"chosen": ours[1], "chosen gain": gain, "exact gain": gain / (exact[0] / exact[1])}


def _speeds(model: Any, program: Program, data: Split) -> tuple[float, float]:
    return speeds(model, program, data.X_test, OUTPUT / "speed")


def lines(names: list[str]) -> Iterator[list[str]]:
    for row in FAST.values():
        if not names or row.name in names:
            found, form = times(row)
            yield _line(row.name, form, found, f"{found['published gain']:.0f}", f"{row.gain}")
    if not names or "sharp" in names:
        make, train, C, gamma = SHARP["ijcnn1"]
        data = make(0, train)
        model = trained("ijcnn1-sharp", data, C, gamma)
        for form, options in FORMS.items():
            program = compiled(model, data, **options)
            one = measure(model, program, data)
            known = {"vectors": one.vectors, "svm %": one.svm, "tree %": one.tree}
            known["tests"] = mean_depth(program, data.X_test)
            yield _line("ijcnn1 sharp", form, known | _gains(model, program, data), "-", "-")


def _line(name: str, form: str, found: Figures, published: str, paper: str) -> list[str]:
    return [
        name,
        f"{found['vectors']:.0f}",
        form,
        f"{found['svm %']:.2f} / {found['tree %']:.2f}",
        f"{found['tests']:.1f}",
        published,
        f"{found['chosen gain']:.0f}",
        f"{found['exact gain']:.1f}",
        paper,
    ]


if __name__ == "__main__":
    found = progress(lines(read_words(__doc__, [*FAST, "sharp"])), lambda done: done)
    print(table("Speed", HEAD, found))

"""The support vector tree on the eleven IDA sets, beside the paper's Table 1.

    SVMCOMPILE_DATA=FOLDER python examples/papers/sv_tree.py [--splits 10] [SET ...]

For each set: accuracy on test rows and kernel evaluations per row of the SVM, a linear SVM, the tree in
its published form and in ours, with and without the fallback to the exact sum, and reduced sets of
ten vectors and of one support vector in twenty. The paper's figures stand in brackets; its SVMs were
tuned by others on other splits, so SVM and tree are to be compared within a row.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from ida import SETS, Split, machine, splits

import svmcompile as sc


@dataclass(frozen=True)
class Published:
    """A row of Table 1: accuracies, and sizes where they vary."""

    dummy: float
    linear: float
    svm: float
    vectors: int
    tree: float
    evaluations: float
    cpsp: float
    cpsp_tr: float


TABLE_1 = {
    "heart": Published(0.56, 0.82, 0.82, 60, 0.75, 8.2, 0.84, 0.84),
    "thyroid": Published(0.71, 0.89, 0.96, 13, 0.92, 9.3, 0.92, 0.90),
    "breast-cancer": Published(0.70, 0.70, 0.71, 120, 0.70, 9.1, 0.73, 0.73),
    "waveform": Published(0.67, 0.87, 0.90, 229, 0.86, 9.5, 0.90, 0.88),
    "german": Published(0.70, 0.76, 0.75, 373, 0.70, 10.9, 0.76, 0.76),
    "image": Published(0.57, 0.85, 0.97, 213, 0.89, 11.9, 0.89, 0.87),
    "diabetis": Published(0.65, 0.77, 0.77, 249, 0.73, 10.0, 0.77, 0.77),
    "ringnorm": Published(0.50, 0.75, 0.98, 152, 0.95, 10.5, 0.84, 0.74),
    "splice": Published(0.51, 0.83, 0.89, 588, 0.68, 11.4, 0.86, 0.77),
    "twonorm": Published(0.50, 0.97, 0.98, 263, 0.91, 9.5, 0.98, 0.97),
    "banana": Published(0.54, 0.55, 0.89, 151, 0.88, 9.2, 0.86, 0.88),
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "published": ("sv-tree", {"paper": True}),
    "tree": ("sv-tree", {}),
    "fallback": ("sv-tree", {"fallback": True}),
    "ten": ("reduced-set", {"budget": 10}),
    "share": ("reduced-set", {"budget": 0.05}),
}
Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}")
    parser.add_argument("--splits", type=int, default=10)
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.sets) - set(SETS))
    if unknown:
        parser.error(f"unknown set {unknown[0]!r}")
    rows = {name: measured(name, chosen.splits) for name in chosen.sets or SETS}
    rows["mean"] = _means(list(rows.values()))
    for line in table(rows):
        print(line)


def measured(name: str, count: int) -> Figures:
    """The figures of one set, as means over its splits."""
    found = []
    for at, split in enumerate(splits(name, count)):
        print(f"{name}: split {at + 1} of {count}", file=sys.stderr)
        found.append(_on_split(name, split))
    return _means(found)


def _means(figures: list[Figures]) -> Figures:
    return {key: float(np.mean([one[key] for one in figures])) for key in figures[0]}


def _on_split(name: str, split: Split) -> Figures:
    model = machine(name).fit(split.X, split.y)
    linear = machine(name, "linear").fit(split.X, split.y)
    labels, counts = np.unique(split.y, return_counts=True)
    meant = model.predict(split.X_test)
    vectors = len(model[-1].support_)
    figures = {
        "official": float(split.official),
        "dummy": float(np.mean(split.y_test == labels[np.argmax(counts)])),
        "linear": float(np.mean(linear.predict(split.X_test) == split.y_test)),
        "svm": float(np.mean(meant == split.y_test)),
        "vectors": float(vectors),
    }
    for key, (method, options) in METHODS.items():
        program = sc.compile(model, method=method, X=split.X, **options)
        found = program.predict(split.X_test)
        evaluations = program.cost(split.X_test).mean_kernel_evaluations
        figures |= {
            key: float(np.mean(found == split.y_test)),
            f"{key} same": float(np.mean(found == meant)),
            f"{key} evaluations": evaluations,
            f"{key} part": evaluations / vectors,
        }
    return figures


def table(rows: dict[str, Figures]) -> Iterator[str]:
    """Lines of a table in Markdown."""
    yield "| " + " | ".join(["set", *COLUMNS]) + " |"
    yield "|" + "---|" * (len(COLUMNS) + 1)
    published = [TABLE_1[name] for name in rows if name in TABLE_1]
    for name, figures in rows.items():
        theirs = TABLE_1.get(name) or _mean_published(published)
        cells = [column(figures, theirs) for column in COLUMNS.values()]
        yield "| " + " | ".join([name, *cells]) + " |"


def _mean_published(rows: list[Published]) -> Published:
    names = Published.__dataclass_fields__
    return Published(**{name: float(np.mean([getattr(row, name) for row in rows])) for name in names})  # type: ignore[arg-type]


def _pair(key: str) -> Callable[[Figures, Published], str]:
    return lambda ours, _: f"{ours[key]:.3f} / {ours[key + ' evaluations']:.1f}"


COLUMNS: dict[str, Callable[[Figures, Published], str]] = {
    "official splits": lambda ours, _: f"{ours['official']:.0%}",
    "dummy": lambda ours, theirs: f"{ours['dummy']:.2f} ({theirs.dummy:.2f})",
    "linear SVM": lambda ours, theirs: f"{ours['linear']:.3f} ({theirs.linear:.2f})",
    "SVM, vectors": lambda ours, theirs: (
        f"{ours['svm']:.3f} / {ours['vectors']:.0f} ({theirs.svm:.2f} / {theirs.vectors:.0f})"
    ),
    "published tree": lambda ours, theirs: (
        f"{ours['published']:.3f} / {ours['published evaluations']:.1f} "
        f"({theirs.tree:.2f} / {theirs.evaluations:.1f})"
    ),
    "tree": _pair("tree"),
    "tree, same labels": lambda ours, _: f"{ours['tree same']:.3f}",
    "with fallback": lambda ours, _: f"{ours['fallback same']:.4f} same at {ours['fallback part']:.0%}",
    "10 vectors (cpsp, cpsp(tr))": lambda ours, theirs: (
        f"{ours['ten']:.3f} ({theirs.cpsp:.2f}, {theirs.cpsp_tr:.2f})"
    ),
    "5 % of the vectors": lambda ours, _: f"{ours['share same']:.4f} same",
}


if __name__ == "__main__":
    main()

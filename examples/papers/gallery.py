"""Pictures of every method, and the page that shows them: docs/gallery.

    SVMCOMPILE_DATA=FOLDER python examples/papers/gallery.py           all pictures, and docs/gallery.md
    SVMCOMPILE_DATA=FOLDER python examples/papers/gallery.py h1-tree   some of them
    python examples/papers/gallery.py -o FOLDER                        without fourclass: of two moons

Most pictures are of fourclass, which comes from the folder that SVMCOMPILE_DATA names (`python
examples/papers --sets` says how to place it). Without it two half-moons are drawn, and the pictures of docs
stay as they are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import anytime_figure
import certified_figure
import figure
import h1_figure
import plane_figures
from common import OUTPUT, Split, scaled, split
from ls_svm import plane, trained_ls_svm
from sets import present
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import svmcompile as sc

DOCS = Path(__file__).parents[2] / "docs"
SET = "fourclass_scale"


@cache
def rows() -> Split:
    """Rows in a plane: fourclass, or two moons where it is not there."""
    if present(SET):
        return split(SET)
    X, y = make_moons(800, noise=0.18, random_state=0)
    X, X_test = scaled(X[:400], X[400:])
    return Split(X, y[:400], X_test, y[400:])


@cache
def svm() -> Any:
    return SVC(C=10.0, gamma=2.0).fit(rows().X, rows().y)


def metric_tree(path: Path) -> Path:
    made: dict[str, Any] = {
        "published": {"paper": True},
        "published, limited": {"paper": True, "max_leaves": 64},
        "default": {},
    }
    programs = {
        name: sc.compile(svm(), method="metric-tree", X=rows().X, **options)
        for name, options in made.items()
    }
    return figure.draw("SVM", svm(), programs, rows(), path)


def figure_2(path: Path) -> Path:
    """The metric-tree paper's own: an LS-SVM, whose rows are all support vectors."""
    data = plane()
    machine = trained_ls_svm(data.X, data.y, 100.0, 10.0)
    stored = machine.write(OUTPUT / "figure-2.model")
    made: dict[str, Any] = {"published": {}, "published, depth 6": {"max_depth": 6}}
    programs = {
        name: sc.compile(stored, method="metric-tree", X=data.X, paper=True, **options)
        for name, options in made.items()
    }
    programs["default"] = sc.compile(stored, method="metric-tree", X=data.X)
    return figure.draw("LS-SVM", machine, programs, data, path)


def h1_tree(path: Path) -> Path:
    made: dict[str, Any] = {"published": {"paper": True}, "default": {"end": "label"}}
    programs = {
        name: sc.train(rows().X, rows().y, method="h1-tree", scale="none", **options)
        for name, options in made.items()
    }
    return h1_figure.draw(programs, rows(), path)


def beyond(path: Path) -> Path:
    import beyond_figure  # its page reads sets

    return beyond_figure.draw(path)


@dataclass(frozen=True)
class Picture:
    """A picture, and what stands below it on the page."""

    title: str
    draw: Callable[[Path], Path]
    text: str
    page: str  # where more is said
    needs_sets: bool = False


PICTURES = {
    "metric-tree": Picture(
        "metric-tree: parts of the plane", metric_tree,
        "A tree cuts the plane; in each leaf one affine function stands for the kernel sum. The published"
        " tree halves the rows until a leaf is pure. Ours stops where more leaves gain nothing, and cuts "
        "where the border is.",
        "metric-tree.md",
    ),
    "metric-tree-ls-svm": Picture(
        "metric-tree: the paper's own figure", figure_2,
        "Generated rows, a bent border and an island; the machine is a least-squares SVM, which keeps "
        "every row as a support vector. A depth limit cuts the published tree back.",
        "metric-tree.md",
    ),
    "sv-tree": Picture(
        "sv-tree: the path of a row", lambda path: plane_figures.draw_paths(svm(), rows(), path),
        "Each test is a kernel value with one support vector, and decides which vector comes next. The "
        "values on the path are weighted by the leaf. Three test rows, and the vectors that each of them "
        "needs.",
        "sv-tree.md",
    ),
    "h1-tree": Picture(
        "h1-tree: one plane after the other", h1_tree,
        "Each plane has rows of one class only on its far side and answers those. What is left goes to the "
        "next plane. The last panel has the answer for all that remains.",
        "h1-tree.md",
    ),
    "dtsvm": Picture(
        "dtsvm: cells with SVMs of their own", lambda path: plane_figures.draw_cells(svm(), rows(), path),
        "An axis-parallel tree; leaves of one class answer at once, the others (hatched) have a small "
        "SVM. The fewer rows a leaf may have, the fewer support vectors a row is compared with.",
        "dtsvm.md",
    ),
    "anytime": Picture(
        "anytime: bounds that close", lambda path: anytime_figure.draw(anytime_figure.four_digits(), path),
        "Four held-out digits, 3 against 8, the nearest to the border first. As soon as zero is outside "
        "the bounds the label is certain, and the remaining kernel values are not computed. The vertical "
        "axis is linear between -1 and 1, logarithmic beyond.",
        "anytime.md",
    ),
    "certified": Picture(
        "certified: which polynomial decides", lambda path: plane_figures.draw_stages(svm(), rows(), path),
        "A Taylor polynomial about the nearest centre, with a proven bound on what it leaves out. Where "
        "order 1 is not sure, order 2 is tried, then order 3, then the support vectors. More centres, "
        "fewer rows left over.",
        "certified.md",
    ),
    "certified-stages": Picture(
        "certified: what it saves on sixteen sets",
        lambda path: certified_figure.draw(path, 0),
        "Left: the share of unseen rows that each stage decides. Right: the operations that each stage "
        "takes, beside the sum over all support vectors. Sets are sorted by what they cost.",
        "certified.md",
        needs_sets=True,
    ),
    "beyond": Picture(
        "Beyond the papers: accuracy against size and time", beyond,
        "Our methods beside what a user would pick today: each line joins the largest models of 2, 16 and"
        " 64 kB. Left and up is better. The figures, and where a rival wins, are in the papers' tables.",
        "methods.md",
        needs_sets=True,
    ),
}  # fmt: skip


def page(names: Sequence[str]) -> str:
    lines = [
        "# Gallery", "",
        "`SVMCOMPILE_DATA=FOLDER python examples/papers/gallery.py` draws these pictures and writes this "
        "page. Rows are those of fourclass, half of them for training, unless a caption says otherwise; "
        "*same labels* counts the other half. The SVM has an RBF kernel, C = 10 and gamma = 2.", "",
    ]  # fmt: skip
    for name in names:
        one = PICTURES[name]
        lines += [
            f"## {one.title}",
            "",
            f"![{one.title}](gallery/{name}.png)",
            "",
            f"{one.text} [More]({one.page})",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "gallery.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="PICTURE", help=f"of {', '.join(PICTURES)}; all if none is named"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="put the pictures here")
    given = parser.parse_args(words)
    unknown = [name for name in given.names if name not in PICTURES]
    if unknown:
        parser.error(f"no picture {unknown[0]!r}; there are {', '.join(PICTURES)}")
    if not present(SET):
        print(f"{SET} is not there (SVMCOMPILE_DATA): two moons take its place", file=sys.stderr)
    folder = given.output or (DOCS / "gallery" if present(SET) else OUTPUT / "gallery")
    for name in given.names or PICTURES:
        if PICTURES[name].needs_sets and not present(SET):
            print(f"{name}: needs the sets of SVMCOMPILE_DATA; left out", file=sys.stderr)
            continue
        path = PICTURES[name].draw(folder / f"{name}.png")
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    if folder == DOCS / "gallery":
        (DOCS / "gallery.md").write_text(page(list(PICTURES)))


if __name__ == "__main__":
    main()

"""Programs of lists: alone, or with an SVM behind them."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.rows import labels_of, margin_rule
from svmcompile.accelerate.h1_tree.exits import WIDTH
from svmcompile.accelerate.h1_tree.forest import OUT, Lists, centre_of
from svmcompile.accelerate.h1_tree.options import DTYPES
from svmcompile.accelerate.h1_tree.rows import Rows
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.model.svm import SVM

BLOCK_ROWS = 4096


def add_lists(builder: Builder, x: str, lists: Lists, points: Array, planes: str) -> None:
    """The lists, with planes about the middle of the rows."""
    builder.body.append(lists.node(x))
    builder.tables.update(lists.tables(points.shape[1], centre_of(points), DTYPES[planes]))


def before_svm(svm: SVM, lists: Lists, points: Array, planes: str) -> tuple[Builder, str]:
    """Lists, and the SVM's own sums for rows that they do not answer; the name of the sums."""
    builder = Builder(svm)
    x = builder.preprocess()
    if not lists.nodes:
        return builder, builder.exact_sums(x=x)
    add_lists(builder, x, lists, points, planes)
    builder.exact_sums("exact", x=x)
    builder.body.append(ir.Guard("guarded", OUT, "exact", WIDTH, margin_rule(svm)))
    return builder, "guarded"


def figures(lists: Lists, rows: Rows, svm: SVM | None = None) -> dict[str, Any]:
    """What the lists are like on the rows of the data."""
    found: dict[str, Any] = {"planes": len(lists.nodes), "longest": lists.longest}
    if not lists.nodes:
        return found
    blocks = [rows.points[at : at + BLOCK_ROWS] for at in range(0, len(rows), BLOCK_ROWS)]
    walks = [lists.walk(block @ lists.planes.T > lists.thresholds) for block in blocks]
    found["mean_depth"] = round(float(np.mean([walk.tests.mean() for walk in walks])), 3)
    if svm and not any(one.rest == 0 for one in lists.lists):
        said = np.concatenate([labels_of(svm, walk.scores.astype(np.float64)) for walk in walks])
        found["agreement_on_rows_of_the_lists"] = round(float((said == rows.classes).mean()), 6)
    return found

"""h1-tree: an SVM and rows in, lists of half-spaces before it (or in its stead) out, as a program."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.calibration import refuse_rows_of_the_tree
from svmcompile.accelerate.fitting.decide import labels_of, margin_rule
from svmcompile.accelerate.h1_tree.choose import WIDTH, Chosen, chosen, rows_of
from svmcompile.accelerate.h1_tree.forest import grown, growth_of
from svmcompile.accelerate.h1_tree.options import DTYPES, H1TreeOptions
from svmcompile.accelerate.h1_tree.proven import proven
from svmcompile.accelerate.h1_tree.remarks import remarks
from svmcompile.accelerate.h1_tree.rows import Rows, class_numbers, finite, pairs_of
from svmcompile.accelerate.h1_tree.tables import OUT, Lists, centre_of
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

PROOF = 0.25  # of the rows prove the agreement, where none are given for it
CHOICE = 0.2  # of the others choose among lists
SOME_ROWS = 2000  # enough to measure the work per row


def h1_tree(svm: SVM, data: Data | None, options: H1TreeOptions) -> Program:
    """Lists of half-spaces, one per sum, whose answers stand for the SVM's where they are there."""
    assert data is not None
    options.check(svm)
    points = svm.prepared(finite(data.X, "the data"))
    given = _given(svm, data, options)
    if options.ends_in_svm:
        listed = _before_svm(svm, data, points, given, options)
        return proven(svm, data, listed, options.centres) if options.proven else listed
    rows = rows_of(svm, points, given)
    growth = growth_of(options, several=bool(svm.counts))
    forest = grown(rows, pairs_of(svm), growth, options, 0.0, None)
    builder = Builder(svm)
    lists = forest.lists()
    _add_lists(builder, builder.preprocess(), lists, points, options)
    details = {"lists": _figures(lists, rows, svm) | {"grown": forest.grown}}
    details["rows"] = {"lists": len(points)}
    program = builder.finish(OUT, "h1-tree", Claim.APPROXIMATE, details=details)
    return _remarked(program, data, None, options)


def _given(svm: SVM, data: Data, options: H1TreeOptions) -> Any:
    """The classes lists are grown for, None for the SVM's own."""
    if options.by_model:
        return None
    if data.y is None:
        raise OptionError(
            "h1-tree: labels=given needs labels with the data; pass y (Python) or --label COLUMN"
        )
    assert svm.labels is not None
    return class_numbers(data.y, svm.labels.array())


def _before_svm(svm: SVM, data: Data, points: Array, given: Any, options: H1TreeOptions) -> Program:
    """Lists, and behind them the SVM for rows they do not answer."""
    rows = rows_of(svm, points)
    parts = _parts(svm, data, rows, given, options)
    best = chosen(svm, *parts, options)
    builder = Builder(svm)
    x = builder.preprocess()
    if best.lists.nodes:
        _add_lists(builder, x, best.lists, points, options)
        builder.exact_sums("exact", x=x)
        builder.body.append(ir.Guard("guarded", OUT, "exact", WIDTH, margin_rule(svm)))
        sums = "guarded"
    else:
        sums = builder.exact_sums(x=x)
    details = {
        "lists": _figures(best.lists, rows, svm),
        "exits": best.calibration.as_dict(),
        "tried": [one.as_dict() for one in best.tried],
        "rows": dict(zip(("lists", "choice", "proof"), (len(part) for part in parts), strict=True)),
    }
    program = builder.finish(sums, "h1-tree", Claim.APPROXIMATE, details=details)
    return _remarked(program, data, best, options)


def _parts(svm: SVM, data: Data, rows: Rows, given: Any, options: H1TreeOptions) -> tuple[Rows, Rows, Rows]:
    """Rows that grow lists, that choose among them, and that prove what they keep."""
    generator = np.random.default_rng(options.seed)
    order = generator.permutation(len(rows))
    held_out = 0 if options.calibrate else int(PROOF * len(rows))
    cut = held_out + int(CHOICE * (len(rows) - held_out))
    if cut == held_out or not (held_out or options.calibrate):
        raise OptionError(
            f"h1-tree: {len(rows)} rows are too few to hold some out; give more, or end=label"
        )
    proof = rows.some(np.sort(order[:held_out]))
    if options.calibrate:
        held = finite(options.calibrate.read(svm), "calibrate")
        refuse_rows_of_the_tree(held, np.asarray(data.X, dtype=np.float64), "h1-tree")
        proof = rows_of(svm, svm.prepared(held))
    wanted = rows if given is None else dataclasses.replace(rows, classes=given)
    return wanted.some(np.sort(order[cut:])), rows.some(np.sort(order[held_out:cut])), proof


def _add_lists(builder: Builder, x: str, lists: Lists, points: Array, options: H1TreeOptions) -> None:
    """The lists, with planes about the middle of the rows."""
    tables = lists.tables(points.shape[1], centre_of(points), DTYPES[options.planes])
    builder.body.append(lists.node(x))
    builder.tables.update(tables)


def _figures(lists: Lists, rows: Rows, svm: SVM) -> dict[str, Any]:
    """What the lists are like on the rows of the data."""
    found: dict[str, Any] = {
        "planes": len(lists.nodes),
        "longest": max(len(one.nodes) for one in lists.lists),
    }
    if not lists.nodes:
        return found
    thresholds = np.array([node.threshold for node in lists.nodes])
    hits = [block @ lists.planes.T > thresholds for block in _blocks(rows.points)]
    walks = [lists.walk(block) for block in hits]
    found["mean_depth"] = round(float(np.mean([walk.tests.mean() for walk in walks])), 3)
    if not any(one.rest == 0 for one in lists.lists):
        said = np.concatenate([labels_of(svm, walk.scores.astype(np.float64)) for walk in walks])
        found["agreement_on_rows_of_the_lists"] = round(float((said == rows.classes).mean()), 6)
    return found


def _blocks(points: Array) -> list[Array]:
    step = 4096
    return [points[at : at + step] for at in range(0, len(points), step)]


def _remarked(program: Program, data: Data, best: Chosen | None, options: H1TreeOptions) -> Program:
    cost = program.cost(data.X[:: -(-len(data.X) // SOME_ROWS)])
    notes = (*program.origin.notes, *remarks(options, best, cost))
    return program.replace(origin=dataclasses.replace(program.origin, notes=notes))
